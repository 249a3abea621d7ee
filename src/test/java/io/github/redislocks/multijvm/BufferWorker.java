package io.github.redislocks.multijvm;

import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisLocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;

/**
 * A process of producers, or of consumers, of a {@link BoundedBuffer}. One that is started in the place of another,
 * with its name, goes on where that one stood.
 */
final class BufferWorker {

    static final String NAME = "buffer";
    /** With room for one item, a single signal that gets lost stops everything. */
    static final int CAPACITY = 1;

    static final int THREADS = 3;
    static final Duration LEASE = Duration.ofSeconds(1);

    /** A JVM that starts on a busy machine may take longer than the default to connect. */
    private static final Duration START = Duration.ofSeconds(10);

    /** The hash in Redis that counts how often each item was consumed. */
    static final String CONSUMED = "consumed";

    /** Said by a thread that lost the lock, or met one that had. */
    static final String LOST = "lost";

    static final String REFUSED = "refused";

    private final RedisLocks locks;
    private final Orders orders;

    private BufferWorker(RedisLocks locks, Orders orders) {
        this.locks = locks;
        this.orders = orders;
    }

    /**
     * The order to a worker, as the arguments of its main class.
     *
     * @param port the server's, on this machine
     * @param name its name, which its successor has too
     * @param run tells the two apart
     * @param share how many items each of its threads puts; 0 for consumers
     */
    record Orders(int port, String name, int run, int share) {

        static Orders parse(String[] args) {
            return new Orders(Integer.parseInt(args[0]), args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]));
        }

        String[] args() {
            return new String[] {Integer.toString(port), name, Integer.toString(run), Integer.toString(share)};
        }

        /** What Redis shows of each connection of its threads. */
        String connectionName() {
            return name + '-' + run;
        }

        String thread(int number) {
            return name + '.' + number;
        }
    }

    /** A step of a thread; false if there is none left. */
    @FunctionalInterface
    private interface Step {
        boolean run() throws InterruptedException;
    }

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        Orders orders = Orders.parse(args);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (RedisLocks locks = RedisLocks.builder()
                .uri("redis://127.0.0.1:" + orders.port())
                .lease(LEASE)
                .connectWithin(START)
                .build()) {
            BufferWorker worker = new BufferWorker(locks, orders);
            List<Callable<Boolean>> work = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                String name = orders.thread(i);
                work.add(() -> worker.work(name));
            }
            for (Future<Boolean> done : threads.invokeAll(work)) {
                done.get();
            }
        } finally {
            threads.shutdown();
        }
    }

    private boolean work(String name) throws InterruptedException {
        HostAndPort address = new HostAndPort("127.0.0.1", orders.port());
        try (Jedis redis = new Jedis(
                address,
                DefaultJedisClientConfig.builder()
                        .clientName(orders.connectionName())
                        .timeoutMillis((int) START.toMillis())
                        .build())) {
            BoundedBuffer buffer = new BoundedBuffer(locks, redis, NAME, CAPACITY);
            Step step = orders.share() > 0 ? () -> produce(buffer, name) : () -> consume(buffer, redis, name);
            boolean more = true;
            while (more) {
                try {
                    more = step.run();
                } catch (LockLostException e) {
                    // Perhaps it was done, perhaps not: the next step reads the books.
                    System.out.println(LOST + " " + e.getMessage());
                } catch (ConcurrentModificationException e) {
                    System.out.println(REFUSED + " " + e.getMessage());
                }
            }
        }
        return true;
    }

    private boolean produce(BoundedBuffer buffer, String name) throws InterruptedException {
        int next = buffer.lastPut(name) + 1;
        if (next > orders.share()) {
            return false;
        }
        buffer.put(name, next);
        return true;
    }

    private static boolean consume(BoundedBuffer buffer, Jedis redis, String name) throws InterruptedException {
        String item = buffer.inHands(name);
        if (item == null) {
            return buffer.take(name);
        }
        redis.hincrBy(CONSUMED, item, 1);
        buffer.finish(name);
        return true;
    }
}
