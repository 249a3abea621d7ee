package io.github.redislocks.bench.contender;

import io.github.redislocks.redis.Script;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToIntFunction;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.params.SetParams;

/**
 * The floor of a quorum: {@code SET NX PX} on all masters in parallel, over a pool of connections to each, and
 * compare-and-delete in parallel; each returns with the answers of a majority. Each calling thread has a thread of its
 * own for each master, so that a late vote is not overtaken by its release. Who has no majority takes its votes back
 * and tries again after a pause drawn at random. It does not renew, counts no tokens, and nobody is told that a lock is
 * free.
 */
final class RedlockFloor implements LockClient {

    private static final Script UNLOCK = Script.load(RedlockFloor.class, "floor_unlock");
    private static final SetParams IF_FREE = SetParams.setParams().nx().px(30_000);
    private static final int PAUSE_MILLIS = 10;

    private final List<RedisClient> masters = new ArrayList<>();
    private final String unlock;
    private final Queue<ExecutorService> all = new ConcurrentLinkedQueue<>();
    private final ThreadLocal<List<ExecutorService>> ofCaller = ThreadLocal.withInitial(this::threads);

    RedlockFloor(Setting setting) {
        String digest = "";
        for (String uri : setting.uris()) {
            RedisClient master = EvalFloor.jedis(new Setting(uri, setting.threads()));
            digest = master.scriptLoad(UNLOCK.source());
            masters.add(master);
        }
        unlock = digest;
    }

    private List<ExecutorService> threads() {
        List<ExecutorService> threads = new ArrayList<>();
        for (int i = 0; i < masters.size(); i++) {
            threads.add(Executors.newSingleThreadExecutor());
        }
        all.addAll(threads);
        return threads;
    }

    @Override
    public Mutex mutex(String key) {
        return new Mutex() {
            private String me = "";

            @Override
            public void lock() {
                me = UUID.randomUUID().toString();
                while (ask(master -> "OK".equals(master.set(key, me, IF_FREE)) ? 1 : 0) <= masters.size() / 2) {
                    unlock();
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1)
                            * ThreadLocalRandom.current().nextInt(1, PAUSE_MILLIS));
                }
            }

            @Override
            public void unlock() {
                List<String> own = List.of(me);
                ask(master -> Long.valueOf(1).equals(master.evalsha(unlock, List.of(key), own)) ? 1 : 0);
            }
        };
    }

    /** Asks all, and returns how many said yes as soon as that decides. */
    private int ask(ToIntFunction<RedisClient> question) {
        int most = masters.size();
        int majority = most / 2 + 1;
        CountDownLatch decided = new CountDownLatch(1);
        AtomicInteger yes = new AtomicInteger();
        AtomicInteger no = new AtomicInteger();
        List<ExecutorService> threads = ofCaller.get();
        for (int i = 0; i < most; i++) {
            RedisClient master = masters.get(i);
            threads.get(i).execute(() -> {
                boolean given = question.applyAsInt(master) == 1;
                int same = given ? yes.incrementAndGet() : no.incrementAndGet();
                if (same == (given ? majority : most - majority + 1)) {
                    decided.countDown();
                }
            });
        }
        try {
            decided.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted while it waits for votes", e);
        }
        return yes.get();
    }

    @Override
    public void close() {
        all.forEach(ExecutorService::shutdown);
        masters.forEach(RedisClient::close);
    }
}
