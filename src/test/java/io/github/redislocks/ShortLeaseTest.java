package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
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

    private final AtomicInteger renewals = new AtomicInteger();
    private final AtomicInteger timeouts = new AtomicInteger();
    /** Keeps the clock still once a test has seen enough: every renewal moves it. */
    private final CountDownLatch enough = new CountDownLatch(1);

    /** A Redis that answers after so long. */
    private Redis distant(int roundTripMillis) {
        return new ForwardingRedis(server) {
            @Override
            public Reply run(Call call, long timeoutNanos) {
                travel();
                Reply reply = super.run(call, timeoutNanos);
                travel();
                return reply;
            }

            @Override
            public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
                if (renewals.incrementAndGet() > RENEWALS) {
                    awaitEnough();
                }
                if (timeoutNanos < roundTripMillis * 1_000_000L) {
                    timeouts.incrementAndGet();
                    clock.advanceMillis(timeoutNanos / 1_000_000);
                    return calls.stream()
                            .map(call -> Outcome.of(new RedisException.Unanswered("no time", true, null)))
                            .toList();
                }
                travel();
                List<Outcome> outcomes = super.runAll(calls, timeoutNanos);
                travel();
                return outcomes;
            }

            private void travel() {
                clock.advanceMillis(roundTripMillis / 2);
            }

            private void awaitEnough() {
                try {
                    enough.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        };
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 80, 200})
    void leaseOfLittleMoreThanTwoRoundTrips_isRenewed_andCutsNoConnection(int roundTripMillis) {
        Duration shortLease = Duration.ofMillis(2L * roundTripMillis + roundTripMillis / 10 + 2);
        RedisLocks far =
                RedisLocks.on(distant(roundTripMillis), Settings.DEFAULTS, LossListener.to(losses::add), clock);
        RedisReentrantLock lasting = far.reentrantLock("lasting");
        RedisReentrantLock brief = far.lock("brief", LockOptions.defaults().lease(shortLease));
        lasting.lock();
        brief.lock();
        await().until(() -> renewals.get() > RENEWALS || !losses.isEmpty());
        assertThat(losses).isEmpty();
        assertThat(brief.isHeldByCurrentThread()).isTrue();
        assertThat(lasting.isHeldByCurrentThread()).isTrue();
        assertThat(timeouts).hasValue(0);
        enough.countDown();
        whileTimePasses(() -> true, far::close);
    }
}
