package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import redis.clients.jedis.Jedis;

/**
 * How soon holders are told that their locks were deleted, and what that costs; prints the figures of docs/handles.md.
 * By hand: {@code mvn test -Dtest=WatchDelayTest -Dwatch.figures=true}.
 */
@Timeout(240)
@Tag("server")
@EnabledIfSystemProperty(named = "watch.figures", matches = "true")
class WatchDelayTest {

    private static final int DELETIONS = 200;
    private static final int ROUNDS = 5;
    private static final long TURN_NANOS = TimeUnit.SECONDS.toNanos(2);

    @Test
    void deletion_isToldAtOnceWhereItIsWatched() throws Exception {
        try (RedisServer server = RedisServer.start();
                RedisLocks watching = locks(server, true);
                RedisLocks plain = locks(server, false)) {
            delays(server, watching, 5);
            long[] young = delays(server, watching, 5);
            long[] watched = delays(server, watching, 60);
            long[] unwatched = delays(server, plain, 60);
            print("told, hold of 5 ms to 10 ms, watched", young);
            print("told, hold of 60 ms to 120 ms, watched", watched);
            print("told, hold of 60 ms to 120 ms, not watched", unwatched);
            assertThat(percentile(watched, 50)).isLessThan(percentile(unwatched, 1));
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

    /** Each is deleted after its time, whether or not those before it have been told. */
    private static long[] delays(RedisServer server, RedisLocks locks, long holdMillis) throws Exception {
        List<LockHandle> handles = new ArrayList<>();
        List<CompletableFuture<Long>> told = new ArrayList<>();
        long[] deleted = new long[DELETIONS];
        Stalls stalls = new Stalls();
        try (Jedis admin = server.client()) {
            for (int i = 0; i < DELETIONS; i++) {
                LockHandle handle = locks.acquire("item " + i, LockOptions.defaults());
                handles.add(handle);
                told.add(handle.lost().toCompletableFuture().thenApply((LockLost loss) -> System.nanoTime()));
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(
                        holdMillis + ThreadLocalRandom.current().nextLong(holdMillis)));
                deleted[i] = System.nanoTime();
                admin.del("redis-locks:{item " + i + "}");
            }
            long[] nanos = new long[DELETIONS];
            for (int i = 0; i < DELETIONS; i++) {
                nanos[i] = stalls.without(deleted[i], told.get(i).get(30, TimeUnit.SECONDS));
                assertThat(handles.get(i).release()).isFalse();
            }
            Arrays.sort(nanos);
            return nanos;
        } finally {
            stalls.interrupt();
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

    private static void print(String what, long[] sorted) {
        System.out.println(String.format(
                "%s: p50 %.1f ms, p99 %.1f ms, max %.1f ms",
                what, percentile(sorted, 50) / 1e6, percentile(sorted, 99) / 1e6, sorted[sorted.length - 1] / 1e6));
    }
}
