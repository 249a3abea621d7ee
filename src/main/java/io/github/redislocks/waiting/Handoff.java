package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.watchdog.PendingCommand;
import io.github.redislocks.watchdog.Watchdog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Hands a lock over inside one client when a hold or an attempt ends: names the first waiter of the local queue as
 * successor in the release or leave, and passes the local turn on according to the reply.
 *
 * <p>A command that names a successor is repeated with the same successor until it is answered. If Redis has granted
 * the lock to the successor, or queued it, but the successor has given up meanwhile, then a leave takes it out of Redis
 * and names the next local waiter as its successor. So a thread in the local queue can give up without a request.
 *
 * <p>An attempt in doubt names no successor. It is in doubt if one of its requests was not answered, was sent more than
 * once, or is under way. If such a request ran late, a late copy of a release or leave could run after it, and make a
 * successor the owner that has ended long ago. In that case the next waiter of the local queue asks Redis itself.
 */
public final class Handoff implements Renewals.Rescue {

    /**
     * How long a caller that gives up or unlocks waits until nothing of its attempt is left in Redis. After that, the
     * work goes on in the background.
     */
    private static final long MOMENT_NANOS = 50_000_000;

    /** The pause before replicas are asked again whether they know that a released lock stays taken. */
    private static final long UNCONFIRMED_PAUSE_NANOS = 1_000_000_000;

    private final Clock clock;
    private final Settings settings;
    private final MonitoredRedis redis;
    private final Holds holds;
    private final LocalQueue localQueue;
    private final Attempts attempts;
    private final Mailbox mailbox;
    private final Watchdog watchdog;
    private final Losses losses;

    public Handoff(
            RedisAccess access,
            Holds holds,
            LocalQueue localQueue,
            Attempts attempts,
            Mailbox mailbox,
            Watchdog watchdog,
            Losses losses) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.redis = access.monitored();
        this.holds = holds;
        this.localQueue = localQueue;
        this.attempts = attempts;
        this.mailbox = mailbox;
        this.watchdog = watchdog;
        this.losses = losses;
    }

    /**
     * Chooses the successor that a hold's release names; from now on Redis may know it. Null if there is none, if the
     * hold's attempt is in doubt, or if the lock is to stay taken.
     */
    @Nullable
    public Attempt successor(Hold hold) {
        return hold.inDoubt || hold.isToKeep() ? null : successor(hold.keys(), hold.attempt);
    }

    /**
     * Makes the call that releases a hold, with the successor that the hold names.
     *
     * @param keepTurn whether the successor goes before waiters of other clients
     */
    public Call releaseOf(Hold hold, boolean keepTurn) {
        return hold.isToKeep()
                ? Scripts.releaseAfter(hold).with(settings.acks())
                : Scripts.release(hold, hold.successor(), keepTurn, mailbox.isOpen());
    }

    private @Nullable Attempt successor(LockKeys keys, long contender) {
        // While the client closes, name no successor: the waiting thread will not be there to take the lock over.
        Attempt successor = attempts.isClosed() ? null : localQueue.successor(keys, contender);
        if (successor != null) {
            successor.named();
        }
        return successor;
    }

    /** The rest of the work in Redis for a departing thread, which waits a moment for it. */
    private static final class Remainder {

        private final Thread thread = Thread.currentThread();
        private final AtomicInteger left;

        Remainder(int count) {
            left = new AtomicInteger(count);
        }

        /** Notes that one part is done, or that Redis does not answer, and wakes the thread. */
        void end() {
            left.decrementAndGet();
            LockSupport.unpark(thread);
        }

        boolean isOver() {
            return left.get() <= 0;
        }
    }

    /**
     * Passes the local turn on according to the reply to a release. If the named successor has given up meanwhile,
     * takes it out of Redis, and waits for that a moment at most. Otherwise, after unlock() has returned, the lock
     * could be neither held nor free.
     */
    public void handOn(
            LockKeys keys,
            long contender,
            @Nullable Attempt successor,
            long turnStartNanos,
            Answer answer,
            long sentNanos) {
        Attempt gone = inherit(keys, contender, successor, turnStartNanos, answer, sentNanos);
        if (gone != null) {
            Remainder rest = new Remainder(1);
            watchdog.run(new Leave(gone, new Turn(contender), rest));
            await(rest, clock.nanoTime());
        }
    }

    /**
     * Gives the local turn to the successor, and returns null. But if Redis has granted it the lock or queued it, and
     * the successor has given up, returns the successor, and the turn stays where it is.
     */
    private @Nullable Attempt inherit(
            LockKeys keys,
            long contender,
            @Nullable Attempt successor,
            long turnStartNanos,
            Answer answer,
            long sentNanos) {
        boolean named = answer instanceof Answer.Granted || answer instanceof Answer.Queued;
        if (successor == null || !named) {
            localQueue.exit(keys, contender);
            wake(successor);
            return null;
        }
        if (!localQueue.inherit(contender, successor)) {
            return successor;
        }
        boolean undecided = successor.undecided();
        if (answer instanceof Answer.Granted granted) {
            long deadline = sentNanos + Timing.validityNanos(successor.leaseMillis);
            undecided = successor.decide(
                    new Attempt.Grant(granted.token(), granted.previousLost(), deadline, turnStartNanos, true));
        } else if (answer instanceof Answer.Queued queued) {
            successor.queued(sentNanos, queued.lastToken(), queued.holderMillis());
            watchdog.wakeAt(successor.nextHeartbeatNanos());
            undecided = successor.undecided();
        }
        if (!undecided) {
            // A message brought a grant before this reply came, and the successor has slept since, because it did not
            // have the turn.
            successor.owner.wake();
        }
        return null;
    }

    /**
     * Wakes a successor: an earlier reply may have given it the turn, and an error may have kept it from being woken.
     */
    private static void wake(@Nullable Attempt successor) {
        if (successor != null) {
            successor.owner.wake();
        }
    }

    /**
     * Removes an attempt from the local queue and from Redis, since its caller has given up. Returns when that is done,
     * or after a moment; the rest then goes on in the background.
     */
    public void depart(Attempt attempt) {
        if (localQueue.leave(attempt) != LocalQueue.Left.WAITING) {
            leaveRedis(attempt);
        }
        attempts.end(attempt);
    }

    /** As {@link #depart}, without waiting. */
    public void departLater(Attempt attempt) {
        if (localQueue.leave(attempt) != LocalQueue.Left.WAITING) {
            leaves(attempt, redis.of(attempt.keys.lock()).silence(clock.nanoTime()) > 0, null);
        }
        attempts.end(attempt);
    }

    private void leaveRedis(Attempt attempt) {
        boolean away = redis.of(attempt.keys.lock()).silence(clock.nanoTime()) > 0;
        Remainder rest = new Remainder(1);
        if (leaves(attempt, away, rest) && !away) {
            await(rest, clock.nanoTime());
        }
    }

    /**
     * Begins to take an attempt out of Redis; returns whether it may have anything there.
     *
     * @param away whether Redis does not answer at present
     */
    private boolean leaves(Attempt attempt, boolean away, @Nullable Remainder rest) {
        Turn turn = away || !attempt.mayExistInRedis() || attempt.isInDoubt() ? null : new Turn(attempt.number);
        if (attempt.mayExistInRedis()) {
            watchdog.run(new Leave(attempt, turn, rest));
        }
        if (turn == null) {
            // The threads in the local queue need not wait for the leave, so pass the turn on now.
            localQueue.exit(attempt.keys, attempt.number);
        }
        return attempt.mayExistInRedis();
    }

    /**
     * Takes an attempt whose call ends by an exception or error out of the local queue and out of Redis. After a
     * further error, the watchdog does the rest.
     */
    public void abandon(Attempt attempt) {
        try {
            if (attempts.isUnderWay(attempt)) {
                leaveForGood(attempt);
                depart(attempt);
            }
        } catch (Throwable e) {
            strand(attempt);
            throw e;
        }
    }

    /** Leaves an attempt whose thread has met an error to the watchdog. */
    public void strand(Attempt attempt) {
        // Set the mark first: the watchdog's next inspection finds it even if there is no stack for the call below.
        attempt.stranded = true;
        watchdog.wakeNow();
    }

    /** Leaves the release of a hold whose thread has met an error to the watchdog. */
    public void strand(Hold hold) {
        hold.stranded = true;
        watchdog.wakeNow();
    }

    private static void leaveForGood(Attempt attempt) {
        while (!attempt.leave(attempt.verdict())) {
            // A grant or a failure came at this moment: try again with the new verdict.
            Thread.onSpinWait();
        }
    }

    /** Ends an attempt on behalf of its caller, which an error has ended. Does not wait. */
    public void rescue(Attempt attempt) {
        leaveForGood(attempt);
        departLater(attempt);
    }

    /** Continues or begins a release that the owner's thread could not complete. Called by the watchdog. */
    @Override
    public void rescue(Hold hold) {
        hold.beginRelease(clock.nanoTime());
        if (hold.isReleasing()) {
            releaseLater(hold, releaseOf(hold, false), hold.successor());
            holds.remove(hold);
        }
        hold.stranded = false;
        hold.keeper().rescued(hold);
    }

    /**
     * Releases holds that no caller got. Returns when they are released. Waits for that a moment at most, counted from
     * {@code byNanos} if that time has passed; the rest is done in the background.
     */
    public void giveBack(List<Hold> holdsOfNobody, long byNanos) {
        Remainder rest = new Remainder(holdsOfNobody.size());
        boolean away = false;
        for (Hold hold : holdsOfNobody) {
            long now = clock.nanoTime();
            away |= redis.of(hold.lock()).silence(now) > 0;
            hold.beginRelease(now);
            if (hold.isReleasing()) {
                hold.names(successor(hold));
                watchdog.run(new GivenBack(hold, rest));
            } else {
                losses.isValid(hold);
                rest.end();
            }
            holds.remove(hold);
        }
        if (!away) {
            await(rest, Math.min(byNanos, clock.nanoTime()));
        }
    }

    /** Waits for a moment from {@code fromNanos} on. An interrupt does not end the wait; its flag is set again. */
    private void await(Remainder rest, long fromNanos) {
        long until = fromNanos + MOMENT_NANOS;
        boolean interrupted = false;
        while (!rest.isOver() && clock.nanoTime() < until) {
            clock.parkUntil(this, until);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Takes an attempt that has ended out of Redis, in the background. If it led to a hold, does so after the hold has
     * ended.
     */
    public void leaveLater(Attempt attempt) {
        watchdog.run(new Leave(attempt, null, null));
    }

    /** Ends in Redis, in the background, a hold that its thread left behind. */
    @Override
    public void leaveLater(Hold hold) {
        Call call = Scripts.leave(hold.keys(), hold.owner, hold.attempt, true, null, false);
        watchdog.run(new HoldEnd(hold.lock(), hold.longestLeaseMillis(), call));
    }

    @Override
    public void releaseAgain(Holds.Released released) {
        watchdog.run(new HoldEnd(released.keys().lock(), settings.leaseMillis(), Scripts.releaseAgain(released)));
    }

    /** Repeats a release that was not answered in time, in the background, until it is answered. */
    public void releaseLater(Hold hold, Call call, @Nullable Attempt successor) {
        watchdog.run(new Release(hold, call, successor));
    }

    /**
     * Sends in the background, until it is answered, the release of a hold whose end has begun.
     *
     * @param keep whether the successor goes before waiters of other clients
     * @param untilNanos the deadline of the hold
     * @param onEnd called once with whether the hold ends without a loss, as soon as that is known: after the first
     *     answer, or once it is clear that none comes
     */
    public void release(Hold hold, boolean keep, long untilNanos, ReleaseEnd onEnd) {
        watchdog.run(new FirstRelease(hold, releaseOf(hold, keep), untilNanos, onEnd));
    }

    /** Whether one request may release several holds. */
    public boolean mayReleaseTogether() {
        return redis.hasOneSlot();
    }

    /**
     * Does for each hold what {@link #release} does, without successors. One request ends the holds whose locks have no
     * waiters.
     */
    public void releaseTogether(List<? extends Leaving> holds) {
        List<FirstRelease> parts = new ArrayList<>(holds.size());
        for (Leaving leaving : holds) {
            Call alone = releaseOf(leaving.hold(), false);
            parts.add(new FirstRelease(leaving.hold(), alone, leaving.untilNanos(), leaving));
        }
        watchdog.run(parts.size() == 1 ? parts.get(0) : new ReleaseTogether(parts));
    }

    /** The receiver of the result of a release. */
    @FunctionalInterface
    public interface ReleaseEnd {

        /** Whether the hold ended without a loss. */
        void ended(boolean inGoodOrder);
    }

    /** A hold of a client that keeps locks, whose release has begun. */
    public interface Leaving extends ReleaseEnd {

        Hold hold();

        /** The deadline of the hold. */
        long untilNanos();
    }

    /** Sends the leaves of an attempt that has ended at once, since it was granted the lock. */
    public void hasten(long attempt) {
        for (PendingCommand command : watchdog.commands()) {
            if (command instanceof Leave leave && leave.gone.number == attempt) {
                watchdog.hasten(command);
            }
        }
    }

    /** The latest time at which something that an unanswered request left behind may still be in Redis. */
    private long untilNanos(long leaseMillis) {
        return clock.nanoTime() + 2 * settings.commandTimeoutNanos() + settings.leftoverNanos(leaseMillis);
    }

    /**
     * Whether an attempt that has ended may leave Redis now. If it led to a hold, that must have ended and be released
     * first.
     */
    private PendingCommand.Need needOfLeaving(Attempt attempt) {
        Hold hold = holds.get(attempt.keys, attempt.owner.holder);
        // A leave would end a hold that is still held. A leave that overtakes the release would make the release find
        // nothing, which would be taken for a loss.
        if (hold != null && hold.attempt == attempt.number && hold.isOpenOrReleasing()) {
            return PendingCommand.Need.LATER;
        }
        // A leave would free a lock that the release keeps taken (releaseAfter), and the release may still be under way
        // after the hold was removed from `holds`. Look at the commands after `holds`, not before: a release is added
        // to the commands before its hold is removed, so one of the two looks finds it.
        return attempt.owner.keepsMillis() > 0 && isBeingReleased(attempt)
                ? PendingCommand.Need.LATER
                : PendingCommand.Need.NOW;
    }

    /** Whether the release of an attempt's hold is still under way in the background. */
    private boolean isBeingReleased(Attempt attempt) {
        for (PendingCommand command : watchdog.commands()) {
            if (command instanceof Release release && release.hold.attempt == attempt.number && !release.isDone()) {
                return true;
            }
        }
        return false;
    }

    /** A pending command that ends a hold in Redis. */
    private class HoldEnd extends PendingCommand {

        private final Call call;

        HoldEnd(String lock, long leaseMillis, Call call) {
            super(clock, lock, untilNanos(leaseMillis));
            this.call = call;
        }

        @Override
        public Call call() {
            return call;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            return DONE;
        }
    }

    /** The release of a hold, which passes the local turn on according to the answer. */
    private class Release extends HoldEnd {

        final Hold hold;
        private final @Nullable Attempt successor;

        Release(Hold hold, Call call, @Nullable Attempt successor) {
            super(hold.lock(), hold.longestLeaseMillis(), call);
            this.hold = hold;
            this.successor = successor;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            Answer answer = Answer.of(reply);
            Attempt gone = inherit(hold.keys(), hold.attempt, successor, hold.turnStartNanos, answer, sentNanos);
            if (gone != null) {
                watchdog.run(new Leave(gone, new Turn(hold.attempt), null));
            }
            if (answer == Answer.Word.KEPT && !redis.isAcknowledged(key(), reply, sentNanos)) {
                return UNCONFIRMED_PAUSE_NANOS;
            }
            return DONE;
        }

        @Override
        public void giveUp() {
            localQueue.exit(hold.keys(), hold.attempt);
            wake(successor);
        }
    }

    /** The release of a hold that no caller got, for which a departing thread waits a moment. */
    private final class GivenBack extends Release {

        private final Remainder rest;
        private boolean ended;

        GivenBack(Hold hold, Remainder rest) {
            super(hold, Scripts.release(hold, hold.successor(), false, mailbox.isOpen()), hold.successor());
            this.rest = rest;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            long wait = super.follow(reply, sentNanos);
            unanswered();
            return wait;
        }

        @Override
        public void unanswered() {
            if (!ended) {
                ended = true;
                rest.end();
            }
        }
    }

    /** A release that has not been sent before, so that its first answer says whether the hold was still there. */
    private final class FirstRelease extends Release {

        private final long untilNanos;
        private final ReleaseEnd onEnd;
        private boolean ended;
        /** Whether a request for several holds may have ended this hold, or may still do so. */
        private boolean sentBefore;

        FirstRelease(Hold hold, Call call, long untilNanos, ReleaseEnd onEnd) {
            super(hold, call, hold.successor());
            this.untilNanos = untilNanos;
            this.onEnd = onEnd;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            if (!ended
                    && !sentBefore
                    && !wasSentBefore()
                    && Answer.isGone(reply)
                    && !reply.resent()
                    && hold.releaseFailed(clock.nanoTime() >= untilNanos)) {
                // The hold was lost. end(false) reports the loss, which also ends the turn, so super.follow() must not
                // hand the lock on.
                end(false);
                return DONE;
            }
            long wait = super.follow(reply, sentNanos);
            end(true);
            return wait;
        }

        @Override
        public void unanswered() {
            end(clock.nanoTime() < untilNanos || !hold.releasedTooLate());
        }

        @Override
        public void giveUp() {
            super.giveUp();
            unanswered();
        }

        private void end(boolean inGoodOrder) {
            if (!ended) {
                ended = true;
                onEnd.ended(inGoodOrder);
            }
        }
    }

    /**
     * The first releases of several holds by one request. The holds that it does not end are then released one by one.
     */
    private final class ReleaseTogether extends PendingCommand {

        private final List<FirstRelease> parts;

        ReleaseTogether(List<FirstRelease> parts) {
            super(
                    clock,
                    parts.get(0).hold.lock(),
                    untilNanos(parts.stream()
                            .mapToLong(part -> part.hold.longestLeaseMillis())
                            .max()
                            .orElse(0)));
            this.parts = parts;
        }

        @Override
        public Call call() {
            return Scripts.giveUp(parts.stream().map(part -> part.hold).toList());
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            boolean second = wasSentBefore() || reply.resent();
            for (int i = 0; i < parts.size(); i++) {
                FirstRelease part = parts.get(i);
                if (Answer.isFreed(reply, i)) {
                    localQueue.exit(part.hold.keys(), part.hold.attempt);
                    part.end(true);
                } else {
                    part.sentBefore |= second;
                    watchdog.run(part);
                }
            }
            return DONE;
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            if (failure.isPermanent()) {
                // Perhaps only one of the holds was refused. Send each release by itself, so that the others need not
                // wait for that one.
                redis.refused(failure);
                for (FirstRelease part : parts) {
                    part.sentBefore = true;
                    watchdog.run(part);
                }
                done();
            } else {
                super.failed(failure, sentNanos);
            }
        }

        @Override
        public void unanswered() {
            parts.forEach(FirstRelease::unanswered);
        }

        @Override
        public void giveUp() {
            parts.forEach(FirstRelease::giveUp);
        }
    }

    /** The turn in the local queue that a leave hands on. */
    private record Turn(long contender) {}

    /**
     * A pending command that takes an attempt that has ended out of Redis. It is repeated while an unanswered request
     * of the attempt may still run and put something there; each reply says for how long one may.
     */
    private final class Leave extends PendingCommand {

        private final Attempt gone;
        private final @Nullable Attempt successor;
        private final boolean takePlace;
        private final @Nullable Remainder rest;
        private @Nullable Turn turn;

        /**
         * Makes a leave.
         *
         * @param turn the turn that the reply passes on, or null
         * @param rest notified when the leave was answered, or null
         */
        Leave(Attempt gone, @Nullable Turn turn, @Nullable Remainder rest) {
            super(clock, gone.keys.lock(), untilNanos(gone.leaseMillis));
            this.gone = gone;
            this.turn = turn;
            this.rest = rest;
            this.successor = turn == null ? null : successor(gone.keys, turn.contender);
            this.takePlace = mailbox.isOpen();
        }

        @Override
        public Call call() {
            return Scripts.leave(gone, losses.hasLost(gone), turn == null ? null : successor, takePlace);
        }

        @Override
        public Need need() {
            return needOfLeaving(gone);
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            Turn handedOn = turn;
            Attempt next = handedOn == null
                    ? null
                    : inherit(gone.keys, handedOn.contender, successor, clock.nanoTime(), Answer.of(reply), sentNanos);
            if (next == null) {
                unanswered();
            } else {
                watchdog.run(new Leave(next, handedOn, rest));
            }
            turn = null;
            long waitMillis = Answer.stillRunsMillis(reply);
            return waitMillis == 0 ? DONE : waitMillis * 1_000_000;
        }

        /** Ends the wait of the departing thread. */
        @Override
        public void unanswered() {
            if (rest != null) {
                rest.end();
            }
        }

        @Override
        public void giveUp() {
            if (turn != null) {
                localQueue.exit(gone.keys, turn.contender);
            }
        }
    }
}
