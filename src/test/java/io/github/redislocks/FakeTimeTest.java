package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.fixture.Busy;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Bounds in time, to the millisecond, on a clock that the test moves: of the client and of the in-memory Redis. The
 * lease is 30 s, of which 302 ms are given away for drift; renewals come every 10 s.
 */
class FakeTimeTest extends FakeTime {

    private static final long VALIDITY = 29_698;

    private long renewals() {
        return redis.log().count("renew");
    }

    @Test
    void tryLockWithoutTime_ofAFreeLockThatWasNotReleased_isTrue() throws InterruptedException {
        assertThat(other.tryLock()).isTrue();
        server.del(KEY);
        assertThat(lock.tryLock(0, TimeUnit.SECONDS)).isTrue();
        assertThat(redis.log().count("take")).isEqualTo(1);
        assertThat(redis.log().count("acquire")).isEqualTo(1);
        lock.unlock();
    }

    /** Has a thread wait for 10 s that is held up for 9 s just before it parks. */
    private void waitsForOneSecondMore(Callable<Boolean> waits) throws InterruptedException {
        long began = clock.nanoTime();
        AtomicReference<Object> outcome = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                outcome.set(waits.call());
            } catch (Exception e) {
                outcome.set(e);
            }
        });
        clock.holdUp(waiter, 9_000);
        waiter.start();
        await().until(() -> clock.nanoTime() > began && clock.isParked(waiter));
        assertThat(Duration.ofNanos(clock.wakeOf(waiter) - began)).isEqualTo(Duration.ofSeconds(10));
        passUntil(() -> !waiter.isAlive());
        assertThat(outcome.get()).isEqualTo(false);
    }

    @Test
    void tryLock_ofAThreadThatIsHeldUpBeforeItParks_endsInTime() throws InterruptedException {
        other.lock();
        waitsForOneSecondMore(() -> lock.tryLock(10, TimeUnit.SECONDS));
        other.unlock();
    }

    @Test
    void await_ofAThreadThatIsHeldUpBeforeItParks_endsInTime() throws InterruptedException {
        waitsForOneSecondMore(() -> {
            lock.lock();
            try {
                return lock.newCondition("ready").await(10, TimeUnit.SECONDS);
            } finally {
                lock.unlock();
            }
        });
    }

    /** A thread that gets no processor for a while must not find that minutes have passed. */
    @Test
    void time_waitsForAThreadWhoseCallGoesOn() {
        long began = clock.nanoTime();
        Busy busy = new Busy(clock::nanoTime);
        Inside client = inside;
        Thread caller = new Thread(() -> {
            Attempt attempt = client.attempts()
                    .make(
                            LockKeys.of("redis-locks", "job"),
                            client.owners().caller(),
                            new Attempt.Request(30_000, true, false),
                            WaitLimit.endless());
            client.attempts().begin(attempt);
            busy.work();
            client.attempts().end(attempt);
        });
        caller.start();
        busy.awaitBegin();
        pass(300_000);
        assertThat(busy.seen()).isEqualTo(began);
    }

    @Test
    void manyHolds_withoutAnswer_areAllUnconfirmed() {
        List<String> names = IntStream.range(0, 100).mapToObj(i -> "many:" + i).toList();
        names.forEach(name -> locks.reentrantLock(name).lock());
        redis.down(true);
        pass(VALIDITY);
        await().until(() -> losses.size() == names.size());
        assertThat(losses).extracting(LockLost::reason).containsOnly(LockLost.Reason.UNCONFIRMED);
    }

    @Test
    void hold_withoutAnswer_isUnconfirmedAtItsDeadlineAndNotBefore() {
        lock.lock();
        redis.down(true);
        pass(VALIDITY - 1);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(lock.remainingLease()).isEqualTo(Duration.ofMillis(1));
        assertThat(losses).isEmpty();
        pass(1);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        assertThat(server.pttl(KEY)).as("no other owner can have the lock yet").isEqualTo(302);
        assertThat(other.tryLock()).isFalse();
        pass(303);
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isTrue();
        other.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void hold_afterARenewal_countsFromItsSending() {
        lock.lock();
        pass(10_000);
        assertThat(renewals()).isEqualTo(1);
        assertThat(lock.remainingLease()).isEqualTo(Duration.ofMillis(VALIDITY));
        redis.down(true);
        pass(VALIDITY - 1);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        pass(1);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void fixedLease_isNotRenewedAndExpires() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        pass(2_967);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        pass(1);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.EXPIRED);
        assertThat(renewals()).isZero();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void fixedLease_inside_leavesTheOuterHoldRenewed() {
        for (Duration inner : List.of(Duration.ofSeconds(2), Duration.ofSeconds(60))) {
            lock.lock();
            fixed(lock, inner).lock();
            lock.unlock();
            pass(120_000);
            assertThat(lock.isHeldByCurrentThread()).as("%s", inner).isTrue();
            assertThat(server.pttl(KEY)).isGreaterThan(VALIDITY - 10_000);
            lock.unlock();
        }
        assertThat(losses).isEmpty();
    }

    @Test
    void fixedLease_outside_endsOnceTheInnerHoldIsUnlocked() {
        fixed(lock, Duration.ofSeconds(2)).lock();
        lock.lock();
        pass(40_000);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        long renewals = renewals();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        pass(30_000);
        assertThat(renewals()).isEqualTo(renewals);
        assertThat(lock.isHeldByCurrentThread()).as("its last deadline stands").isFalse();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void fixedLease_ofOneThread_leavesThatOfAnotherAlone() throws InterruptedException {
        Thread brief = new Thread(() -> {
            fixed(lock, Duration.ofSeconds(3)).lock();
            lock.unlock();
        });
        brief.start();
        brief.join();
        lock.lock();
        pass(60_000);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
    }

    @Test
    void grant_byMessage_isValidAsLongAsItsClaim_fromTheLastHeartbeat() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        pass(1_500 + 700);
        long requests = redis.log().requests();
        other.unlock();
        await().until(waiter::holds);
        assertThat(redis.log().requests()).as("no round trip of the waiter").isEqualTo(requests);
        // Sent 700 ms ago, a claim of 4.5 s, less 2 ms and 1 %.
        assertThat(waiter.validity).isEqualTo(Duration.ofMillis(4_453 - 700));
        pass(1_500);
        assertThat(server.pttl(KEY)).as("confirmed").isGreaterThan(29_000);
        waiter.end();
        assertThat(server.keys()).containsExactly(KEY + ":fence");
    }

    @Test
    void grant_byMessage_afterHeartbeatsThatWereRefused_isConfirmedBeforeItsDeadline() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        redis.failNext(1_000, call -> call.script().name().equals("heartbeat"), Fault.refused("OOM"));
        pass(3_500);
        other.unlock();
        await().until(waiter::holds);
        assertThat(waiter.validity).isEqualTo(Duration.ofMillis(4_453 - 3_500));
        pass(953);
        assertThat(losses).isEmpty();
        assertThat(server.pttl(KEY)).as("confirmed").isGreaterThan(29_000);
        waiter.end();
    }

    @Test
    void grant_whoseMessageIsLost_isFoundByTheNextHeartbeat() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        redis.dropMessages(true);
        other.unlock();
        assertThat(waiter.holds()).isFalse();
        pass(1_500);
        await().until(waiter::holds);
        waiter.end();
    }

    @Test
    void grant_whoseMessageComesAfterItsClaim_isAskedForAgain() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        redis.holdMessages();
        redis.down(true);
        other.unlock();
        // The claim lapses unheard, and another takes the lock.
        pass(4_600);
        assertThat(other.tryLock()).isTrue();
        redis.down(false);
        redis.deliverMessages();
        settle();
        assertThat(waiter.held.get()).as("a stale message is no hold").isNull();
        other.unlock();
        pass(3_000);
        await().until(waiter::holds);
        assertThat(server.hash(KEY).get("owner")).endsWith(":" + waiter.getId());
        waiter.end();
    }

    @Test
    void waiters_ofOneClient_areServedInTurn_andHaveNothingToAsk() throws InterruptedException {
        List<Waiter> line = List.of(new Waiter(), new Waiter(), new Waiter());
        lock.lock();
        for (Waiter waiter : line) {
            waiter.start();
            await().until(() -> clock.isParked(waiter));
        }
        Waiter last = line.get(2);
        lock.unlock();
        await().until(line.get(0)::holds);
        line.get(0).end();
        await().until(line.get(1)::holds);
        line.get(1).end();
        await().until(last::holds);
        last.end();
        assertThat(redis.log().count("acquire"))
                .as("successors have nothing to ask")
                .isZero();
    }

    @Test
    void holder_vanished_isSucceededAtTheEndOfItsLease() throws InterruptedException {
        fixed(other, Duration.ofSeconds(5)).lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        pass(4_999);
        assertThat(waiter.holds()).isFalse();
        pass(2);
        await().until(waiter::holds);
        waiter.end();
    }

    @Test
    void tokens_growThoughTheServersClockStepsBack() {
        lock.lock();
        long token = lock.fencingToken();
        lock.unlock();
        clock.stepServerMillis(-3_600_000);
        lock.lock();
        assertThat(lock.fencingToken()).isGreaterThan(token);
        lock.unlock();
    }

    @Test
    void tokens_growThoughTheServerForgetsAll() {
        lock.lock();
        long token = lock.fencingToken();
        lock.unlock();
        server.flushAll();
        pass(1);
        lock.lock();
        assertThat(lock.fencingToken()).isGreaterThan(token);
        lock.unlock();
    }
}
