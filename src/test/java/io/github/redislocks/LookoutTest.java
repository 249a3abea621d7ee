package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Timing;
import io.github.redislocks.testkit.twin.Fault;
import java.time.Duration;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Tests that a thread that waits behind a hold of its own client notices when the hold is gone in Redis. */
class LookoutTest extends FakeTime {

    private static final long HEARTBEAT_MILLIS = Timing.HEARTBEAT_MILLIS;

    /** Waits in the local queue: it is not in Redis. */
    private Waiter waiterAtTheGate() {
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> inside.attempts().all().stream().anyMatch(Attempt::isInLocalQueue));
        settle();
        return waiter;
    }

    private void assertTakenWithinAHeartbeat(Waiter waiter) throws InterruptedException {
        pass(HEARTBEAT_MILLIS + 10);
        await().until(waiter::holds);
        assertThat(losses)
                .singleElement()
                .satisfies(loss -> assertThat(loss.reason()).isEqualTo(LockLost.Reason.TAKEN));
        waiter.end();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void renewedHold_thatWasDeleted_isNoticed() throws InterruptedException {
        lock.lock();
        Waiter waiter = waiterAtTheGate();
        server.del(KEY);
        assertTakenWithinAHeartbeat(waiter);
    }

    @Test
    void namedHold_thatAnotherClientForced_isNoticed() throws InterruptedException {
        fixed(lock, Duration.ofHours(24)).lock();
        Waiter waiter = waiterAtTheGate();
        assertThat(other.forceUnlock()).isTrue();
        assertTakenWithinAHeartbeat(waiter);
    }

    @Test
    void look_thatIsNotAnswered_isRepeated() throws InterruptedException {
        lock.lock();
        Waiter waiter = waiterAtTheGate();
        server.del(KEY);
        redis.failNext(1, verb("held"), Fault.REQUEST_LOST);
        pass(HEARTBEAT_MILLIS + 10);
        assertThat(waiter.holds()).isFalse();
        assertTakenWithinAHeartbeat(waiter);
    }

    @Test
    void holdThatIsThere_isLookedAtOnceAHeartbeat_howeverManyWait() throws InterruptedException {
        lock.lock();
        Waiter first = waiterAtTheGate();
        Waiter second = new Waiter();
        second.start();
        await().until(() ->
                inside.attempts().all().stream().filter(Attempt::isInLocalQueue).count() == 2);
        pass(5 * HEARTBEAT_MILLIS);
        assertThat(redis.log().count("held")).isBetween(4, 6);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        await().until(() -> first.holds() || second.holds());
        first.release = true;
        second.release = true;
        first.join();
        second.join();
    }

    @Test
    void timedTry_behindAHoldThatIsGone_getsTheLock() throws InterruptedException {
        lock.lock();
        AtomicReference<Object> result = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            try {
                result.set(lock.tryLock(3, TimeUnit.SECONDS));
                lock.unlock();
            } catch (InterruptedException | RuntimeException e) {
                result.set(e);
            }
        });
        thread.start();
        await().until(() -> inside.attempts().all().stream().anyMatch(Attempt::isInLocalQueue));
        server.del(KEY);
        passUntil(() -> !thread.isAlive());
        assertThat(result.get()).isEqualTo(true);
        assertThat(losses).hasSize(1);
    }

    @Test
    void forceUnlock_ofAHoldOfTheOwnClient_isToldAtOnce() throws InterruptedException {
        lock.lock();
        Waiter waiter = waiterAtTheGate();
        Thread operator = new Thread(
                () -> assertThat(locks.reentrantLock("job").forceUnlock()).isTrue());
        operator.start();
        operator.join();
        // No time passes.
        await().until(() -> waiter.holds() && losses.size() == 1);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        waiter.end();
    }

    @Test
    void awaitUntil_noticesThatTheWallClockIsSetForward() throws InterruptedException {
        AtomicReference<Object> result = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            lock.lock();
            try {
                result.set(lock.newCondition().awaitUntil(Date.from(clock.wall().plusSeconds(3_600))));
            } catch (InterruptedException | RuntimeException e) {
                result.set(e);
            } finally {
                lock.unlock();
            }
        });
        thread.start();
        await().until(() -> server.hash(KEY).isEmpty() && redis.log().count("await") == 1);
        settle();
        clock.stepWallMillis(3_600_000);
        pass(600);
        await().until(() -> !thread.isAlive());
        assertThat(result.get()).isEqualTo(false);
    }
}
