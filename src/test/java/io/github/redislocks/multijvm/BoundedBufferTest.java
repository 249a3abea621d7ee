package io.github.redislocks.multijvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.WorkerJvm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/**
 * Four JVMs move items through one {@link BoundedBuffer}, while random ones of them are killed and others start in
 * their place: nothing is lost, nothing is done twice but what a killed process had in its hands, and nobody hangs.
 * Replay with {@code -Dbuffer.seed=}; {@code -Dbuffer.items=100000} is the long form.
 */
@Timeout(value = 30, unit = TimeUnit.MINUTES) // For the long form: what hangs is noticed after STANDSTILL.
@Tag("once")
@Tag("server")
class BoundedBufferTest {

    private static final List<String> PRODUCERS = List.of("producer0", "producer1");
    private static final List<String> CONSUMERS = List.of("consumer0", "consumer1");
    private static final int PRODUCING_THREADS = PRODUCERS.size() * BufferWorker.THREADS;
    private static final int SHARE =
            (Integer.getInteger("buffer.items", 5_000) + PRODUCING_THREADS - 1) / PRODUCING_THREADS;
    private static final int ITEMS = SHARE * PRODUCING_THREADS;
    private static final int ITEMS_PER_KILL = 500;
    /** How many items those must move that are left, before the killed one is replaced. */
    private static final int UNAIDED = 50;
    /** Several times the rest of a lease, a dead place's life and a heartbeat: who stands still for so long hangs. */
    private static final Duration STANDSTILL = Duration.ofSeconds(30);

    private final long seed = Long.getLong("buffer.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final RedisServer server = RedisServer.start();
    private final Jedis redis = server.client();
    private final RedisLocks locks = RedisLocks.connect(server.uri());
    private final BoundedBuffer buffer = new BoundedBuffer(locks, redis, BufferWorker.NAME, BufferWorker.CAPACITY);
    private final Map<String, Running> running = new TreeMap<>();
    private final List<WorkerJvm> all = new ArrayList<>();
    private final List<String> inKilledHands = new ArrayList<>();
    private int kills;
    private int killedHolders;
    private long standstillNanos;

    private record Running(BufferWorker.Orders orders, WorkerJvm jvm) {}

    @AfterEach
    void stop() {
        all.forEach(WorkerJvm::close);
        locks.close();
        redis.close();
        server.close();
    }

    @Test
    void buffer_whoseUsersAreKilled_movesEachItemAndNobodyHangs() throws InterruptedException {
        System.out.println("BoundedBufferTest: -Dbuffer.seed=" + seed);
        PRODUCERS.forEach(name -> start(name, 0));
        CONSUMERS.forEach(name -> start(name, 0));
        long consumed = awaitMoreThan(0);
        long began = System.nanoTime();
        long nextKill = consumed + random.nextInt(ITEMS_PER_KILL);
        standstillNanos = 0;
        while (consumed < ITEMS) {
            if (consumed >= nextKill && allAtWork()) {
                consumed = killOne(consumed);
                nextKill = consumed + random.nextInt(2 * ITEMS_PER_KILL);
            }
            consumed = awaitMoreThan(consumed);
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        buffer.close();
        for (Running worker : running.values()) {
            assertThat(worker.jvm().awaitExit(STANDSTILL)).isZero();
        }
        checkBooks(seconds);
    }

    private void start(String name, int run) {
        int share = PRODUCERS.contains(name) ? SHARE : 0;
        BufferWorker.Orders orders = new BufferWorker.Orders(server.port(), name, run, share);
        WorkerJvm jvm = WorkerJvm.start(BufferWorker.class, orders.args());
        all.add(jvm);
        running.put(name, new Running(orders, jvm));
    }

    /** Waits until more items have been consumed, and returns how many. */
    private long awaitMoreThan(long before) throws InterruptedException {
        long last = -1;
        long since = System.nanoTime();
        while (true) {
            long consumed = redis.hlen(BufferWorker.CONSUMED);
            long stood = System.nanoTime() - since;
            standstillNanos = Math.max(standstillNanos, stood);
            if (consumed > before) {
                return consumed;
            }
            if (consumed > last) {
                last = consumed;
                since = System.nanoTime();
            }
            for (Running worker : running.values()) {
                if (!worker.jvm().isAlive()) {
                    assertThat(worker.jvm().awaitExit(STANDSTILL))
                            .as(
                                    "exit status of %s, which said %s",
                                    worker, worker.jvm().lines())
                            .isZero();
                }
            }
            assertThat(stood)
                    .as("stands still at %d items after %d kills, seed %d", consumed, kills, seed)
                    .isLessThan(STANDSTILL.toNanos());
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** Whether all are there, with so much to do that any of them may go for a while. */
    private boolean allAtWork() {
        String connected = redis.clientList();
        return running.values().stream().allMatch(worker -> connected.contains(connection(worker)))
                && PRODUCERS.stream().allMatch(name -> leftToPut(name) > 2 * UNAIDED);
    }

    private int leftToPut(String producer) {
        int left = BufferWorker.THREADS * SHARE;
        BufferWorker.Orders orders = running.get(producer).orders();
        for (int i = 0; i < BufferWorker.THREADS; i++) {
            left -= buffer.lastPut(orders.thread(i));
        }
        return left;
    }

    /**
     * Kills one, and starts another in its place once the rest has shown that it can go on by itself: a new one comes
     * without having waited for a signal, and so would hide that one was lost. Returns how many items were consumed.
     */
    private long killOne(long consumed) throws InterruptedException {
        Running victim = List.copyOf(running.values()).get(random.nextInt(running.size()));
        LockSupport.parkNanos(random.nextInt(5_000_000)); // To meet it at any moment of its work.
        victim.jvm().kill9();
        kills++;
        String owner = redis.hget("redis-locks:{" + BufferWorker.NAME + "}", "owner");
        if (owner != null && owner.contains(":" + victim.jvm().pid() + ":")) {
            killedHolders++;
        }
        // Until then Redis may have something to read that it sent before.
        await().until(() -> !redis.clientList().contains(connection(victim)));
        inKilledHands.addAll(hands(victim.orders()));
        running.remove(victim.orders().name());
        long later = awaitMoreThan(consumed + UNAIDED);
        start(victim.orders().name(), victim.orders().run() + 1);
        return later;
    }

    private static String connection(Running worker) {
        return " name=" + worker.orders().connectionName() + " ";
    }

    private List<String> hands(BufferWorker.Orders consumer) {
        List<String> items = new ArrayList<>();
        for (int i = 0; i < BufferWorker.THREADS; i++) {
            items.addAll(redis.lrange(BoundedBuffer.handsKey(BufferWorker.NAME, consumer.thread(i)), 0, -1));
        }
        return items;
    }

    private void checkBooks(double seconds) {
        Map<String, String> consumed = redis.hgetAll(BufferWorker.CONSUMED);
        int done = consumed.values().stream().mapToInt(Integer::parseInt).sum();
        long lost = said(BufferWorker.LOST);
        long refused = said(BufferWorker.REFUSED);
        System.out.printf(
                "BoundedBufferTest: %d items at %.0f/s; %d processes killed, %d of them with the lock or given it as they died,"
                        + " %d items in their hands, %d done twice; %d holds lost by the living, %d changes refused;"
                        + " longest standstill %d ms with a lease of %d ms%n",
                ITEMS,
                ITEMS / seconds,
                kills,
                killedHolders,
                inKilledHands.size(),
                done - consumed.size(),
                lost,
                refused,
                standstillNanos / 1_000_000,
                BufferWorker.LEASE.toMillis());
        assertThat(consumed).as("consumed at least once, seed %d", seed).hasSize(ITEMS);
        consumed.forEach((item, times) -> assertThat(Integer.parseInt(times))
                .as("%s was done, seed %d", item, seed)
                .isLessThanOrEqualTo(1 + Collections.frequency(inKilledHands, item)));
        assertThat(inKilledHands).hasSizeLessThanOrEqualTo(kills * BufferWorker.THREADS);
        // Only who has lost the lock, or was killed, can have changed what another reads under it.
        assertThat(refused).as("seed %d", seed).isLessThanOrEqualTo(lost + kills);
        running.values().forEach(worker -> assertThat(hands(worker.orders())).isEmpty());
    }

    private long said(String word) {
        return all.stream()
                .flatMap(worker -> worker.lines().stream())
                .filter(line -> line.startsWith(word))
                .count();
    }
}
