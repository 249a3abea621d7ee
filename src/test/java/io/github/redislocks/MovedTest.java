package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Call;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests what a client does at once after a failover. The lease is 30 s, renewed every 10 s. */
@Timeout(30)
class MovedTest extends FakeTime {

    private static final Duration SOON = Duration.ofSeconds(10);

    private int renewals() {
        return redis.log().count("renew");
    }

    @Test
    void moved_holdThatTheNewServerDoesNotKnow_isTakenAtOnce() {
        lock.lock();
        server.flushAll();
        redis.moved();
        settle();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void moved_holdWithAFixedLease_isTakenAtOnceToo() {
        fixed(lock, Duration.ofSeconds(20)).lock();
        server.flushAll();
        redis.moved();
        settle();
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void moved_holdThatTheNewServerKnows_isRenewedAndGoesOn() {
        lock.lock();
        pass(5_000);
        redis.moved();
        settle();
        assertThat(renewals()).isEqualTo(1);
        assertThat(lock.remainingLease()).isEqualTo(Duration.ofMillis(29_698));
        pass(9_999);
        assertThat(renewals()).isEqualTo(1);
        pass(1);
        assertThat(renewals()).isEqualTo(2);
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void moved_holdWithAFixedLeaseThatIsKnown_isAskedForOnceAndEndsInTime() {
        fixed(lock, Duration.ofSeconds(20)).lock();
        pass(5_000);
        redis.moved();
        pass(14_847);
        assertThat(renewals()).isEqualTo(1);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(server.pttl(KEY)).as("to its end, and no longer").isEqualTo(153);
        pass(1);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.EXPIRED);
        assertThat(renewals()).isEqualTo(1);
    }

    @Test
    void moved_checkWithoutAnswer_isSentAgain() {
        fixed(lock, Duration.ofSeconds(20)).lock();
        server.flushAll();
        redis.failNext(verb("renew"), Fault.REQUEST_LOST);
        redis.moved();
        settle();
        assertThat(losses).isEmpty();
        pass(1_000);
        await().until(() -> losses.size() == 1);
    }

    @Test
    void moved_whileARenewalIsUnderWay_checksAfterItsAnswer() {
        lock.lock();
        HeldCalls held = redis.hold(verb("renew")).whateverTheirTimeouts();
        clock.advanceMillis(10_000);
        held.awaitParked(1, SOON);
        redis.moved();
        held.release();
        settle();
        assertThat(renewals()).isEqualTo(2);
    }

    @Test
    void moved_beforeAnAnsweredAcquisitionReturns_checksItsHold() throws InterruptedException {
        HeldCalls held = redis.hold(verb("acquire")).whateverTheirTimeouts();
        CountDownLatch seen = new CountDownLatch(1);
        Thread caller = new Thread(
                () -> {
                    lock.lock();
                    await().until(() -> seen.getCount() == 0);
                    lock.unlock();
                },
                "caller");
        caller.start();
        held.awaitParked(1, SOON);
        redis.moved();
        held.release();
        await().until(() -> renewals() == 1);
        seen.countDown();
        caller.join();
        assertThat(losses).isEmpty();
    }

    @Test
    void moved_newServer_isLookedAt() {
        redis.failNext(verb("check"), Fault.REQUEST_LOST);
        redis.moved();
        pass(1_000);
        assertThat(redis.log().count("check")).as("when it connected, and now").isEqualTo(2);
    }

    @Test
    void moved_waiter_takesItsPlaceAnewAtOnce() throws InterruptedException {
        other.lock();
        Thread waiter = new Thread(
                () -> {
                    lock.lock();
                    lock.unlock();
                },
                "waiter");
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        long before = clock.nanoTime();
        server.del(KEY + ":queue");
        server.del(KEY + ":waiters");
        redis.moved();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        assertThat(clock.nanoTime()).as("the clock stood still").isEqualTo(before);
        other.unlock();
        pass(2_000);
        waiter.join(10_000);
        assertThat(waiter.isAlive()).isFalse();
        assertThat(losses).isEmpty();
    }

    @Test
    void moved_toAServerWhoseClockIsBehind_isServedAtOnceAndLateRequestsStayLate() {
        clock.stepServerMillis(-3_600_000);
        redis.moved();
        assertThat(lock.tryLock()).isTrue();
        assertThat(redis.log().count("take", "acquire"))
                .as("late, then in time")
                .isEqualTo(2);
        Call inTime = redis.log().calls().stream()
                .map(logged -> logged.call())
                .filter(verb("acquire"))
                .reduce((first, second) -> second)
                .orElseThrow();
        lock.unlock();
        clock.advanceMillis(2_000);
        assertThat(redis.runLate(inTime).code()).isEqualTo("LATE");
    }

    @Test
    void moved_tryLockWithoutTime_ofAFreeLock_hasIt() throws InterruptedException {
        redis.moved();
        assertThat(lock.tryLock(0, TimeUnit.SECONDS))
                .as("the first request only learns the new server's time")
                .isTrue();
    }

    @Test
    void tryLockWithoutTime_whoseRequestsAreAllLate_throwsAfterACommandTimeout() {
        redis.hold(call -> {
            if (verb("acquire").test(call)) {
                clock.stepServerMillis(3_600_000);
            }
            return false;
        });
        long began = clock.nanoTime();
        whileTimePasses(() -> assertThatThrownBy(this::takesAtOnce).isInstanceOf(LockUnavailableException.class));
        assertThat(Duration.ofNanos(clock.nanoTime() - began)).isLessThan(Duration.ofMillis(1_200));
        redis.heal();
        assertThat(takesAtOnce()).isTrue();
        lock.unlock();
    }

    private boolean takesAtOnce() {
        try {
            return lock.tryLock(0, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
