package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When a server that has become another one is asked of what it should hold: at once, whatever was under way. */
class MovedHoldsTest extends FakeTime {

    private static final Duration SOON = Duration.ofSeconds(10);
    /** The lease is 30 s. A failure is followed by a pause of 1 s. */
    private static final int RENEWAL = 10_000;

    @BeforeEach
    void lock() {
        lock.lock();
        settle();
    }

    private void awaitRenewals(int count) {
        await().until(() -> redis.log().count("renew") == count);
        settle();
        assertThat(redis.log().count("renew")).isEqualTo(count);
        assertThat(losses).isEmpty();
    }

    /** Has a renewal wait on its way. */
    private HeldCalls renewalUnderWay() {
        HeldCalls held = redis.hold(verb("renew")).whateverTheirTimeouts();
        pass(RENEWAL - 1);
        clock.advanceMillis(1);
        held.awaitParked(1, SOON);
        return held;
    }

    @Test
    void holdThatIsSoonToBeRenewed_isAskedForAtOnce() {
        pass(RENEWAL - 500);
        redis.moved();
        awaitRenewals(1);
    }

    @Test
    void holdThatIsGone_isLostAtOnce() {
        server.flushAll();
        redis.moved();
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void renewalUnderWay_thatIsAnswered_isNoAnswerOfTheNewServer() {
        HeldCalls held = renewalUnderWay();
        redis.moved();
        settleScheduler();
        held.release();
        awaitRenewals(2);
    }

    @Test
    void renewalUnderWay_thatFails_isRepeatedWithoutAPause() {
        HeldCalls held = renewalUnderWay();
        redis.failNext(1, verb("renew"), Fault.REQUEST_LOST);
        redis.moved();
        settleScheduler();
        held.release();
        awaitRenewals(1);
    }

    @Test
    void renewalOfTheNewServer_thatFails_isRepeatedAfterAPause() {
        redis.failNext(1, verb("renew"), Fault.REQUEST_LOST);
        redis.moved();
        settle();
        assertThat(redis.log().count("renew")).isZero();
        pass(999);
        assertThat(redis.log().count("renew")).isZero();
        pass(1);
        awaitRenewals(1);
    }

    @Test
    void acquisitionUnderWay_isAskedForOnceItHasTheLock() throws InterruptedException {
        HeldCalls held = redis.hold(verb("acquire")).whateverTheirTimeouts();
        RedisReentrantLock late = locks.reentrantLock("late");
        Thread caller = new Thread(() -> {
            late.lock();
            await().until(() -> redis.log().count("renew") == 2);
            late.unlock();
        });
        caller.start();
        held.awaitParked(1, SOON);
        redis.moved();
        awaitRenewals(1);
        held.release();
        caller.join();
        assertThat(redis.log().count("renew")).isEqualTo(2);
        assertThat(losses).isEmpty();
    }

    /** Waits until the watchdog has looked at everything, though the sender is under way. */
    private void settleScheduler() {
        Watchdog watchdog = inside.watchdog();
        Thread scheduler = watchdog.threads().get(0);
        long parks = clock.parks(scheduler);
        watchdog.wakeAt(0);
        await().until(() -> clock.parks(scheduler) > parks);
    }
}
