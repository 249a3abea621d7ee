package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockReleased;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.PendingCommand;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a lock asks, and what it makes of each answer, step by step. */
@Timeout(30)
class LockEngineStepsTest extends SteppedClient {

    private final List<String> told = new CopyOnWriteArrayList<>();
    private final LockClient heard = client(options(), List.of(new LockListener() {
        @Override
        public void acquired(LockAcquired event) {
            told.add("acquired");
        }

        @Override
        public void notAcquired(LockNotAcquired event) {
            told.add(event.outcome().toString());
        }

        @Override
        public void released(LockReleased event) {
            told.add("released");
        }
    }));
    private final Sync heardSync = heard.lock("job", false);

    LockEngineStepsTest() {
        // Else the first request would be late: the client does not know the time of the server.
        Sync first = client.lock("first", false);
        first.lock(LEASE, true);
        first.unlock();
        asked.clear();
        timeouts.clear();
    }

    @AfterEach
    void nothingIsUnderWay() {
        assertThat(client.attempts.isEmpty()).isTrue();
        assertThat(heard.attempts.isEmpty()).isTrue();
        assertThat(Thread.interrupted()).isFalse();
    }

    private Hold lock() {
        sync.lock(LEASE, true);
        return held(sync);
    }

    private List<String> scripts() {
        return asked.stream().map(call -> call.script().name()).toList();
    }

    private Sync locally() {
        return client.lock("job", false, Settings.DEFAULTS.withLocalReentry(true));
    }

    @Test
    void shortHold_costsTwoRequests() {
        Hold hold = lock();
        assertThat(hold.count()).isEqualTo(1);
        sync.unlock();
        assertThat(scripts()).containsExactly("take", "free");
        assertThat(held(sync)).isNull();
        assertThat(client.holds.all()).isEmpty();
        assertThat(client.localQueue.size()).isZero();
    }

    @Test
    void holdOfAMillisecond_isReleasedByTheLongScript() {
        lock();
        clock.advanceMillis(1);
        sync.unlock();
        lock();
        assertThat(scripts()).as("nobody waited").containsExactly("take", "release", "take");
    }

    @Test
    void shortHold_behindWhichSomebodyWaits_isHandedOn() {
        lock();
        answer("free", "LINE");
        sync.unlock();
        assertThat(scripts()).containsExactly("take", "free", "release");
        assertThat(redis.hash(KEY)).isEmpty();
    }

    @Test
    void lockOfACrowd_isAskedForByTheLongScript() {
        lock();
        clock.advanceMillis(1);
        answer("release", "GRANTED");
        sync.unlock();
        redis.del(KEY);
        lock();
        sync.unlock();
        assertThat(scripts()).startsWith("take", "release", "acquire", "release");
        lock();
        assertThat(scripts().get(4)).as("nobody waited any more").isEqualTo("take");
    }

    @Test
    void lockWhereThereAreNoLines_hasNoShortScripts() {
        lines = false;
        lock();
        sync.unlock();
        assertThat(scripts()).containsExactly("acquire", "release");
        assertThatThrownBy(() -> sync.checkLines("test"))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("no test");
        assertThatThrownBy(() -> sync.checkKept(Duration.ofSeconds(1)))
                .isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void checks_pass() {
        sync.checkLines("test");
        assertThat(sync.checkKept(Duration.ofSeconds(1))).isEqualTo(1_000);
        assertThat(sync.checkLease(Duration.ofSeconds(9), 9_000)).isEqualTo(9_000);
        assertThat(sync.leaseMillis()).isEqualTo(LEASE);
        assertThat(sync.retryForNanos()).isEqualTo(10_000 * MILLI);
        assertThat(sync.maxHoldMillis()).isZero();
        assertThat(client.lock("job", false, Settings.DEFAULTS.withMaxHold(Duration.ofMinutes(1)))
                        .maxHoldMillis())
                .isEqualTo(60_000);
        assertThat(sync.isFair()).isFalse();
        assertThat(client.lock("job", true).isFair()).isTrue();
        assertThat(sync.keys().name()).isEqualTo("job");
        assertThat(sync.isSameAs(client.lock("job", true))).isTrue();
        assertThat(sync.isSameAs(client.lock("another", false))).isFalse();
        assertThat(sync.isSameAs(other)).isFalse();
    }

    @Test
    void reentry_isCountedInRedis() {
        Hold hold = lock();
        clock.advanceMillis(100);
        assertThat(lock()).isSameAs(hold);
        assertThat(hold.count()).isEqualTo(2);
        assertThat(redis.hash(KEY)).containsEntry("holds", "2");
        assertThat(hold.deadlineNanos()).isEqualTo(clock.nanoTime() + Timing.validityNanos(LEASE));
        sync.unlock();
        assertThat(redis.hash(KEY)).containsEntry("holds", "1");
        assertThat(hold.count()).isEqualTo(1);
        sync.unlock();
        assertThat(redis.hash(KEY)).isEmpty();
        assertThat(scripts()).containsExactly("take", "reenter", "release_inner", "release");
    }

    @Test
    void reentryOfAHoldThatIsRenewed_isRenewedInTime() {
        sync.lock(LEASE, false);
        assertThat(client.watchdog.isIdle()).isTrue();
        sync.lock(LEASE, true);
        assertThat(held(sync).nextRenewalNanos()).isEqualTo(clock.nanoTime() + Timing.renewalNanos(LEASE));
        clock.advanceMillis(10_000);
        assertThat(client.watchdog.isIdle()).isFalse();
    }

    @Test
    void localReentry_asksNothing() throws InterruptedException {
        Sync local = locally();
        local.lock(LEASE, true);
        local.lock(LEASE, true);
        local.lockInterruptibly(LEASE, true);
        assertThat(local.tryLock(LEASE, true)).isTrue();
        assertThat(local.tryLock(MILLI, LEASE, true)).isTrue();
        assertThat(local.acquire(WaitLimit.endless(), true)).isSameAs(held(local));
        assertThat(held(local).count()).isEqualTo(6);
        local.unlock();
        assertThat(held(local).count()).isEqualTo(5);
        assertThat(scripts()).containsExactly("take");
    }

    @Test
    void localReentry_thatWantsALongerLease_asks() {
        Sync local = locally();
        local.lock(LEASE, false);
        local.lock(2 * LEASE, false);
        assertThat(scripts()).containsExactly("take", "reenter");
        assertThat(held(local).count()).isEqualTo(2);
    }

    @Test
    void localReentry_ofAnInterruptedThread_isThrown() {
        Sync local = locally();
        local.lock(LEASE, true);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> local.lockInterruptibly(LEASE, true)).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> local.tryLock(MILLI, LEASE, true)).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> local.acquire(WaitLimit.interruptible(0), true))
                .isInstanceOf(InterruptedException.class);
        assertThat(held(local).count()).isEqualTo(1);
    }

    @Test
    void interrupt_isKeptByCallsThatDoNotEndByIt() {
        Thread.currentThread().interrupt();
        lock();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void reentryOfALockThatSomebodyRemoved_acquiresItAnew() {
        Hold hold = lock();
        redis.del(KEY);
        Hold next = lock();
        assertThat(next).isNotSameAs(hold);
        assertThat(hold.isLost()).isTrue();
        assertThat(next.below).isSameAs(hold);
        assertThat(scripts()).containsExactly("take", "reenter", "take", "acquire");
        sync.unlock();
        assertThatThrownBy(sync::unlock).isInstanceOf(LockLostException.class);
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void reentryThatIsNotAnswered_isSentAgain() {
        lock();
        fail(2, "reenter", SteppedClient::unanswered);
        lock();
        assertThat(held(sync).count()).isEqualTo(2);
        assertThat(count("reenter")).isEqualTo(3);
        assertThat(parks).containsExactly(10 * MILLI, 10 * MILLI);
    }

    @Test
    void reentryThatIsRefused_leavesTheHoldAsItWas() {
        Hold hold = lock();
        fail("reenter", refused());
        assertThatThrownBy(() -> sync.lock(LEASE, true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("was not entered once more");
        assertThat(hold.count()).isEqualTo(1);
        assertThat(parks).isEmpty();
    }

    @Test
    void reentryThatIsNotAnsweredForLong_fails() {
        Hold hold = lock();
        long began = clock.nanoTime();
        away("reenter", 60_000);
        assertThatThrownBy(() -> sync.lock(LEASE, true)).isInstanceOf(LockUnavailableException.class);
        assertThat(clock.nanoTime() - began).isBetween(10_000 * MILLI, 10_100 * MILLI);
        assertThat(hold.count()).isEqualTo(1);
    }

    @Test
    void reentryWithATime_failsAtItsEnd() {
        lock();
        long began = clock.nanoTime();
        away("reenter", 60_000);
        assertThatThrownBy(() -> sync.tryLock(50 * MILLI, LEASE, true)).isInstanceOf(LockUnavailableException.class);
        assertThat(clock.nanoTime() - began).isBetween(50 * MILLI, 70 * MILLI);
    }

    @Test
    void reentryThatIsInterrupted_endsByThat() {
        Hold hold = lock();
        fail(2, "reenter", SteppedClient::unanswered);
        steps.add(Thread.currentThread()::interrupt);
        assertThatThrownBy(() -> sync.lockInterruptibly(LEASE, true)).isInstanceOf(InterruptedException.class);
        assertThat(hold.count()).isEqualTo(1);
    }

    @Test
    void reentryOfAHoldThatEndsSoon_isWaitedForNoLonger() {
        Hold hold = lock();
        clock.advanceMillis(29_000);
        long left = hold.deadlineNanos() - clock.nanoTime();
        lock();
        assertThat(timeouts.get(1)).isEqualTo(left);
    }

    @Test
    void busyLock_isNotHeld() throws InterruptedException {
        other.lock(LEASE, true);
        assertThat(sync.tryLock(LEASE, true)).isFalse();
        assertThat(sync.tryLock(0, LEASE, true)).isFalse();
        assertThat(held(sync)).isNull();
        assertThat(sync.hasPossession()).isFalse();
        assertThat(sync.remainingNanos()).isZero();
        assertThatThrownBy(sync::ensureHeld).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(sync::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void hold_lastsForItsLease() {
        Hold hold = lock();
        assertThat(sync.remainingNanos()).isEqualTo(Timing.validityNanos(LEASE));
        assertThat(sync.ensureHeld()).isSameAs(hold);
        assertThat(sync.isValid(hold)).isTrue();
        assertThat(sync.hasPossession()).isTrue();
        clock.advanceMillis(LEASE);
        assertThat(sync.remainingNanos()).isZero();
        assertThat(sync.isValid(hold)).isFalse();
        assertThat(held(sync)).isNull();
        assertThat(client.localQueue.size()).as("its turn has ended").isZero();
        assertThatThrownBy(sync::ensureHeld).isInstanceOf(LockLostException.class);
        assertThatThrownBy(sync::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(sync::unlock).isNotInstanceOf(LockLostException.class);
    }

    @Test
    void innerUnlock_ofALockThatSomebodyRemoved_tellsTheLoss() {
        Hold hold = lock();
        lock();
        redis.del(KEY);
        assertThatThrownBy(sync::unlock).isInstanceOf(LockLostException.class);
        assertThat(hold.isLost()).isTrue();
    }

    @Test
    void innerUnlock_thatIsNotAnswered_counts() {
        Hold hold = lock();
        lock();
        fail("release_inner", unanswered());
        sync.unlock();
        assertThat(hold.count()).isEqualTo(1);
        assertThat(held(sync)).isSameAs(hold);
    }

    @Test
    void unlock_ofALockThatSomebodyRemoved_tellsTheLoss() {
        Hold hold = lock();
        clock.advanceMillis(1);
        redis.del(KEY);
        assertThatThrownBy(sync::unlock).isInstanceOf(LockLostException.class);
        assertThat(hold.isLost()).isTrue();
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void unlock_whoseEarlierCopyMayHaveRun_isInGoodOrder() {
        lock();
        clock.advanceMillis(1);
        redis.del(KEY);
        answer("release", new Reply("GONE", List.of()).resentOnce());
        sync.unlock();
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void shortUnlock_whoseEarlierCopyMayHaveRun_isInGoodOrder() {
        lock();
        redis.del(KEY);
        answer("free", new Reply("GONE", List.of()).resentOnce());
        sync.unlock();
        assertThat(scripts()).containsExactly("take", "free", "release");
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void unlock_thatIsNotAnswered_goesOnInTheBackground() {
        lock();
        clock.advanceMillis(1);
        fail("release", unanswered());
        sync.unlock();
        assertThat(commands()).containsExactly("release");
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void unlock_thatIsNotAnsweredUntilTheLeaseIsOver_tellsTheLoss() {
        lock();
        clock.advanceMillis(1);
        fail(1, "release", () -> {
            clock.advanceMillis(LEASE);
            return unanswered();
        });
        assertThatThrownBy(sync::unlock).isInstanceOf(LockLostException.class);
        assertThat(commands()).containsExactly("release");
    }

    @Test
    void unlock_thatMeetsAnError_isLeftToTheWatchdog_andToTheNextCall() {
        Hold hold = lock();
        fail("free", broken);
        assertThatThrownBy(sync::unlock).isSameAs(broken);
        assertThat(hold.stranded).isTrue();
        assertThat(client.watchdog.isIdle()).isFalse();
        assertThat(sync.hasPossession()).isFalse();
        assertThat(commands()).containsExactly("release");
    }

    @Test
    void listener_isToldWhatCameOfACall() throws InterruptedException {
        heardSync.lock(LEASE, true);
        heardSync.unlock();
        assertThat(told).containsExactly("acquired", "released");
        told.clear();
        other.lock(LEASE, true);
        assertThat(heardSync.tryLock(LEASE, true)).isFalse();
        fail("acquire", broken);
        assertThatThrownBy(() -> heardSync.lock(LEASE, true)).isSameAs(broken);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> heardSync.lockInterruptibly(LEASE, true)).isInstanceOf(InterruptedException.class);
        steps.add(Thread.currentThread()::interrupt);
        assertThatThrownBy(() -> heardSync.tryLock(1_000 * MILLI, LEASE, true))
                .isInstanceOf(InterruptedException.class);
        assertThat(told).containsExactly("BUSY", "FAILED", "INTERRUPTED", "INTERRUPTED");
        heard.mailbox.close();
    }

    @Test
    void listener_isToldOfWhatWasTakenWithOthers() {
        heardSync.lock(LEASE, true);
        told.clear();
        heardSync.engine.entries.taken(heardSync, held(heardSync), clock.nanoTime());
        heardSync.engine.entries.notTaken(heardSync, clock.nanoTime());
        heardSync.engine.exits.released(heardSync, held(heardSync), clock.nanoTime());
        assertThat(told).containsExactly("acquired", "BUSY", "released");
        sync.engine.entries.taken(sync, held(heardSync), clock.nanoTime());
    }

    private Hold handle() throws InterruptedException {
        HandleOwner owner = client.owners.handle(this, loss -> {});
        Hold hold = sync.acquire(owner, WaitLimit.endless(), true);
        assertThat(hold.owner).isSameAs(owner);
        assertThat(owner.thread()).as("nobody waits for it any more").isNull();
        return hold;
    }

    @Test
    void handle_isReleasedOnce() throws InterruptedException {
        Hold hold = handle();
        sync.releaseHandle(hold, 0);
        assertThat(redis.hash(KEY)).isEmpty();
        assertThatThrownBy(() -> sync.releaseHandle(hold, 0)).isInstanceOf(LockLostException.class);
    }

    @Test
    void handle_keepsTheLockTaken() throws InterruptedException {
        sync.releaseHandle(handle(), 5_000);
        assertThat(scripts()).containsExactly("take", "release_after");
        assertThat(redis.hash(KEY)).containsEntry("owner", "nobody");
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void handle_ofAnInterruptedThread_isNone() {
        Thread.currentThread().interrupt();
        HandleOwner owner = client.owners.handle(this, loss -> {});
        assertThatThrownBy(() -> sync.acquire(owner, WaitLimit.interruptible(0), true))
                .isInstanceOf(InterruptedException.class);
        assertThat(asked).isEmpty();
        assertThat(owner.thread()).isNull();
    }

    /** Lets Redis answer the only command that was left to the background. */
    private void answerPending(LockClient of) {
        PendingCommand command = of.watchdog.commands().iterator().next();
        command.begin();
        command.call(clock.nanoTime(), MILLI);
        command.answered(redis.run(command.call(), MILLI), clock.nanoTime());
    }

    @Test
    void handle_isReleasedWithoutWaiting() throws InterruptedException {
        List<Boolean> ends = new CopyOnWriteArrayList<>();
        Hold hold = handle();
        sync.releaseHandleLater(hold, 0, ends::add);
        assertThat(commands()).containsExactly("release");
        answerPending(client);
        await().until(() -> ends.equals(List.of(true)));
        assertThat(client.holds.all()).isEmpty();
        assertThat(redis.hash(KEY)).isEmpty();
    }

    @Test
    void handleThatIsLost_isNotReleased() throws InterruptedException {
        List<Boolean> ends = new CopyOnWriteArrayList<>();
        Hold hold = handle();
        clock.advanceMillis(LEASE);
        sync.releaseHandleLater(hold, 5_000, ends::add);
        await().until(() -> ends.equals(List.of(false)));
        assertThat(commands()).isEmpty();
        assertThat(client.holds.all()).isEmpty();
        assertThat(hold.owner.keptMillis()).isZero();
        assertThat(hold.stranded).isFalse();
    }

    @Test
    void undo_endsAReentry_andLeavesAHoldToItsRelease() {
        Hold hold = lock();
        assertThat(sync.engine.exits.undo(sync, hold, clock.nanoTime()))
                .as("it is still to be released")
                .isFalse();
        lock();
        assertThat(sync.engine.exits.undo(sync, hold, clock.nanoTime() + 30 * MILLI))
                .isTrue();
        assertThat(timeouts.get(2)).isEqualTo(30 * MILLI);
        assertThat(hold.count()).isEqualTo(1);
        assertThat(redis.hash(KEY)).containsEntry("holds", "1");
        lock();
        assertThat(sync.engine.exits.undo(sync, hold, clock.nanoTime())).isTrue();
        assertThat(timeouts).as("nothing is sent without time").hasSize(4);
        lock();
        redis.del(KEY);
        assertThat(sync.engine.exits.undo(sync, hold, clock.nanoTime() + 30 * MILLI))
                .isTrue();
        assertThat(hold.isLost()).isTrue();
        assertThat(sync.engine.exits.undo(sync, hold, clock.nanoTime()))
                .as("there is nothing to release")
                .isTrue();
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void fixedHold_lastsForItsLeaseFromNow() {
        Hold hold = lock();
        clock.advanceMillis(500);
        sync.engine.exits.fix(sync, hold, clock.nanoTime() + 30 * MILLI);
        assertThat(timeouts.get(1)).isEqualTo(30 * MILLI);
        assertThat(hold.deadlineNanos()).isEqualTo(clock.nanoTime() + Timing.validityNanos(LEASE));
        assertThat(hold.isRenewed()).isFalse();
    }

    @Test
    void fixedHold_ofAServerThatDoesNotAnswer_lastsAsItWas() {
        Hold hold = lock();
        long deadline = hold.deadlineNanos();
        clock.advanceMillis(500);
        fail("reenter", unanswered());
        sync.engine.exits.fix(sync, hold, clock.nanoTime() + 30 * MILLI);
        assertThat(hold.deadlineNanos()).isEqualTo(deadline);
        redis.del(KEY);
        sync.engine.exits.fix(sync, hold, clock.nanoTime() + 30 * MILLI);
        assertThat(hold.isLost()).isTrue();
    }

    @Test
    void grantThatTooFewReplicasConfirm_isFollowedByAnotherAttempt() {
        fail(2, "take", () -> new RedisException.Unacknowledged("of the test"));
        Hold hold = lock();
        assertThat(hold.count()).isEqualTo(1);
        assertThat(count("take") + count("acquire")).isEqualTo(3);
        assertThat(client.attempts.isEmpty()).isTrue();
    }

    @Test
    void grantThatTooFewReplicasConfirm_isNoneForATryWithoutTime() {
        fail("take", new RedisException.Unacknowledged("of the test"));
        assertThatThrownBy(() -> sync.tryLock(LEASE, true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("\"job\"");
        assertThat(count("take")).isEqualTo(1);
    }

    @Test
    void interrupt_whileTooFewReplicasConfirm_endsTheWait() {
        fail(1, "take", () -> {
            Thread.currentThread().interrupt();
            return new RedisException.Unacknowledged("of the test");
        });
        assertThatThrownBy(() -> sync.tryLock(1_000 * MILLI, LEASE, true)).isInstanceOf(InterruptedException.class);
    }

    @Test
    void holdThatIsRenewedNoMore_isAskedForOnceWhereDeletionsAreWatched() {
        LockClient watching = client(options().withWatchDeletions(true), List.of());
        Sync watched = watching.lock("watched", false);
        watched.lock(LEASE, false);
        watched.lock(LEASE, true);
        Hold hold = held(watched);
        assertThat(hold.isRenewed()).isTrue();
        watched.unlock();
        assertThat(hold.isRenewed()).isFalse();
        long soon = clock.nanoTime() + Timing.UNWATCHED_NANOS;
        assertThat(hold.nextRenewalNanos()).isEqualTo(soon);
        watching.mailbox.close();
    }

    @Test
    void handleThatIsReleasedWithoutWaiting_isToldToListeners() throws InterruptedException {
        HandleOwner owner = heard.owners.handle(this, loss -> {});
        Hold hold = heardSync.acquire(owner, WaitLimit.within(clock.nanoTime(), 1_000 * MILLI, 0), true);
        assertThat(told).containsExactly("acquired");
        heardSync.releaseHandleLater(hold, 0, released -> told.add(released.toString()));
        answerPending(heard);
        await().until(() -> told.equals(List.of("acquired", "released", "true")));
    }

    @Test
    void freeLock_isTakenByATry() throws InterruptedException {
        assertThat(sync.tryLock(LEASE, true)).isTrue();
        assertThat(timeouts).containsExactly(Settings.DEFAULTS.commandTimeoutNanos());
        sync.unlock();
        assertThat(sync.tryLock(MILLI, LEASE, true)).isTrue();
    }

    /** Has an attempt of another thread wait behind the calling thread, and tells how the unlock names it. */
    private List<String> unlockWithSuccessor(long heldMillis) {
        lock();
        Attempt next = client.attempts.make(
                sync.keys(),
                client.owners.handle(this, loss -> {}),
                new Attempt.Request(LEASE, true, false, 0),
                WaitLimit.endless());
        client.attempts.begin(next);
        assertThat(client.localQueue.enter(next)).isFalse();
        clock.advanceMillis(heldMillis);
        asked.clear();
        sync.unlock();
        assertThat(next.verdict()).isInstanceOf(Attempt.Grant.class);
        client.attempts.end(next);
        List<String> args = asked.get(0).args();
        assertThat(args).contains(Long.toString(next.number));
        return args;
    }

    @Test
    void unlock_atTheBeginningOfALocalTurn_keepsTheTurnHere() {
        assertThat(unlockWithSuccessor(0)).last().isEqualTo("1");
    }

    @Test
    void unlock_afterTheLocalTurn_letsOthersGoFirst() {
        assertThat(unlockWithSuccessor(1)).last().isEqualTo("0");
    }

    @Test
    void strandedHold_overALostOne_leavesThatToUnlock() {
        lock();
        redis.del(KEY);
        lock();
        fail("release", broken);
        clock.advanceMillis(1);
        assertThatThrownBy(sync::unlock).isSameAs(broken);
        assertThat(sync.hasPossession()).as("the lost hold").isTrue();
        assertThatThrownBy(sync::unlock).isInstanceOf(LockLostException.class);
        assertThat(sync.hasPossession()).isFalse();
    }

    @Test
    void tryWhoseTimeWasTooShort_isBusyIfOthersWereAnsweredMeanwhile() {
        long began = clock.nanoTime();
        heard.monitored.run(Scripts.locked(sync.keys()), MILLI);
        heardSync.engine.entries.notAnswered(heardSync, began, true);
        assertThat(told).containsExactly("BUSY");
    }

    @Test
    void tryWithoutATime_thatWasNotAnswered_isUnknown() {
        long began = clock.nanoTime();
        heard.monitored.run(Scripts.locked(sync.keys()), MILLI);
        clock.advanceMillis(7);
        assertThatThrownBy(() -> heardSync.engine.entries.notAnswered(heardSync, began, false))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining(" 7 ms");
        assertThat(told).containsExactly("FAILED");
    }

    @Test
    void tryWhoseTimeWasTooShort_isUnknownIfNobodyWasAnsweredMeanwhile() {
        heard.monitored.run(Scripts.locked(sync.keys()), MILLI);
        clock.advanceMillis(1);
        assertThatThrownBy(() -> heardSync.engine.entries.notAnswered(heardSync, clock.nanoTime(), true))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(told).containsExactly("FAILED");
    }

    @Test
    void tryWhoseTimeWasTooShort_isUnknownIfRedisIsAwayNow() {
        long began = clock.nanoTime();
        heard.monitored.run(Scripts.locked(sync.keys()), MILLI);
        clock.advanceMillis(1);
        fail("locked", unanswered());
        assertThatThrownBy(
                        () -> heard.monitored.run(Scripts.locked(sync.keys()), Settings.DEFAULTS.commandTimeoutNanos()))
                .isInstanceOf(RedisException.class);
        clock.advanceMillis(2_000);
        assertThatThrownBy(() -> heardSync.engine.entries.notAnswered(heardSync, began, true))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(told).containsExactly("FAILED");
    }

    @Test
    void handleThatIsGone_whenItsReleaseArrives_isLost() throws InterruptedException {
        List<Boolean> ends = new CopyOnWriteArrayList<>();
        Hold hold = handle();
        redis.del(KEY);
        sync.releaseHandleLater(hold, 0, ends::add);
        answerPending(client);
        await().until(() -> ends.equals(List.of(false)));
        assertThat(hold.isLost()).isTrue();
        assertThat(client.holds.all()).isEmpty();
    }

    /** While a request is under way, the lease ends, and Redis forgets the hold by itself. */
    private void expiresDuring(String script, ThrowingCallable call) {
        sync.lock(100, false);
        during(script, () -> clock.advanceMillis(101));
        assertThatThrownBy(call).isInstanceOf(LockLostException.class).hasMessageContaining("EXPIRED");
    }

    @Test
    void unlock_answeredAfterTheEndOfTheLease_reportsThatEnd() {
        expiresDuring("free", sync::unlock);
    }

    @Test
    void await_answeredAfterTheEndOfTheLease_reportsThatEnd() {
        expiresDuring("await", () -> client.condition(sync, "c").await());
    }

    @Test
    void signal_answeredAfterTheEndOfTheLease_reportsThatEnd() {
        expiresDuring("signal", () -> client.condition(sync, "c").signal());
    }
}
