package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.health.Outage;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/**
 * Guards against a race or fault that no other test misses when they are gone, each on the in-memory Redis and a clock
 * that the test moves.
 */
class GuardTest extends FakeTime {

    private static final Call.NotAfter FOR_EVER = server -> 8_000_000_000_000_000L;
    private static final long SECOND = 1_000_000_000;

    private final LockKeys keys = LockKeys.of(Settings.DEFAULT_KEY_PREFIX, "job");

    private Attempt attempt(long number, String owner) {
        return new Attempt(
                number, keys, new Owner(owner), new Attempt.Request(30_000, true, false), WaitLimit.endless());
    }

    private Hold hold(long number, String owner, int count, long deadlineNanos) {
        Attempt.Grant grant = new Attempt.Grant(1, false, deadlineNanos, 0, true);
        Hold hold = new Hold(attempt(number, owner), grant, 0, 0, null);
        while (hold.count() < count) {
            hold.reentered(hold.leaseMillis(), false, Long.MAX_VALUE);
        }
        return hold;
    }

    @Test
    void releaseInner_runTwice_countsOnce() {
        redis.run(Scripts.acquire(attempt(1, "a:1"), FOR_EVER, false, 0), SECOND);
        redis.run(Scripts.reenter(hold(1, "a:1", 1, Long.MAX_VALUE), 1, 30_000), SECOND);
        redis.run(Scripts.reenter(hold(1, "a:1", 2, Long.MAX_VALUE), 2, 30_000), SECOND);
        for (int i = 0; i < 2; i++) {
            assertThat(redis.run(Scripts.releaseInner(hold(1, "a:1", 3, Long.MAX_VALUE), 3), SECOND)
                            .code())
                    .isEqualTo("OK");
            assertThat(server.hash(KEY)).containsEntry("holds", "2");
        }
    }

    @Test
    void release_withADeadPlaceWhoseMailboxIsOpen_dropsItAndServesTheNext() {
        redis.run(Scripts.acquire(attempt(1, "a:1"), FOR_EVER, false, 0), SECOND);
        Call take = Scripts.acquire(attempt(1, "b:1"), FOR_EVER, true, 0);
        List<String> brief = new ArrayList<>(take.args());
        brief.set(4, "100");
        redis.run(new Call(take.script(), take.keys(), brief), SECOND);
        redis.run(Scripts.acquire(attempt(1, "c:1"), FOR_EVER, true, 0), SECOND);
        List<Redis.Subscription> mail = List.of(
                redis.subscribe("redis-locks:mailbox:b", SECOND), redis.subscribe("redis-locks:mailbox:c", SECOND));
        clock.advanceMillis(101);
        redis.run(Scripts.release(hold(1, "a:1", 1, Long.MAX_VALUE), false, false), SECOND);
        assertThat(server.hash(KEY)).containsEntry("owner", "c:1");
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        mail.forEach(Redis.Subscription::close);
    }

    @Test
    void placesOfAClientThatConfirmsNothing_dieWithItsClaim() {
        redis.run(Scripts.acquire(attempt(1, "a:1"), FOR_EVER, false, 0), SECOND);
        for (String owner : List.of("b:1", "b:2", "c:1")) {
            redis.run(Scripts.acquire(brief(owner), FOR_EVER, true, 0), SECOND);
        }
        List<Redis.Subscription> mail = List.of(
                redis.subscribe("redis-locks:mailbox:b", SECOND), redis.subscribe("redis-locks:mailbox:c", SECOND));
        clock.advanceMillis(900);
        redis.run(Scripts.heartbeat(brief("c:1"), FOR_EVER), SECOND);
        redis.run(Scripts.release(hold(1, "a:1", 1, Long.MAX_VALUE), false, false), SECOND);
        assertThat(server.hash(KEY))
                .as("b stands still, but its client gets the message")
                .containsEntry("owner", "b:1");
        for (int millis : new int[] {1_000, 1_000, 1_001}) {
            clock.advanceMillis(millis);
            redis.run(Scripts.heartbeat(brief("c:1"), FOR_EVER), SECOND);
        }
        assertThat(server.hash(KEY)).containsEntry("owner", "c:1");
        mail.forEach(Redis.Subscription::close);
    }

    private Attempt brief(String owner) {
        return new Attempt(1, keys, new Owner(owner), new Attempt.Request(3_000, true, true), WaitLimit.endless());
    }

    /** Lets time pass until the waiter's next heartbeat, which stays on its way. */
    private HeldCalls heartbeatUnderWay() {
        HeldCalls held = redis.hold(verb("heartbeat"));
        clock.advanceMillis(1_500);
        held.awaitParked(1, Duration.ofSeconds(5));
        return held;
    }

    /** The heartbeat of a waiter that has got the lock meanwhile, and holds it. */
    private HeldCalls heartbeatOvertakenByItsGrant(Waiter waiter) {
        other.lock();
        waiter.startAndQueue();
        HeldCalls held = heartbeatUnderWay();
        other.unlock();
        await().until(waiter::holds);
        return held;
    }

    @Test
    void heartbeat_thatRunsWhenItsHoldHasBeenReleased_leavesNoHold() throws InterruptedException {
        Waiter waiter = new Waiter();
        HeldCalls held = heartbeatOvertakenByItsGrant(waiter);
        waiter.end();
        assertThat(server.hash(KEY)).as("released").isEmpty();
        held.release();
        settle();
        assertThat(redis.log().count("leave")).isEqualTo(1);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void message_forASuccessorWhoseTurnIsOnItsWay_isDatedByTheAnswerThatBringsIt() throws InterruptedException {
        inside.mailbox().open(SECOND);
        lock.lock();
        Waiter successor = new Waiter();
        successor.start();
        await().until(() -> successor.getState() == Thread.State.WAITING);
        Thread before = new Thread(() -> {
            other.lock();
            other.unlock();
        });
        before.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        pass(1);
        redis.holdMessages();
        redis.failNext(2, verb("release"), Fault.REPLY_LOST);
        // The other is served, and hands on to the successor, which the lost answer has given a place but not the turn.
        lock.unlock();
        before.join();
        assertThat(redis.heldMessages()).as("the grant").hasSize(1);
        redis.deliverMessages();
        await().until(() -> successor.getState() == Thread.State.WAITING);
        assertThat(successor.held.get()).isNull();
        pass(10);
        await().until(successor::holds);
        successor.end();
        assertThat(losses).isEmpty();
    }

    /** A waiter whose grant is still in a message when its claim has lapsed; the other client has the lock. */
    private Waiter grantedByAMessageThatIsLate() {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        redis.holdMessages();
        redis.failNext(1, verb("heartbeat"), Fault.REFUSED_CONNECTION);
        other.unlock();
        assertThat(redis.heldMessages()).as("the grant").hasSize(1);
        clock.advanceMillis(4_600);
        settle();
        assertThat(other.tryLock()).as("the claim lapsed").isTrue();
        return waiter;
    }

    private void isServedNext(Waiter waiter) throws InterruptedException {
        other.unlock();
        pass(3_000);
        await().until(waiter::holds);
        waiter.end();
        assertThat(losses).isEmpty();
    }

    @Test
    void message_thatComesAfterItsClaim_isNoHold() throws InterruptedException {
        Waiter waiter = grantedByAMessageThatIsLate();
        redis.deliverMessages();
        await().until(() -> waiter.getState() == Thread.State.WAITING);
        assertThat(waiter.held.get()).isNull();
        isServedNext(waiter);
    }

    @Test
    void message_ofAnEarlierGrant_isNoHoldThoughThePlaceIsNew() throws InterruptedException {
        Waiter waiter = grantedByAMessageThatIsLate();
        // The waiter takes a place again, and learns of the token that is greater than the one in its message.
        pass(200);
        assertThat(server.zset(KEY + ":queue")).hasSize(1);
        redis.deliverMessages();
        await().until(() -> waiter.getState() == Thread.State.WAITING);
        settle();
        assertThat(waiter.held.get()).isNull();
        isServedNext(waiter);
    }

    @Test
    void unlock_servesItsOwnClientForAShortTurn_thenTheOther() throws InterruptedException {
        List<String> order = new CopyOnWriteArrayList<>();
        clock.advanceMillis(1_000);
        lock.lock();
        List<Thread> threads = new ArrayList<>();
        threads.add(locking(lock, "first", order));
        await().until(() -> threads.get(0).getState() == Thread.State.WAITING);
        threads.add(locking(lock, "second", order));
        await().until(() -> threads.get(1).getState() == Thread.State.WAITING);
        threads.add(locking(other, "other", order));
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        // No time has passed since the lock was taken; but then the first lets some pass.
        lock.unlock();
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(order).containsExactly("first", "other", "second");
    }

    private Thread locking(RedisReentrantLock wanted, String name, List<String> order) {
        Thread thread = new Thread(() -> {
            wanted.lock();
            order.add(name);
            clock.advanceMillis(1);
            wanted.unlock();
        });
        thread.start();
        return thread;
    }

    @Test
    void release_atTheDeadline_isTooLate() {
        assertThat(hold(1, "a:1", 1, 100).beginRelease(100)).isZero();
        assertThat(hold(1, "a:1", 1, 100).beginRelease(99)).isEqualTo(100);
    }

    @Test
    void loseExtendAndRelease_atOnce_endItOnce() throws InterruptedException {
        int rounds = 50_000;
        List<Hold> holds = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            holds.add(hold(1, "a:1", 1, 100));
        }
        boolean[] lost = new boolean[rounds];
        boolean[] released = new boolean[rounds];
        AtomicInteger at = new AtomicInteger();
        Thread loser = new Thread(() -> {
            for (int i = 0; i < rounds; i++) {
                meet(at, 2 * i + 2);
                lost[i] = holds.get(i).lose(LockLost.Reason.TAKEN);
            }
        });
        loser.start();
        for (int i = 0; i < rounds; i++) {
            Hold hold = holds.get(i);
            meet(at, 2 * i + 2);
            hold.extend(50, 200 + i);
            released[i] = hold.beginRelease(50) != 0;
        }
        loser.join();
        for (int i = 0; i < rounds; i++) {
            assertThat(lost[i]).as("round %d", i).isNotEqualTo(released[i]);
            assertThat(holds.get(i).isOpen()).as("round %d", i).isFalse();
            assertThat(holds.get(i).isReleasing()).as("round %d", i).isEqualTo(released[i]);
        }
    }

    // On a busy machine the other thread needs this processor.
    @SuppressWarnings("ThreadPriorityCheck")
    private static void meet(AtomicInteger at, int both) {
        at.incrementAndGet();
        while (at.get() < both) {
            Thread.yield();
        }
    }

    @Test
    void renewal_answeredLate_countsFromItsSending() {
        lock.lock();
        HeldCalls held = redis.hold(verb("renew"));
        clock.advanceMillis(10_000);
        held.awaitParked(1, Duration.ofSeconds(5));
        clock.advanceMillis(700);
        held.release();
        settle();
        assertThat(lock.remainingLease()).isEqualTo(Duration.ofMillis(29_698 - 700));
        lock.unlock();
    }

    @Test
    void renewal_failedOnce_isSentAgain() {
        lock.lock();
        redis.failNext(1, verb("renew"), Fault.REQUEST_LOST);
        pass(60_000);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void acquire_answeredLate_countsFromItsSending() throws InterruptedException {
        Duration late = remainingAfterAHeldCall("acquire", lock::lock);
        assertThat(late).isEqualTo(Duration.ofMillis(29_698 - 700));
    }

    @Test
    void reentry_answeredLate_countsFromItsSending() throws InterruptedException {
        Duration late = remainingAfterAHeldCall("reenter", () -> {
            fixed(lock, Duration.ofSeconds(2)).lock();
            lock.lock();
        });
        assertThat(late).isEqualTo(Duration.ofMillis(29_698 - 700));
    }

    private Duration remainingAfterAHeldCall(String script, Runnable locking) throws InterruptedException {
        HeldCalls held = redis.hold(verb(script));
        AtomicReference<Duration> remaining = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            locking.run();
            remaining.set(lock.remainingLease());
            while (lock.isHeldByCurrentThread()) {
                lock.unlock();
            }
        });
        thread.start();
        held.awaitParked(1, Duration.ofSeconds(5));
        clock.advanceMillis(700);
        held.release();
        thread.join();
        return remaining.get();
    }

    @Test
    void succession_answeredLate_countsFromItsSending() throws InterruptedException {
        lock.lock();
        AtomicReference<Duration> remaining = new AtomicReference<>();
        Thread successor = new Thread(() -> {
            lock.lock();
            remaining.set(lock.remainingLease());
            lock.unlock();
        });
        successor.start();
        await().until(() -> successor.getState() == Thread.State.WAITING);
        HeldCalls held = redis.hold(verb("release"));
        Thread mover = new Thread(() -> {
            held.awaitParked(1, Duration.ofSeconds(5));
            clock.advanceMillis(700);
            held.release();
        });
        mover.start();
        lock.unlock();
        successor.join();
        mover.join();
        assertThat(remaining.get()).isEqualTo(Duration.ofMillis(29_698 - 700));
    }

    @Test
    void grant_byAHeartbeatAnsweredLate_countsFromItsSending() throws InterruptedException {
        other.lock();
        AtomicReference<Duration> remaining = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            lock.lock();
            remaining.set(lock.remainingLease());
            lock.unlock();
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        redis.dropMessages(true);
        HeldCalls held = heartbeatUnderWay();
        other.unlock();
        clock.advanceMillis(700);
        held.release();
        waiter.join();
        assertThat(remaining.get()).isEqualTo(Duration.ofMillis(4_453 - 700));
    }

    /** A waiter that is interrupted while its heartbeat is on the way, which its leave does not overtake. */
    private void leaveDuringAHeartbeat(Runnable beforeItRuns) throws InterruptedException {
        other.lock();
        AtomicReference<Boolean> interrupted = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                lock.lockInterruptibly();
            } catch (InterruptedException e) {
                interrupted.set(true);
            }
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        HeldCalls held = heartbeatUnderWay();
        waiter.interrupt();
        whileTimePasses(() -> clock.isParkedForAMoment(waiter), () -> await().until(() -> !waiter.isAlive()));
        assertThat(interrupted.get()).as("the waiter waits a moment only").isTrue();
        beforeItRuns.run();
        held.release();
        await().until(() -> redis.log().count("heartbeat") == 1);
    }

    @Test
    void heartbeat_onItsWayWhileItsWaiterGoes_leavesNoPlace() throws InterruptedException {
        leaveDuringAHeartbeat(() -> {});
        settle();
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        other.unlock();
    }

    @Test
    void heartbeat_onItsWayWhileItsWaiterGoesUnanswered_leavesNoPlace() throws InterruptedException {
        leaveDuringAHeartbeat(() -> redis.failNext(1, verb("heartbeat"), Fault.REPLY_LOST));
        pass(2_000);
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        other.unlock();
    }

    @Test
    void heartbeat_onItsWayWhileItsWaiterGoesAndGranted_freesTheLock() throws InterruptedException {
        leaveDuringAHeartbeat(other::unlock);
        settle();
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void heartbeat_thatFailsAfterItsGrant_doesNotEndTheHoldWhileItIsReleased() throws InterruptedException {
        redis.failNext(1, verb("heartbeat"), Fault.REQUEST_LOST);
        Waiter waiter = new Waiter();
        HeldCalls heartbeat = heartbeatOvertakenByItsGrant(waiter);
        HeldCalls release = redis.hold(verb("release"));
        waiter.release = true;
        release.awaitParked(1, Duration.ofSeconds(5));
        heartbeat.release();
        pass(1_200);
        release.release();
        waiter.join();
        assertThat(losses).isEmpty();
        pass(200);
        assertThat(redis.log().count("leave")).as("sent after all").isEqualTo(1);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void heartbeat_thatFailsAfterItsGrantAndItsLoss_doesNotHideTheLoss() throws InterruptedException {
        redis.failNext(1, verb("heartbeat"), Fault.REQUEST_LOST);
        Waiter waiter = new Waiter();
        HeldCalls heartbeat = heartbeatOvertakenByItsGrant(waiter);
        // The lane of the renewals stands still, so that the claim is not confirmed.
        clock.advanceMillis(3_000);
        await().until(() -> losses.size() == 1);
        heartbeat.release();
        pass(1_500);
        assertThat(redis.log().count("leave")).isEqualTo(1);
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isTrue();
        other.unlock();
        waiter.end();
    }

    @Test
    void thread_thatEndedWithoutUnlock_isForgottenWithItsHold() throws InterruptedException {
        Thread careless = new Thread(lock::lock);
        careless.start();
        careless.join();
        pass(11_000);
        assertThat(losses)
                .singleElement()
                .satisfies(loss -> assertThat(loss.reason()).isEqualTo(LockLost.Reason.ABANDONED));
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void fixedLeaseOfAThreadThatHasEnded_lasts_alsoIfTheLockWasHandedOver() throws InterruptedException {
        other.lock();
        Thread careless = new Thread(() -> fixed(lock, Duration.ofSeconds(20)).lock());
        careless.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        other.unlock();
        careless.join();
        pass(19_000);
        assertThat(losses).isEmpty();
        assertThat(other.isLocked()).isTrue();
        pass(2_000);
        assertThat(losses)
                .singleElement()
                .satisfies(loss -> assertThat(loss.reason()).isEqualTo(LockLost.Reason.EXPIRED));
        assertThat(other.isLocked()).isFalse();
    }

    @Test
    void reentry_ofAHoldThatIsGone_isALossAndAcquiresAnew() {
        lock.lock();
        long token = lock.fencingToken();
        server.del(KEY);
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(lock.fencingToken()).isGreaterThan(token);
        assertThat(lock.previousHolderLost()).isTrue();
        assertThat(losses).hasSizeLessThanOrEqualTo(1);
        lock.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void innerUnlock_ofAHoldThatIsGone_isALoss() {
        lock.lock();
        lock.lock();
        server.del(KEY);
        assertThatThrownBy(lock::unlock)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.TAKEN));
    }

    @Test
    void outage_isOverWithAnAnswerAndForgottenWithTime() {
        Outage outage = new Outage(100);
        outage.failed(10, 20);
        assertThat(outage.age(50)).isEqualTo(40);
        outage.end();
        assertThat(outage.age(50)).isZero();
        outage.failed(60, 70);
        assertThat(outage.age(170)).isEqualTo(110);
        assertThat(outage.age(171)).isZero();
        outage.failed(200, 210);
        assertThat(outage.age(210)).as("another outage").isEqualTo(10);
    }

    @Test
    void lock_asTheOutageEnds_isNotFailedBeforeItsRequestIsAnswered() throws InterruptedException {
        redis.down(true);
        whileTimePasses(() -> assertThatThrownBy(lock::lock).isInstanceOf(LockUnavailableException.class));
        redis.down(false);
        HeldCalls held = redis.hold(verb("acquire"));
        Waiter waiter = new Waiter();
        waiter.start();
        held.awaitParked(1, Duration.ofSeconds(5));
        settle();
        held.release();
        await().until(() -> !waiter.isAlive() || waiter.held.get() != null);
        assertThat(waiter.held.get())
                .as("the answer of Redis counts, not the earlier outage")
                .isTrue();
        waiter.end();
    }

    @Test
    void leave_thatFails_isSentAgain() throws InterruptedException {
        other.lock();
        Thread waiter = new Thread(() -> {
            try {
                lock.lockInterruptibly();
            } catch (InterruptedException expected) {
                // The thread leaves.
            }
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        redis.failNext(2, verb("leave"), Fault.REQUEST_LOST);
        waiter.interrupt();
        waiter.join();
        assertThat(server.zset(KEY + ":queue")).hasSize(1);
        pass(1_000);
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        other.unlock();
    }

    @Test
    void close_whileAnAcquireIsOnItsWay_waitsForItAndLeavesNothing() throws InterruptedException {
        HeldCalls held = redis.hold(verb("acquire"));
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread caller = new Thread(() -> {
            try {
                lock.lock();
            } catch (IllegalStateException e) {
                thrown.set(e);
            }
        });
        caller.start();
        held.awaitParked(1, Duration.ofSeconds(5));
        Thread closer = new Thread(locks::close);
        closer.start();
        await().until(() -> clock.parks(closer) > 0 || !closer.isAlive());
        held.release();
        caller.join();
        // The unlock waits for the leave as well, which may be later than one tick.
        whileTimePasses(closer, () -> await().until(() -> !closer.isAlive()));
        assertThat(thrown.get()).isInstanceOf(IllegalStateException.class);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(redis.log().count("leave")).isEqualTo(1);
    }
}
