package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.Script;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.exceptions.JedisException;

/**
 * How soon holders learn that their locks were deleted, and what that costs; prints the figures of docs/handles.md. By
 * hand: {@code mvn test -Dtest=WatchDelayTest -Dwatch.figures=true}.
 */
@Timeout(240)
@Tag("server")
@EnabledIfSystemProperty(named = "watch.figures", matches = "true")
class WatchDelayTest {

    private static final Script EXISTS = Script.load(WatchDelayTest.class, "exists");

    private static final int DELETIONS = 200;
    private static final int ROUNDS = 5;
    /** No name is used twice, since the server may remember one that it was asked for in vain. */
    private static final AtomicLong NUMBERS = new AtomicLong();

    private static final long TURN_NANOS = TimeUnit.SECONDS.toNanos(2);

    @Test
    void deletion_isToldAtOnceWhereItIsWatched() throws Exception {
        try (RedisServer server = RedisServer.start();
                RedisLocks watching = locks(server, true);
                RedisLocks plain = locks(server, false);
                Relay relay = new Relay(server)) {
            delays(server, watching, Age.YOUNG, relay);
            print("young, watched", delays(server, watching, Age.YOUNG, relay));
            Delays watched = delays(server, watching, Age.TRACKED, relay);
            print("tracked", watched);
            print("60 ms to 120 ms old, watched", delays(server, watching, Age.OLD, relay));
            Delays unwatched = delays(server, plain, Age.OLD, relay);
            print("60 ms to 120 ms old, not watched", unwatched);
            assertThat(percentile(watched.told, 50)).isLessThan(percentile(unwatched.told, 1));
        }
    }

    @Test
    void lockAndUnlock_withAndWithoutWatching_sideBySide() {
        try (RedisServer server = RedisServer.start();
                RedisLocks watching = locks(server, true);
                RedisLocks plain = locks(server, false)) {
            for (long holdMicros : new long[] {0, 30_000}) {
                turn(watching, holdMicros);
                turn(plain, holdMicros);
                StringBuilder line = new StringBuilder("locks and unlocks a second, held for " + holdMicros + " us:");
                for (int i = 0; i < ROUNDS; i++) {
                    line.append(
                            String.format(" on %.0f off %.0f,", turn(watching, holdMicros), turn(plain, holdMicros)));
                }
                System.out.println(line);
            }
        }
    }

    /** When this machine let no thread run, as a thread saw that only parks for a moment again and again. */
    private static final class Stalls extends Thread {

        private static final long MOMENT_NANOS = 500_000;
        private static final long STALL_NANOS = 2_000_000;

        private final Queue<long[]> stalls = new ConcurrentLinkedQueue<>();

        Stalls() {
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            while (!isInterrupted()) {
                long began = System.nanoTime();
                LockSupport.parkNanos(MOMENT_NANOS);
                long end = System.nanoTime();
                if (end - began > STALL_NANOS) {
                    stalls.add(new long[] {began + MOMENT_NANOS, end});
                }
            }
        }

        /** How much of a time was no stall. */
        long without(long began, long end) {
            long nanos = end - began;
            for (long[] stall : stalls) {
                nanos -= Math.max(0, Math.min(end, stall[1]) - Math.max(began, stall[0]));
            }
            return nanos;
        }
    }

    private static RedisLocks locks(RedisServer server, boolean watched) {
        return RedisLocks.builder().uri(server.uri()).watchDeletions(watched).build();
    }

    private static long tracked(Jedis admin) {
        String stats = admin.info("stats").replaceFirst("(?s).*tracking_total_keys:", "");
        return Long.parseLong(stats.substring(0, stats.indexOf('\r')));
    }

    /** When a lock is deleted. */
    private enum Age {
        /** In the first 20 ms, in which no renewal has read it. */
        YOUNG {
            @Override
            void await(Jedis admin, long trackedBefore) {
                park(ThreadLocalRandom.current().nextLong(20_000));
            }
        },
        /** Once the server tells of it, and up to 20 ms after that. */
        TRACKED {
            @Override
            void await(Jedis admin, long trackedBefore) {
                while (tracked(admin) == trackedBefore) {
                    park(1_000);
                }
                park(ThreadLocalRandom.current().nextLong(20_000));
            }
        },
        OLD {
            @Override
            void await(Jedis admin, long trackedBefore) {
                park(60_000 + ThreadLocalRandom.current().nextLong(60_000));
            }
        };

        abstract void await(Jedis admin, long trackedBefore);

        static void park(long micros) {
            LockSupport.parkNanos(micros * 1_000);
        }
    }

    /** In order of size, in ns. */
    private static final class Delays {

        final long[] told = new long[DELETIONS];
        final long[] less = new long[DELETIONS];
        final long[] relayed = new long[DELETIONS];

        Delays sorted() {
            Arrays.sort(told);
            Arrays.sort(less);
            Arrays.sort(relayed);
            return this;
        }
    }

    /** Each is deleted after its time, whether or not those before it have been told; between them goes the relay. */
    private static Delays delays(RedisServer server, RedisLocks locks, Age age, Relay relay) throws Exception {
        List<LockHandle> handles = new ArrayList<>();
        List<CompletableFuture<Long>> told = new ArrayList<>();
        long[] deleted = new long[DELETIONS];
        Stalls stalls = new Stalls();
        Delays delays = new Delays();
        try (Jedis admin = server.client()) {
            for (int i = 0; i < DELETIONS; i++) {
                String name = "item " + NUMBERS.incrementAndGet();
                long tracked = tracked(admin);
                LockHandle handle =
                        locks.reentrantLock(name, LockOptions.defaults()).acquire();
                handles.add(handle);
                told.add(handle.lost().toCompletableFuture().thenApply((LockLost loss) -> System.nanoTime()));
                age.await(admin, tracked);
                deleted[i] = System.nanoTime();
                admin.del("redis-locks:{" + name + "}");
                Age.park(20_000);
                delays.relayed[i] = relay.nanos(admin);
            }
            for (int i = 0; i < DELETIONS; i++) {
                long end = told.get(i).get(30, TimeUnit.SECONDS);
                delays.told[i] = end - deleted[i];
                delays.less[i] = stalls.without(deleted[i], end);
                assertThat(handles.get(i).release()).isFalse();
            }
            return delays.sorted();
        } finally {
            stalls.interrupt();
        }
    }

    /**
     * The way of such news without the library: a message to a subscription, whose reader wakes a thread, which wakes
     * another, which asks the server and has a third take the time. What is slow here is the machine.
     */
    private static final class Relay implements AutoCloseable {

        private static final String CHANNEL = "relay";

        private final Jedis subscriber;
        private final Jedis asking;
        private final ExecutorService first = Executors.newSingleThreadExecutor();
        private final ExecutorService second = Executors.newSingleThreadExecutor();
        private final ExecutorService third = Executors.newSingleThreadExecutor();
        private final Thread reader;
        private final BlockingQueue<Long> ends = new LinkedBlockingQueue<>();

        Relay(RedisServer server) {
            subscriber = server.client();
            asking = server.client();
            reader = new Thread(() -> {
                try {
                    subscriber.subscribe(
                            new JedisPubSub() {
                                @Override
                                public void onMessage(String channel, String message) {
                                    first.execute(() -> second.execute(() -> ask()));
                                }
                            },
                            CHANNEL);
                } catch (JedisException closed) {
                    // The end of the subscription.
                }
            });
            reader.setDaemon(true);
            reader.start();
        }

        private void ask() {
            asking.eval(EXISTS.source(), 1, "nothing");
            third.execute(() -> ends.add(System.nanoTime()));
        }

        long nanos(Jedis admin) throws InterruptedException {
            long began = System.nanoTime();
            while (admin.publish(CHANNEL, "") == 0) {
                began = System.nanoTime();
            }
            return ends.take() - began;
        }

        @Override
        public void close() {
            subscriber.disconnect();
            first.shutdownNow();
            second.shutdownNow();
            third.shutdownNow();
            asking.close();
        }
    }

    private static double turn(RedisLocks locks, long holdMicros) {
        RedisReentrantLock lock = locks.reentrantLock("item");
        long began = System.nanoTime();
        long count = 0;
        while (System.nanoTime() - began < TURN_NANOS) {
            lock.lock();
            if (holdMicros > 0) {
                LockSupport.parkNanos(holdMicros * 1_000);
            }
            lock.unlock();
            count++;
        }
        return count * 1e9 / (System.nanoTime() - began);
    }

    private static long percentile(long[] sorted, int percent) {
        return sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
    }

    private static void print(String what, Delays delays) {
        print("told of the deletion of a lock, " + what, delays.told);
        print("  less the time in which no thread ran", delays.less);
        print("  the same way without the library", delays.relayed);
    }

    private static void print(String what, long[] sorted) {
        System.out.println(String.format(
                "%s: p50 %.1f ms, p99 %.1f ms, max %.1f ms",
                what, percentile(sorted, 50) / 1e6, percentile(sorted, 99) / 1e6, sorted[sorted.length - 1] / 1e6));
    }
}
