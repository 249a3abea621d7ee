package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.DistantRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Short leases at a distant Redis. Each round trip takes its time by the fake clock, and nothing else takes any. */
class ShortLeaseTest extends FakeTime {

    private static final int RENEWALS = 50;

    private final AtomicInteger batches = new AtomicInteger();
    private final AtomicInteger timeouts = new AtomicInteger();
    /** Keeps the clock still once a test has seen enough: every renewal moves it. */
    private final CountDownLatch enough = new CountDownLatch(1);

    private Redis distant(int roundTripMillis) {
        return new DistantRedis(server, clock, roundTripMillis) {
            @Override
            protected boolean isHeard(long timeoutNanos) {
                boolean heard = super.isHeard(timeoutNanos);
                timeouts.addAndGet(heard ? 0 : 1);
                return heard;
            }

            @Override
            public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
                if (batches.incrementAndGet() > RENEWALS) {
                    awaitEnough();
                }
                return super.runAll(calls, timeoutNanos);
            }
        };
    }

    private void awaitEnough() {
        try {
            enough.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 80, 200})
    void leaseOfLittleMoreThanTwoRoundTrips_isRenewed_andCutsNoConnection(int roundTripMillis) {
        Duration shortLease = Duration.ofMillis(2L * roundTripMillis + roundTripMillis / 10 + 2);
        RedisLocks far =
                RedisLocks.on(distant(roundTripMillis), Settings.DEFAULTS, LossListener.to(losses::add), clock);
        RedisReentrantLock lasting = far.reentrantLock("lasting");
        RedisReentrantLock brief =
                far.reentrantLock("brief", LockOptions.defaults().lease(shortLease));
        lasting.lock();
        brief.lock();
        await().until(() -> batches.get() > RENEWALS || !losses.isEmpty());
        assertThat(losses).isEmpty();
        assertThat(brief.isHeldByCurrentThread()).isTrue();
        assertThat(lasting.isHeldByCurrentThread()).isTrue();
        assertThat(timeouts).hasValue(0);
        enough.countDown();
        whileTimePasses(() -> true, far::close);
    }

    @ParameterizedTest
    @ValueSource(ints = {300, 600, 1_000})
    void shortLease_nearby_outlastsAConnectionThatDiesInSilence(int leaseMillis) {
        AtomicInteger silent = new AtomicInteger();
        RedisLocks near = RedisLocks.on(
                new DistantRedis(server, clock, 1) {
                    @Override
                    protected boolean isHeard(long timeoutNanos) {
                        return silent.getAndUpdate(left -> Math.max(0, left - 1)) == 0;
                    }
                },
                Settings.DEFAULTS,
                LossListener.to(losses::add),
                clock);
        clients.add(near);
        RedisReentrantLock brief =
                near.reentrantLock("brief", LockOptions.defaults().lease(Duration.ofMillis(leaseMillis)));
        brief.lock();
        pass(2L * leaseMillis);
        silent.set(1);
        pass(2L * leaseMillis);
        assertThat(silent).hasValue(0);
        assertThat(losses).isEmpty();
        assertThat(brief.isHeldByCurrentThread()).isTrue();
        whileTimePasses(() -> true, near::close);
    }
}
