package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.redis.Call;
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
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Hands a lock over inside one client, when a hold or an attempt ends: names the first thread of the local queue as
 * successor in the release or the leave, and passes the local turn on as the reply says.
 *
 * <p>A call that names a successor looks after it: the same call with the same successor is sent until it is answered,
 * and a successor that Redis has served or queued, and that has given up meanwhile, is taken out of Redis, with the
 * next local waiter as its successor. So a thread in the local queue can give up without a request.
 *
 * <p>An attempt in doubt, of which a request was not answered, or not by its first copy, or is under way, names no
 * successor: if that request runs late, a late copy of a release or leave that named one would run as well, and make a
 * successor the owner that is long over. The next in the local queue asks by itself then.
 */
public final class Handoff implements Renewals.Rescue {

    /**
     * How long a caller that gives up or unlocks waits until nothing of it is left in Redis; the background goes on.
     */
    private static final long MOMENT_NANOS = 50_000_000;

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
            Clock clock,
            Settings settings,
            MonitoredRedis redis,
            Holds holds,
            LocalQueue localQueue,
            Attempts attempts,
            Mailbox mailbox,
            Watchdog watchdog,
            Losses losses) {
        this.clock = clock;
        this.settings = settings;
        this.redis = redis;
        this.holds = holds;
        this.localQueue = localQueue;
        this.attempts = attempts;
        this.mailbox = mailbox;
        this.watchdog = watchdog;
        this.losses = losses;
    }

    /** The successor of a hold's turn, now possibly known to Redis; or null, also if its attempt is in doubt. */
    @Nullable
    public Attempt successor(Hold hold) {
        return hold.inDoubt ? null : successor(hold.keys(), hold.attempt);
    }

    private @Nullable Attempt successor(LockKeys keys, long contender) {
        // A thread that waits while the client closes will not be there to take over.
        Attempt successor = attempts.isClosed() ? null : localQueue.successor(keys, contender);
        if (successor != null) {
            successor.known();
        }
        return successor;
    }

    /** What is left to do in Redis for a thread that goes, which waits for it a moment. */
    private static final class Remainder {

        private final Thread thread = Thread.currentThread();
        private volatile boolean over;

        /** It is done, or Redis does not answer. */
        void end() {
            over = true;
            LockSupport.unpark(thread);
        }
    }

    /**
     * Hands the turn on as an answer to a release says. A successor that has gone meanwhile is out of Redis on return,
     * unless that takes longer than a moment: else an unlock would leave a lock that nobody has, and that is not free.
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
            Remainder rest = new Remainder();
            watchdog.run(new Leave(gone, new Turn(contender), rest));
            await(rest);
        }
    }

    /**
     * Gives the turn to the successor; returns it if Redis has served it but it is no longer there, so the turn is
     * kept.
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
            lookUp(successor);
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
            // A message told of a grant before this answer, and the successor slept on until it had the turn.
            successor.owner.wake();
        }
        return null;
    }

    /** It may have the turn by an answer before this one, which an error kept it from being told of. */
    private static void lookUp(@Nullable Attempt successor) {
        if (successor != null) {
            successor.owner.wake();
        }
    }

    /**
     * Takes an attempt whose caller has given up out of the local queue and of Redis. Returns when it is done, or after
     * a moment what needs longer is left to the background.
     */
    public void depart(Attempt attempt) {
        if (localQueue.leave(attempt) != LocalQueue.Left.WAITING) {
            leaveRedis(attempt);
        }
        attempts.end(attempt);
    }

    /** As {@link #depart}, and waits for nothing. */
    public void departLater(Attempt attempt) {
        if (localQueue.leave(attempt) != LocalQueue.Left.WAITING) {
            leaves(attempt, redis.of(attempt.keys.lock()).silence(clock.nanoTime()) > 0, null);
        }
        attempts.end(attempt);
    }

    private void leaveRedis(Attempt attempt) {
        boolean away = redis.of(attempt.keys.lock()).silence(clock.nanoTime()) > 0;
        Remainder rest = new Remainder();
        if (leaves(attempt, away, rest) && !away) {
            await(rest);
        }
    }

    /** Begins to take an attempt out of Redis; whether it may have anything there. Away: whether nobody will answer. */
    private boolean leaves(Attempt attempt, boolean away, @Nullable Remainder rest) {
        Turn turn = away || !attempt.mayExistInRedis() || attempt.isInDoubt() ? null : new Turn(attempt.number);
        if (attempt.mayExistInRedis()) {
            watchdog.run(new Leave(attempt, turn, rest));
        }
        if (turn == null) {
            // The threads in the local queue do not wait for that.
            localQueue.exit(attempt.keys, attempt.number);
        }
        return attempt.mayExistInRedis();
    }

    /**
     * Takes an attempt out of the local queue and of Redis whose caller goes by an exception or error. If that throws
     * an error again, the rest is for the watchdog, to which the caller leaves it.
     */
    public void abandon(Attempt attempt) {
        if (attempts.isUnderWay(attempt)) {
            leaveForGood(attempt);
            depart(attempt);
        }
    }

    private static void leaveForGood(Attempt attempt) {
        while (!attempt.leave(attempt.verdict())) {
            // A grant or a failure came just now.
            Thread.onSpinWait();
        }
    }

    /** Ends an attempt for its caller, who has gone; waits for nothing. */
    public void rescue(Attempt attempt) {
        leaveForGood(attempt);
        departLater(attempt);
    }

    /** Goes on with a release that its thread could not end, or not even begin; by the watchdog. */
    @Override
    public void rescue(Hold hold) {
        hold.beginRelease(clock.nanoTime());
        if (hold.isReleasing()) {
            boolean takePlace = mailbox.isOpen();
            releaseLater(hold, Scripts.release(hold, hold.successor(), false, takePlace), hold.successor());
            holds.remove(hold);
        }
        hold.stranded = false;
    }

    /** Waits a moment; an interrupt does not end that and is kept. */
    private void await(Remainder rest) {
        long until = clock.nanoTime() + MOMENT_NANOS;
        boolean interrupted = false;
        while (!rest.over && clock.nanoTime() < until) {
            clock.parkUntil(this, until);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends in the background what an attempt that is over may have in Redis; if it has a hold, once that has ended. */
    public void leaveLater(Attempt attempt) {
        watchdog.run(new Leave(attempt, null, null));
    }

    /** Ends in the background a hold that its owner's thread left behind. */
    @Override
    public void leaveLater(Hold hold) {
        Call call = Scripts.leave(hold.keys(), hold.owner.id, hold.attempt, true, null, false);
        watchdog.run(new HoldEnd(hold, call));
    }

    /** Sends in the background, until it is answered, a release that was not answered in time. */
    public void releaseLater(Hold hold, Call call, @Nullable Attempt successor) {
        watchdog.run(new Release(hold, call, successor));
    }

    /**
     * Sends in the background, until it is answered, the release of a hold whose end has begun.
     *
     * @param keep whether the successor goes before waiters of other clients
     * @param untilNanos the deadline of the hold
     * @param onEnd told once whether the hold ends in good order, as soon as that is known: by the first answer, or
     *     because there was none
     */
    public void release(Hold hold, boolean keep, long untilNanos, ReleaseEnd onEnd) {
        Call call = Scripts.release(hold, hold.successor(), keep, mailbox.isOpen());
        watchdog.run(new FirstRelease(hold, call, untilNanos, onEnd));
    }

    /** Told what became of a release. */
    @FunctionalInterface
    public interface ReleaseEnd {

        /** Whether the hold ended in good order. */
        void ended(boolean inGoodOrder);
    }

    /** Has the leaves of an attempt that is over sent at once: it was granted the lock. */
    public void hasten(long attempt) {
        for (PendingCommand command : watchdog.commands()) {
            if (command instanceof Leave leave && leave.gone.number == attempt) {
                watchdog.hasten(command);
            }
        }
    }

    /** Until when a request that was not answered may leave something behind, and how long that may last. */
    private long untilNanos(long leaseMillis) {
        return clock.nanoTime() + 2 * settings.commandTimeoutNanos() + settings.leftoverNanos(leaseMillis);
    }

    /** Whether an attempt that has ended is to leave Redis: not while its hold is held, nor before that is released. */
    private PendingCommand.Need needOfLeaving(Attempt attempt) {
        Hold hold = holds.get(attempt.keys, attempt.owner.holder);
        if (hold == null || hold.attempt != attempt.number) {
            return PendingCommand.Need.NOW;
        }
        // Of a hold that is held it would be the end; and a leave that overtakes the release would make that find
        // nothing, and take it for a loss.
        return hold.isOpen() || hold.isReleasing() ? PendingCommand.Need.LATER : PendingCommand.Need.NOW;
    }

    /** The one call that ends a hold. */
    private class HoldEnd extends PendingCommand {

        private final Call call;

        HoldEnd(Hold hold, Call call) {
            super(clock, hold.lock(), untilNanos(hold.leaseMillis()));
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

    /** The release of a hold, which hands it on by the answer. */
    private class Release extends HoldEnd {

        final Hold hold;
        private final @Nullable Attempt successor;

        Release(Hold hold, Call call, @Nullable Attempt successor) {
            super(hold, call);
            this.hold = hold;
            this.successor = successor;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            Attempt gone =
                    inherit(hold.keys(), hold.attempt, successor, hold.turnStartNanos, Answer.of(reply), sentNanos);
            if (gone != null) {
                watchdog.run(new Leave(gone, new Turn(hold.attempt), null));
            }
            return DONE;
        }

        @Override
        public void giveUp() {
            localQueue.exit(hold.keys(), hold.attempt);
            lookUp(successor);
        }
    }

    /** A release that nobody has sent before: its first answer says whether the hold was still there. */
    private final class FirstRelease extends Release {

        private final long untilNanos;
        private final ReleaseEnd onEnd;
        private boolean ended;

        FirstRelease(Hold hold, Call call, long untilNanos, ReleaseEnd onEnd) {
            super(hold, call, hold.successor());
            this.untilNanos = untilNanos;
            this.onEnd = onEnd;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            if (!ended && Answer.isGone(reply) && !reply.resent() && hold.releaseFailed()) {
                // Whoever declares the loss ends the turn as well.
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

    /** The turn in the local queue that a leave hands on. */
    private record Turn(long contender) {}

    /**
     * Takes an attempt that is over out of Redis, and then whatever a request of it that was not answered may put there
     * late: Redis says for how long one may still run.
     */
    private final class Leave extends PendingCommand {

        private final Attempt gone;
        private final @Nullable Attempt successor;
        private final boolean takePlace;
        private final @Nullable Remainder rest;
        private @Nullable Turn turn;

        /** Turn: passed on by the answer, or null. Rest: told when the leave has been answered, or null. */
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

        /** Nobody waits for it any longer. */
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
