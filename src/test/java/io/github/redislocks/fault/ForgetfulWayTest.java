package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A job that runs now and then, over a way that forgets what has been idle for four seconds and tells nobody. For ten
 * minutes, with a job every ten seconds, by {@code -Dforgetful.seconds=600}.
 */
@Tag("once")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
@Tag("server")
class ForgetfulWayTest {

    private static final Duration FORGETS = Duration.ofSeconds(4);
    private static final Duration LASTS = Duration.ofSeconds(Integer.getInteger("forgetful.seconds", 22));
    private static final Duration EVERY = Duration.ofSeconds(10);

    private final List<Object> failed = new ArrayList<>();
    private int jobs;

    @Test
    void job_overAWayThatForgets_neverFails() throws InterruptedException {
        ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
        try (RedisServer server = RedisServer.start();
                FaultyProxy proxy = FaultyProxy.to(server);
                RedisLocks locks = RedisLocks.builder()
                        .uri(proxy.uri())
                        .onLockLost(failed::add)
                        .build()) {
            var watching = clock.scheduleAtFixedRate(() -> proxy.forgetIdle(FORGETS), 0, 100, TimeUnit.MILLISECONDS);
            long end = System.nanoTime() + LASTS.toNanos();
            while (System.nanoTime() - end < 0) {
                long next = System.nanoTime() + EVERY.toNanos();
                tryAndLock(locks.reentrantLock("job"));
                TimeUnit.NANOSECONDS.sleep(next - System.nanoTime());
            }
            watching.cancel(false);
            System.out.printf(
                    "%d jobs over a way that forgot %d of %d connections; failed: %s%n",
                    jobs, proxy.forgotten(), proxy.connections(), failed);
            assertThat(failed).isEmpty();
            assertThat(proxy.forgotten()).as("ways forgotten").isPositive();
        } finally {
            clock.shutdownNow();
        }
    }

    /** By turns, as jobs do it: only if nobody else does it, and when nobody else does. */
    private void tryAndLock(RedisReentrantLock lock) {
        try {
            if (jobs++ % 2 == 0) {
                assertThat(lock.tryLock()).isTrue();
            } else {
                lock.lock();
            }
            lock.unlock();
        } catch (RuntimeException e) {
            failed.add(e);
        }
    }
}
