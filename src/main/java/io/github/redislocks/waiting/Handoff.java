package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.redis.Call;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.watchdog.PendingCommand;
import io.github.redislocks.watchdog.Watchdog;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Hands a lock over inside one client when a hold or an attempt ends: names the first waiter of the local queue as
 * successor in the release or leave, and passes the local turn on according to the reply.
 *
 * <p>A command that names a successor is repeated with the same successor until it is answered. If Redis has granted
 * the lock to the successor, or queued it, but the successor has given up meanwhile, then a leave takes the successor
 * out of Redis and names the next local waiter. So a thread in the local queue can give up without a request.
 *
 * <p>An attempt is in doubt if one of its requests was not answered, was sent more than once, or is under way. That
 * request could run late and make the attempt the owner again; a late copy of the attempt's release or leave would then
 * pass the lock to the named successor, which may have ended long ago. So the release or leave of an attempt in doubt
 * names no successor, and the next local waiter asks Redis itself.
 */
public final class Handoff implements Renewals.Rescue {

    /**
     * How long a caller that gives up or unlocks waits until nothing of its attempt is left in Redis. After that, the
     * work goes on in the background.
     */
    private static final long MOMENT_NANOS = 50_000_000;

    final Clock clock;
    final Settings settings;
    final MonitoredRedis redis;
    final Holds holds;
    final LocalQueue localQueue;
    private final Attempts attempts;
    final Mailbox mailbox;
    final Watchdog watchdog;
    final Losses losses;
    private final HandoffCommands commands;

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
        this.commands = new HandoffCommands(this);
    }

    /**
     * Chooses the successor that a hold's release names; from now on Redis may know that attempt. Null if there is
     * none, if the hold's attempt is in doubt, or if the lock is to stay taken.
     */
    @Nullable
    public Attempt successor(Hold hold) {
        return hold.inDoubt || hold.isToKeep() ? null : successor(hold.keys(), hold.attempt);
    }

    /** With {@code keepTurn}, the successor that the hold names goes before waiters of other clients. */
    public Call releaseOf(Hold hold, boolean keepTurn) {
        return hold.isToKeep()
                ? Scripts.releaseAfter(hold).with(settings.acks())
                : Scripts.release(hold, keepTurn, mailbox.isOpen());
    }

    @Nullable
    Attempt successor(LockKeys keys, long contender) {
        // While the client closes, name no successor: the waiting thread will not be there to take the lock over.
        Attempt successor = attempts.isClosed() ? null : localQueue.successor(keys, contender);
        if (successor != null) {
            successor.named();
        }
        return successor;
    }

    /**
     * Passes the local turn on according to the reply to a hold's release. If the named successor has given up
     * meanwhile, takes that attempt out of Redis, and waits a moment at most until this is done. Without that wait, the
     * lock could be neither held nor free when unlock() has returned.
     */
    public void handOn(Hold hold, Answer answer, long sentNanos) {
        Attempt gone = inherit(hold, answer, sentNanos);
        if (gone != null) {
            HandoffCommands.Remainder rest = new HandoffCommands.Remainder(1);
            watchdog.run(commands.new Leave(gone, new HandoffCommands.Turn(hold.attempt), rest));
            await(rest, clock.nanoTime());
        }
    }

    /** As {@link #inherit(LockKeys, long, Attempt, Answer)}; also notes what Redis did for the successor. */
    @Nullable
    Attempt inherit(Hold hold, Answer answer, long sentNanos) {
        Attempt gone = inherit(hold.keys(), hold.attempt, hold.successor(), answer);
        if (gone == null) {
            served(hold.successor(), answer, sentNanos, hold.turnStartNanos);
        }
        return gone;
    }

    /**
     * Gives the local turn to the successor, and returns null. If Redis has granted the lock to the successor or queued
     * it, but the successor has given up, the turn stays where it is, and the method returns the successor.
     */
    @Nullable
    Attempt inherit(LockKeys keys, long contender, @Nullable Attempt successor, Answer answer) {
        boolean named = answer instanceof Answer.Granted || answer instanceof Answer.Queued;
        if (successor == null || !named || successor.owner.isShared()) {
            localQueue.exit(keys, contender);
            wake(successor);
            return null;
        }
        return localQueue.inherit(contender, successor) ? null : successor;
    }

    /** Notes what Redis did for the successor, which has the local turn now. */
    void served(@Nullable Attempt successor, Answer answer, long sentNanos, long turnStartNanos) {
        if (successor == null) {
            return;
        }
        boolean undecided = true;
        if (answer instanceof Answer.Granted granted) {
            if (granted.recalled()) {
                successor.owner.wanted(successor.number);
            }
            undecided = successor.decide(granted.of(successor, sentNanos, turnStartNanos));
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
    }

    /** An earlier reply may have given the successor the turn, and an error may have kept it from being woken. */
    static void wake(@Nullable Attempt successor) {
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
        HandoffCommands.Remainder rest = new HandoffCommands.Remainder(1);
        if (leaves(attempt, away, rest) && !away) {
            await(rest, clock.nanoTime());
        }
    }

    /** Begins to take an attempt out of Redis; returns whether Redis may have anything of the attempt. */
    private boolean leaves(Attempt attempt, boolean away, HandoffCommands.@Nullable Remainder rest) {
        HandoffCommands.Turn turn = away || !attempt.mayExistInRedis() || attempt.isInDoubt()
                ? null
                : new HandoffCommands.Turn(attempt.number);
        if (attempt.mayExistInRedis()) {
            watchdog.run(commands.new Leave(attempt, turn, rest));
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

    /** Hands an attempt to the watchdog, since the attempt's thread has met an error. */
    public void strand(Attempt attempt) {
        // Set the mark first: the watchdog's next inspection finds it even if there is no stack for the call below.
        attempt.stranded = true;
        watchdog.wakeNow();
    }

    /** Hands the release of a hold to the watchdog, since the hold's thread has met an error. */
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

    /** Ends an attempt whose call was ended by an error. Does not wait. */
    public void rescue(Attempt attempt) {
        leaveForGood(attempt);
        departLater(attempt);
    }

    /** Continues or begins a release that the owner's thread could not complete. Called by the watchdog. */
    @Override
    public void rescue(Hold hold) {
        hold.beginRelease(clock.nanoTime());
        if (hold.isReleasing()) {
            releaseLater(hold, false);
            holds.remove(hold);
        }
        hold.stranded = false;
        hold.keeper().rescued(hold);
    }

    /**
     * Releases holds that no caller got. Waits until they are released, but for a moment at most; the rest is done in
     * the background. If {@code byNanos} has passed, the moment counts from that time, else from now.
     */
    public void giveBack(List<Hold> holdsOfNobody, long byNanos) {
        HandoffCommands.Remainder rest = new HandoffCommands.Remainder(holdsOfNobody.size());
        boolean away = false;
        for (Hold hold : holdsOfNobody) {
            long now = clock.nanoTime();
            away |= redis.of(hold.lock()).silence(now) > 0;
            hold.beginRelease(now);
            if (hold.isReleasing()) {
                hold.names(successor(hold));
                watchdog.run(commands.new GivenBack(hold, rest));
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

    /**
     * Waits until {@code rest} is over, for {@link #MOMENT_NANOS} after {@code fromNanos} at most. An interrupt does
     * not end the wait; its flag is set again.
     */
    private void await(HandoffCommands.Remainder rest, long fromNanos) {
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
     * Takes an attempt that has ended out of Redis, in the background. If the attempt led to a hold, does this after
     * the hold has ended.
     */
    public void leaveLater(Attempt attempt) {
        watchdog.run(commands.new Leave(attempt, null, null));
    }

    /** Ends in Redis, in the background, a hold that its thread left behind. */
    @Override
    public void leaveLater(Hold hold) {
        Call call = Scripts.leave(hold.keys(), hold.owner, hold.attempt, true);
        watchdog.run(commands.new HoldEnd(hold.lock(), hold.longestLeaseMillis(), call));
    }

    @Override
    public void releaseAgain(Holds.Released released) {
        watchdog.run(
                commands.new HoldEnd(released.keys().lock(), settings.leaseMillis(), Scripts.releaseAgain(released)));
    }

    /** Repeats in the background a release that was not answered in time, until Redis answers. */
    public void releaseLater(Hold hold, boolean keepTurn) {
        watchdog.run(commands.new Release(hold, releaseOf(hold, keepTurn)));
    }

    /**
     * Sends the release of a hold in the background, again and again until Redis answers. The caller has called
     * {@link Hold#beginRelease}.
     *
     * @param untilNanos the deadline of the hold
     * @param onEnd called once with whether the hold ends without a loss, as soon as that is known: after the first
     *     answer, or once it is clear that none comes
     */
    public void release(Hold hold, boolean keep, long untilNanos, ReleaseEnd onEnd) {
        watchdog.run(commands.new FirstRelease(hold, releaseOf(hold, keep), untilNanos, onEnd));
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
        List<HandoffCommands.FirstRelease> parts = new ArrayList<>(holds.size());
        for (Leaving leaving : holds) {
            Call alone = releaseOf(leaving.hold(), false);
            parts.add(commands.new FirstRelease(leaving.hold(), alone, leaving.untilNanos(), leaving));
        }
        watchdog.run(parts.size() == 1 ? parts.get(0) : commands.new ReleaseTogether(parts));
    }

    @FunctionalInterface
    public interface ReleaseEnd {

        /** Called with whether the hold ended without a loss. */
        void ended(boolean inGoodOrder);
    }

    /** A hold of a client that keeps locks; the release of the hold has begun. */
    public interface Leaving extends ReleaseEnd {

        Hold hold();

        /** The deadline of the hold. */
        long untilNanos();
    }

    /** Sends the pending leaves of an ended attempt at once, since Redis has granted the lock to that attempt. */
    public void hasten(long attempt) {
        for (PendingCommand command : watchdog.commands()) {
            if (command instanceof HandoffCommands.Leave leave && leave.gone.number == attempt) {
                watchdog.hasten(command);
            }
        }
    }
}
