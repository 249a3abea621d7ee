package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.PendingCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** To whom the local turn goes, and what is left to the background, in a client in which nothing else happens. */
@Timeout(30)
class HandoffStepsTest extends StillClient {

    private static final Answer GRANTED = new Answer.Granted(6, true);

    private final Handoff handoff = client.handoff();

    private void handOn(Attempt from, Attempt to, Answer answer) {
        Hold hold = hold(from);
        hold.names(to);
        clock.advanceMillis(1);
        handoff.handOn(hold, answer, clock.nanoTime());
    }

    @Test
    void turnWithoutASuccessor_ends() {
        Attempt holder = enter();
        handOn(holder, null, GRANTED);
        assertThat(client.localQueue().size()).isZero();
    }

    @Test
    void turnOfAReleaseThatGaveTheLockToNobodyHere_goesToTheNext() {
        Attempt holder = enter();
        Attempt next = enter();
        handOn(holder, next, Answer.Word.HANDED_ON);
        assertThat(next.isBehind()).isFalse();
        assertThat(next.undecided()).isTrue();
    }

    @Test
    void successorThatWasGrantedTheLock_hasTheTurnAndTheGrant() {
        Attempt holder = enter();
        Attempt next = enter();
        handOn(holder, next, GRANTED);
        assertThat(next.isBehind()).isFalse();
        long deadline = clock.nanoTime() + Timing.validityNanos(LEASE);
        assertThat(next.verdict()).isEqualTo(new Attempt.Grant(6, true, deadline, clock.nanoTime() - MILLI, true));
        assertThat(commands()).isEmpty();
    }

    @Test
    void successorThatWasQueued_hasTheTurnAndThePlace() {
        Attempt holder = enter();
        Attempt next = enter();
        handOn(holder, next, new Answer.Queued(6, 400));
        assertThat(next.position()).isEqualTo(new Attempt.QueuePosition(clock.nanoTime(), 6));
        assertThat(next.undecided()).isTrue();
        assertThat(client.watchdog().isIdle()).isTrue();
        clock.advanceMillis(401);
        assertThat(client.watchdog().isIdle()).as("its heartbeat is due").isFalse();
    }

    /** Its place tells it when the holder's lease ends. */
    @Test
    void successorThatIsQueuedWhileItEnters_asksAtThatTime() {
        AtomicBoolean handedOn = new AtomicBoolean();
        AtomicReference<@Nullable Runnable> step = new AtomicReference<>();
        Clock stepping = new Clock() {
            @Override
            public long nanoTime() {
                Runnable due = step.get();
                if (due != null) {
                    due.run();
                }
                return clock.nanoTime();
            }

            @Override
            public void park(Object blocker, long nanos) {
                clock.park(blocker, nanos);
            }
        };
        Inside other = Inside.of(new LockClient("other", client.settings(), List.of(), stepping, redis));
        Attempt holder = of(other);
        other.localQueue().enter(holder);
        Attempt next = of(other);
        long sent = clock.nanoTime();
        step.set(() -> {
            // As soon as it stands there.
            if (other.localQueue().successor(keys, holder.number) != null && handedOn.compareAndSet(false, true)) {
                Hold hold = hold(holder);
                hold.names(next);
                other.handoff().handOn(hold, new Answer.Queued(6, 40), sent);
            }
        });
        other.acquisitions().of(next, WaitLimit.endless(), null, true).begin();
        stepping.nanoTime();
        assertThat(handedOn).isTrue();
        assertThat(next.nextHeartbeatNanos()).isEqualTo(sent + 41 * MILLI);
    }

    private Attempt of(Inside other) {
        Attempt attempt = other.attempts()
                .make(keys, other.owners().caller(), new Attempt.Request(LEASE, true, false), WaitLimit.endless());
        other.attempts().begin(attempt);
        return attempt;
    }

    /** One that stands in the local queue, and counts how often it is woken. */
    private Attempt enter(AtomicInteger woken) {
        HandleOwner owner = client.owners().handle(woken, loss -> {});
        owner.wakes(woken::incrementAndGet);
        Attempt attempt =
                client.attempts().make(keys, owner, new Attempt.Request(LEASE, true, false), WaitLimit.endless());
        client.attempts().begin(attempt);
        client.localQueue().enter(attempt);
        return attempt;
    }

    /** An error may have kept the thread that gave it the turn from waking it. */
    @Test
    void successorThatHasTheTurnAlready_isWokenOnceMore() {
        AtomicInteger woken = new AtomicInteger();
        Attempt holder = enter();
        Attempt next = enter(woken);
        PendingCommand release = releaseLater(holder, next);
        client.localQueue().exit(keys, holder.number);
        assertThat(woken).hasValue(1);
        handOn(holder, next, Answer.Word.HANDED_ON);
        assertThat(woken).hasValue(2);
        release.giveUp();
        assertThat(woken).hasValue(3);
    }

    @Test
    void successorThatWasGrantedTheLock_isWokenOnce() {
        AtomicInteger woken = new AtomicInteger();
        handOn(enter(), enter(woken), GRANTED);
        assertThat(woken).hasValue(1);
    }

    /** It slept on until it had the turn. */
    @Test
    void successorThatKnewOfItsGrantBefore_isWokenForTheTurn() {
        for (Answer answer : List.of(GRANTED, new Answer.Queued(6, 400))) {
            AtomicInteger woken = new AtomicInteger();
            Attempt holder = enter();
            Attempt next = enter(woken);
            Attempt.Grant told = new Attempt.Grant(6, false, 0, clock.nanoTime(), false);
            next.decide(told);
            handOn(holder, next, answer);
            assertThat(woken).hasValue(2);
            assertThat(next.verdict()).isSameAs(told);
            assertThat(next.isBehind()).isFalse();
            client.localQueue().exit(keys, next.number);
        }
    }

    /** Does something on a thread of its own, which waits a moment for the background. */
    private Thread inTheForeground(Runnable work) {
        Thread thread = new Thread(work);
        thread.start();
        await().until(() -> clock.isParked(thread));
        return thread;
    }

    @Test
    void successorThatHasGone_isTakenOutBeforeTheTurnGoesOn() throws InterruptedException {
        Attempt holder = enter();
        Attempt gone = enter();
        Attempt next = enter();
        client.localQueue().leave(gone);
        Thread unlock = inTheForeground(() -> handOn(holder, gone, GRANTED));
        Call leave = command().call();
        assertThat(leave.script().name()).isEqualTo("leave");
        assertThat(leave.args()).contains(Long.toString(gone.number), Long.toString(next.number));
        assertThat(next.isBehind()).isTrue();
        answer(command(), "GRANTED", 7L, 0L, 0L);
        unlock.join();
        assertThat(next.isBehind()).isFalse();
        assertThat(next.verdict())
                .isInstanceOfSatisfying(
                        Attempt.Grant.class, grant -> assertThat(grant.token()).isEqualTo(7));
        assertThat(command().isDone()).isTrue();
    }

    @Test
    void successorsThatHaveGone_areTakenOutOneAfterAnother() throws InterruptedException {
        Attempt holder = enter();
        Attempt gone = enter();
        Attempt alsoGone = enter();
        client.localQueue().leave(gone);
        Thread unlock = inTheForeground(() -> handOn(holder, gone, GRANTED));
        PendingCommand first = command();
        client.localQueue().leave(alsoGone);
        answer(first, "GRANTED", 7L, 0L, 0L);
        PendingCommand second = commands().get(1);
        assertThat(second.call().args()).contains(Long.toString(alsoGone.number));
        assertThat(clock.isParked(unlock)).as("it waits for that as well").isTrue();
        answer(second, "FREED", 0L);
        unlock.join();
        assertThat(client.localQueue().size()).isZero();
    }

    @Test
    void unlock_waitsForTheBackgroundNoLongerThanAMoment_andKeepsAnInterrupt() throws InterruptedException {
        Attempt holder = enter();
        Attempt gone = enter();
        client.localQueue().leave(gone);
        AtomicBoolean interrupted = new AtomicBoolean();
        Thread unlock = inTheForeground(() -> {
            handOn(holder, gone, GRANTED);
            interrupted.set(Thread.currentThread().isInterrupted());
        });
        unlock.interrupt();
        clock.advanceMillis(49);
        await().until(() -> clock.isParked(unlock));
        clock.advanceMillis(1);
        unlock.join();
        assertThat(interrupted).isTrue();
        assertThat(command().isDone()).isFalse();
    }

    @Test
    void leaveThatIsNotAnswered_isNotWaitedForAnyLonger() throws InterruptedException {
        Attempt leaving = enter();
        leaving.known();
        Thread thread = inTheForeground(() -> handoff.depart(leaving));
        command().failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        thread.join();
        assertThat(client.attempts().isUnderWay(leaving)).isFalse();
        assertThat(client.localQueue().size())
                .as("the leave still has the turn")
                .isEqualTo(1);
        command().giveUp();
        assertThat(client.localQueue().size()).isZero();
    }

    @Test
    void attemptThatOnlyWaitedHere_leavesWithoutARequest() {
        enter();
        Attempt waiting = enter();
        waiting.known();
        handoff.depart(waiting);
        assertThat(commands()).isEmpty();
        assertThat(client.attempts().isUnderWay(waiting)).isFalse();
        assertThat(waiting.isBehind()).isTrue();
    }

    @Test
    void attemptThatRedisDoesNotKnow_leavesWithoutARequest() {
        Attempt asking = enter();
        handoff.depart(asking);
        assertThat(commands()).isEmpty();
        assertThat(client.localQueue().size()).isZero();
        assertThat(client.attempts().isUnderWay(asking)).isFalse();
    }

    /** The server has said nothing since this client began to wait for an answer. */
    private void silence() {
        long sent = clock.nanoTime();
        clock.advanceMillis(10_000);
        client.monitored()
                .of(keys.lock())
                .failed(
                        Inspections.locked(keys),
                        new RedisException.Unanswered("away", true, null),
                        sent,
                        2_000 * MILLI,
                        clock.nanoTime());
        clock.advanceMillis(1);
    }

    @Test
    void attemptWhoseServerIsAway_leavesInTheBackground_andItsTurnGoesOn() {
        Attempt leaving = enter();
        Attempt next = enter();
        leaving.known();
        silence();
        handoff.depart(leaving);
        assertThat(next.isBehind()).isFalse();
        assertThat(command().call().args()).doesNotContain(next.owner.id + ":" + next.number);
        answer(command(), "GRANTED", 7L, 0L, 0L);
        assertThat(next.undecided()).as("it was not named").isTrue();
    }

    @Test
    void attemptThatNobodyWaitsFor_leavesInTheBackground_andNamesItsSuccessor() {
        Attempt leaving = enter();
        Attempt next = enter();
        leaving.known();
        handoff.departLater(leaving);
        assertThat(client.attempts().isUnderWay(leaving)).isFalse();
        assertThat(next.isBehind()).as("the leave has the turn").isTrue();
        answer(command(), "GRANTED", 7L, 0L, 0L);
        assertThat(next.verdict()).isInstanceOf(Attempt.Grant.class);
    }

    @Test
    void attemptThatNobodyWaitsFor_keepsNobodyWaitingWhileItsServerIsAway() {
        Attempt leaving = enter();
        Attempt next = enter();
        leaving.known();
        silence();
        handoff.departLater(leaving);
        assertThat(next.isBehind()).isFalse();
        assertThat(commands()).hasSize(1);
    }

    /** The date of a request that was sent and is not over. */
    private ServerTimes.Date sent() {
        client.serverTimes().saw(redis.serverOf(keys.lock()), new Reply("LATE", List.of(1_000L)), clock.nanoTime());
        ServerTimes.Date date = client.serverTimes().date(clock.nanoTime(), 2_000 * MILLI);
        date.micros(redis.serverOf(keys.lock()));
        return date;
    }

    @Test
    void attemptInDoubt_namesNoSuccessor() throws InterruptedException {
        Attempt leaving = enter();
        Attempt next = enter();
        leaving.mayHaveRun(sent());
        Thread thread = inTheForeground(() -> handoff.depart(leaving));
        assertThat(next.isBehind()).as("it asks by itself").isFalse();
        answer(command(), "DONE", 30L);
        thread.join();
        assertThat(command().isDone()).as("a request may still run").isFalse();
        assertThat(command().nextTryNanos()).isEqualTo(clock.nanoTime() + 30 * MILLI);
        answer(command(), "DONE", 0L);
        assertThat(command().isDone()).isTrue();
    }

    /** The release asks for it. */
    @Test
    void successorThatWasToAsk_needNot_sinceItIsNamed() {
        Attempt holder = enter();
        Attempt next = enter();
        client.attempts().hurry();
        assertThat(next.isDoubted()).isTrue();
        assertThat(handoff.successor(hold(holder))).isSameAs(next);
        handOn(holder, next, new Answer.Queued(6, 30_000));
        assertThat(next.nextHeartbeatNanos()).isEqualTo(clock.nanoTime() + 1_500 * MILLI);
    }

    @Test
    void successorOfAHold_isTheFirstThatWaits_unlessItIsInDoubtOrTheClientCloses() {
        Attempt holder = enter();
        Attempt next = enter();
        Hold hold = hold(holder);
        assertThat(next.mayExistInRedis()).isFalse();
        assertThat(handoff.successor(hold)).isSameAs(next);
        assertThat(next.mayExistInRedis()).as("the release may put it there").isTrue();
        holder.mayHaveRun(sent());
        assertThat(handoff.successor(hold(holder))).isNull();
        client.attempts().close();
        assertThat(handoff.successor(hold)).isNull();
    }

    @Test
    void callerThatGoesByAnError_leavesWhateverItHas() throws InterruptedException {
        Attempt leaving = enter();
        leaving.known();
        leaving.decide(new Attempt.Grant(5, false, 1, 1, true));
        Thread thread = inTheForeground(() -> handoff.abandon(leaving));
        assertThat(leaving.hasFailed()).isTrue();
        answer(command(), "FREED", 0L);
        thread.join();
        assertThat(client.attempts().isUnderWay(leaving)).isFalse();
        handoff.abandon(leaving);
        assertThat(commands()).hasSize(1);
    }

    @Test
    void attemptThatItsThreadCouldNotEnd_isEndedByTheWatchdogWithoutWaiting() {
        Attempt stranded = enter();
        Attempt waiting = enter();
        stranded.known();
        waiting.known();
        handoff.rescue(waiting);
        assertThat(commands()).isEmpty();
        assertThat(waiting.hasFailed()).isTrue();
        handoff.rescue(stranded);
        assertThat(stranded.hasFailed()).isTrue();
        assertThat(client.attempts().isEmpty()).isTrue();
        answer(command(), "FREED", 0L);
        assertThat(client.localQueue().size()).isZero();
    }

    @Test
    void releaseThatItsThreadCouldNotEnd_isSentByTheWatchdog() {
        Attempt holder = enter();
        Attempt next = enter();
        Hold hold = hold(holder);
        hold.names(next);
        hold.stranded = true;
        handoff.rescue(hold);
        assertThat(hold.stranded).isFalse();
        assertThat(hold.isReleasing()).isTrue();
        assertThat(client.holds().all()).isEmpty();
        assertThat(command().call().script().name()).isEqualTo("release");
        answer(command(), "GRANTED", 6L, 0L, 0L);
        assertThat(next.verdict()).isInstanceOf(Attempt.Grant.class);
        assertThat(command().isDone()).isTrue();
    }

    @Test
    void lossThatItsThreadCouldNotEnd_isNotReleased() {
        Hold hold = hold(enter());
        hold.lose(LockLost.Reason.TAKEN);
        hold.stranded = true;
        handoff.rescue(hold);
        assertThat(hold.stranded).isFalse();
        assertThat(commands()).isEmpty();
        assertThat(client.holds().all()).containsExactly(hold);
    }

    private PendingCommand releaseLater(Attempt holder, Attempt next) {
        Hold hold = hold(holder);
        hold.names(next);
        handoff.releaseLater(hold, false);
        return command();
    }

    @Test
    void releaseWhoseSuccessorHasGone_isFollowedByItsLeave() {
        Attempt holder = enter();
        Attempt gone = enter();
        PendingCommand release = releaseLater(holder, gone);
        client.localQueue().leave(gone);
        answer(release, "GRANTED", 6L, 0L, 0L);
        PendingCommand leave = commands().get(1);
        assertThat(leave.call().args()).contains(Long.toString(gone.number));
        answer(leave, "FREED", 0L);
        assertThat(client.localQueue().size()).isZero();
    }

    @Test
    void releaseThatIsGivenUp_endsTheTurn() {
        Attempt holder = enter();
        Attempt next = enter();
        releaseLater(holder, next).giveUp();
        assertThat(next.isBehind()).isFalse();
    }

    private final List<Boolean> inGoodOrder = new ArrayList<>();

    /** Begins a release for which nobody waits, of a hold that is valid for 5 ms more. */
    private PendingCommand release(Hold hold, Attempt next) {
        hold.names(next);
        hold.beginRelease(clock.nanoTime());
        handoff.release(hold, true, clock.nanoTime() + 5 * MILLI, inGoodOrder::add);
        return command();
    }

    @Test
    void releaseForWhichNobodyWaits_handsOnAndIsToldOnce() {
        Attempt holder = enter();
        Attempt next = enter();
        PendingCommand release = release(hold(holder), next);
        assertThat(release.call().script().name()).isEqualTo("release");
        assertThat(inGoodOrder).isEmpty();
        answer(release, "GRANTED", 6L, 0L, 0L);
        assertThat(next.verdict()).isInstanceOf(Attempt.Grant.class);
        assertThat(release.isDone()).isTrue();
        release.giveUp();
        assertThat(inGoodOrder).containsExactly(true);
    }

    @Test
    void releaseForWhichNobodyWaits_thatFindsNothing_isALoss() {
        Hold hold = hold(enter());
        PendingCommand release = release(hold, null);
        answer(release, "GONE", 0L);
        assertThat(inGoodOrder).containsExactly(false);
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(release.isDone()).isTrue();
        assertThat(client.localQueue().size()).as("the turn ends with the loss").isEqualTo(1);
    }

    /** The earlier copy has found it. */
    @Test
    void releaseForWhichNobodyWaits_thatWasSentTwiceAndFindsNothing_isNoLoss() {
        Hold hold = hold(enter());
        PendingCommand release = release(hold, null);
        release.begin();
        release.call(clock.nanoTime(), MILLI);
        release.answered(new Reply("GONE", List.of(0L)).resentOnce(), clock.nanoTime());
        assertThat(inGoodOrder).containsExactly(true);
        assertThat(hold.isLost()).isFalse();
        assertThat(client.localQueue().size()).isZero();
    }

    @Test
    void releaseForWhichNobodyWaits_thatIsNotAnswered_goesOnAndCounts() {
        Hold hold = hold(enter());
        PendingCommand release = release(hold, null);
        clock.advanceMillis(4);
        release.failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        assertThat(inGoodOrder).containsExactly(true);
        assertThat(release.isDone()).isFalse();
        clock.advanceMillis(1_000);
        answer(release, "GONE", 0L);
        assertThat(hold.isLost()).as("the first copy may have found it").isFalse();
        assertThat(client.localQueue().size()).isZero();
        assertThat(inGoodOrder).containsExactly(true);
    }

    @Test
    void releaseForWhichNobodyWaits_thatIsNotAnsweredBeforeTheDeadline_isALoss() {
        Hold hold = hold(enter());
        PendingCommand release = release(hold, null);
        clock.advanceMillis(5);
        release.failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        assertThat(inGoodOrder).containsExactly(false);
        assertThat(hold.isReleasedTooLate()).isTrue();
        answer(release, "FREED", 0L);
        assertThat(client.localQueue().size()).isZero();
        assertThat(inGoodOrder).containsExactly(false);
    }

    @Test
    void releaseForWhichNobodyWaits_thatIsGivenUp_endsTheTurnAndIsTold() {
        PendingCommand release = release(hold(enter()), null);
        release.giveUp();
        assertThat(client.localQueue().size()).isZero();
        assertThat(inGoodOrder).containsExactly(true);
    }

    @Test
    void commands_lastAsLongAsWhatTheyWouldEnd() {
        Attempt holder = enter();
        PendingCommand release = releaseLater(holder, null);
        clock.advanceMillis(
                (2 * client.settings().commandTimeoutNanos() + client.settings().leftoverNanos(LEASE)) / MILLI);
        assertThat(release.isDue(clock.nanoTime())).isTrue();
        clock.advanceMillis(1);
        assertThat(release.isDue(clock.nanoTime())).isFalse();
        assertThat(release.isDone()).isTrue();
    }

    @Test
    void holdOfAThreadThatEnded_isLeftInTheBackground() {
        Attempt holder = enter();
        handoff.leaveLater(hold(holder));
        Call call = command().call();
        assertThat(call.script().name()).isEqualTo("leave");
        assertThat(call.args().subList(0, 3)).containsExactly(holder.owner.id, Long.toString(holder.number), "1");
        answer(command(), "FREED", 0L);
        assertThat(command().isDone()).isTrue();
    }

    @Test
    void leaveOfAnAttempt_waitsUntilItsHoldHasEnded() {
        Attempt holder = enter();
        handoff.leaveLater(holder);
        PendingCommand leave = command();
        assertThat(leave.need()).isEqualTo(PendingCommand.Need.NOW);
        Hold hold = hold(holder);
        assertThat(leave.need()).isEqualTo(PendingCommand.Need.LATER);
        hold.beginRelease(clock.nanoTime());
        assertThat(leave.need()).isEqualTo(PendingCommand.Need.LATER);
        hold.releaseFailed(false);
        assertThat(leave.need()).isEqualTo(PendingCommand.Need.NOW);
        client.holds().forget(hold);
        hold(enter());
        assertThat(leave.need()).as("of another attempt").isEqualTo(PendingCommand.Need.NOW);
    }

    /** The owner of a hold that is released while somebody looks whether its lock is to be kept. */
    private static final class SteppedOwner extends HandleOwner {

        private @Nullable Runnable step;

        SteppedOwner(Object handle) {
            super("client", 1, handle, loss -> {});
        }

        void step() {
            Runnable due = step;
            step = null;
            if (due != null) {
                due.run();
            }
        }

        @Override
        public long keepsMillis() {
            long seen = super.keepsMillis();
            step();
            return seen;
        }
    }

    /** A leave would free the lock. */
    @Test
    void leaveOfAnAttempt_waitsForAReleaseThatKeepsTheLock_alsoIfThatComesWhileItLooks() {
        SteppedOwner owner = new SteppedOwner(this);
        Attempt attempt =
                client.attempts().make(keys, owner, new Attempt.Request(LEASE, true, false), WaitLimit.endless());
        Hold hold = hold(attempt);
        handoff.leaveLater(attempt);
        owner.step = () -> {
            hold.keepFor(20_000);
            hold.beginRelease(clock.nanoTime());
            handoff.releaseLater(hold, false);
            client.holds().remove(hold);
        };
        PendingCommand leave = command();
        assertThat(leave.need()).isEqualTo(PendingCommand.Need.LATER);
        owner.step();
        assertThat(leave.need()).as("not answered").isEqualTo(PendingCommand.Need.LATER);
        PendingCommand release = commands().get(1);
        answer(release, "KEPT", 20_000L);
        assertThat(release.isDone()).isTrue();
        assertThat(leave.need()).isEqualTo(PendingCommand.Need.NOW);
    }

    @Test
    void leaveOfAnAttempt_saysWhetherItsHoldWasLost() {
        Attempt holder = enter();
        handoff.leaveLater(holder);
        assertThat(command().call().args().get(2)).isEqualTo("0");
        holder.had(() -> true);
        assertThat(command().call().args().get(2)).isEqualTo("1");
    }

    @Test
    void leaveOfAnAttemptThatWasGrantedTheLock_isSentAtOnce() {
        Attempt leaving = enter();
        handoff.leaveLater(leaving);
        command().failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        assertThat(command().isDue(clock.nanoTime())).isFalse();
        handoff.hasten(leaving.number + 1);
        assertThat(command().isDue(clock.nanoTime())).isFalse();
        handoff.hasten(leaving.number);
        assertThat(command().isDue(clock.nanoTime())).isTrue();
    }
}
