package io.github.redislocks.waiting;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.script.SeveralScripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.watchdog.PendingCommand;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The commands that end holds and attempts in Redis in the background. Their replies say to whom {@link Handoff} passes
 * the local turn.
 */
final class HandoffCommands {

    /** The pause before a release by {@code releaseAfter}, which too few replicas have confirmed, is sent again. */
    private static final long UNCONFIRMED_PAUSE_NANOS = 1_000_000_000;

    private final Handoff handoff;

    HandoffCommands(Handoff handoff) {
        this.handoff = handoff;
    }

    /** The parts of a departing thread's work in Redis that are not done yet: it waits a moment for them. */
    static final class Remainder {

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

    /** The latest time at which something that an unanswered request left behind may still be in Redis. */
    private long untilNanos(long leaseMillis) {
        return handoff.clock.nanoTime()
                + 2 * handoff.settings.commandTimeoutNanos()
                + handoff.settings.leftoverNanos(leaseMillis);
    }

    /**
     * Whether an attempt that has ended may leave Redis now. If the attempt led to a hold, the hold must have ended and
     * have been released first.
     */
    private PendingCommand.Need needOfLeaving(Attempt attempt) {
        Hold hold = handoff.holds.get(attempt.keys, attempt.owner.holder);
        // A leave would end a hold that is still held. A leave that overtakes the release would make the release find
        // nothing, which would be taken for a loss.
        if (hold != null && hold.attempt == attempt.number && hold.isOpenOrReleasing()) {
            return PendingCommand.Need.LATER;
        }
        // A leave would free a lock that a releaseAfter keeps taken. The releaseAfter may still be under way, although
        // its hold is no longer in `holds`. Look at `holds` first and at the commands second: a release is among the
        // commands before its hold is removed from `holds`, so one of the two looks finds it.
        return attempt.owner.keepsMillis() > 0 && isBeingReleased(attempt)
                ? PendingCommand.Need.LATER
                : PendingCommand.Need.NOW;
    }

    /** Whether the release of an attempt's hold is still under way in the background. */
    private boolean isBeingReleased(Attempt attempt) {
        for (PendingCommand command : handoff.watchdog.commands()) {
            if (command instanceof Release release && release.hold.attempt == attempt.number && !release.isDone()) {
                return true;
            }
        }
        return false;
    }

    /** A pending command that ends a hold in Redis. */
    class HoldEnd extends PendingCommand {

        private final Call call;

        HoldEnd(String lock, long leaseMillis, Call call) {
            super(handoff.clock, lock, untilNanos(leaseMillis));
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

    /** The release of a hold. Passes the local turn on according to the answer. */
    class Release extends HoldEnd {

        final Hold hold;
        private final @Nullable Attempt successor;

        Release(Hold hold, Call call) {
            super(hold.lock(), hold.longestLeaseMillis(), call);
            this.hold = hold;
            this.successor = hold.successor();
        }

        /** The release for the present successor: a downgrade that was given up has none any more. */
        @Override
        @SuppressWarnings("ReferenceEquality")
        public Call call() {
            return successor == hold.successor() ? super.call() : handoff.releaseOf(hold, false);
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            Answer answer = Answer.of(reply);
            Attempt gone = handoff.inherit(hold, answer, sentNanos);
            if (gone != null) {
                handoff.watchdog.run(new Leave(gone, new Turn(hold.attempt), null));
            }
            if (answer == Answer.Word.KEPT && !handoff.redis.isAcknowledged(key(), reply, sentNanos)) {
                return UNCONFIRMED_PAUSE_NANOS;
            }
            return DONE;
        }

        @Override
        public void giveUp() {
            handoff.localQueue.exit(hold.keys(), hold.attempt);
            Handoff.wake(hold.successor());
        }
    }

    /** The release of a hold that no caller got. A departing thread waits for the release for a moment. */
    final class GivenBack extends Release {

        private final Remainder rest;
        private boolean ended;

        GivenBack(Hold hold, Remainder rest) {
            super(hold, handoff.releaseOf(hold, false));
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
    final class FirstRelease extends Release {

        private final long untilNanos;
        private final Handoff.ReleaseEnd onEnd;
        private boolean ended;
        /** Whether a request for several holds may have ended this hold, or may still do so. */
        private boolean sentBefore;

        FirstRelease(Hold hold, Call call, long untilNanos, Handoff.ReleaseEnd onEnd) {
            super(hold, call);
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
                    && isAlone()
                    && hold.releaseFailed(handoff.clock.nanoTime() >= untilNanos)) {
                // The hold was lost. end(false) reports the loss, which also ends the turn, so super.follow() must not
                // hand the lock on.
                end(false);
                return DONE;
            }
            long wait = super.follow(reply, sentNanos);
            end(true);
            return wait;
        }

        /** False if {@link Handoff#rescue} may have sent another release of the hold, after an error. */
        @SuppressWarnings("ReferenceEquality")
        private boolean isAlone() {
            return handoff.holds.get(hold.keys(), hold.holder()) == hold;
        }

        @Override
        public void unanswered() {
            end(handoff.clock.nanoTime() < untilNanos || !hold.releasedTooLate());
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

    /** The first releases of several holds by one request. Those holds that it does not end are released one by one. */
    final class ReleaseTogether extends PendingCommand {

        private final List<FirstRelease> parts;

        ReleaseTogether(List<FirstRelease> parts) {
            super(
                    handoff.clock,
                    parts.get(0).hold.lock(),
                    untilNanos(parts.stream()
                            .mapToLong(part -> part.hold.longestLeaseMillis())
                            .max()
                            .orElse(0)));
            this.parts = parts;
        }

        @Override
        public Call call() {
            return SeveralScripts.giveUp(parts.stream().map(part -> part.hold).toList());
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            boolean second = wasSentBefore() || reply.resent();
            for (int i = 0; i < parts.size(); i++) {
                FirstRelease part = parts.get(i);
                if (Answer.isFreed(reply, i)) {
                    handoff.localQueue.exit(part.hold.keys(), part.hold.attempt);
                    part.end(true);
                } else {
                    part.sentBefore |= second;
                    handoff.watchdog.run(part);
                }
            }
            return DONE;
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            if (failure.isPermanent()) {
                // Perhaps only one of the holds was refused. Send each release by itself, so that the others need not
                // wait for that one.
                handoff.redis.refused(failure);
                for (FirstRelease part : parts) {
                    part.sentBefore = true;
                    handoff.watchdog.run(part);
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
    record Turn(long contender) {}

    /**
     * A pending command that removes from Redis what an ended attempt may have there. It is repeated while an
     * unanswered request of the attempt may still run and put something there.
     */
    final class Leave extends PendingCommand {

        final Attempt gone;
        private final @Nullable Attempt successor;
        private final boolean takePlace;
        private final @Nullable Remainder rest;
        private @Nullable Turn turn;

        /** The answer passes {@code turn} on, and {@code rest} is notified of it; each may be null. */
        Leave(Attempt gone, @Nullable Turn turn, @Nullable Remainder rest) {
            super(handoff.clock, gone.keys.lock(), untilNanos(gone.leaseMillis));
            this.gone = gone;
            this.turn = turn;
            this.rest = rest;
            this.successor = turn == null ? null : handoff.successor(gone.keys, turn.contender);
            this.takePlace = handoff.mailbox.isOpen();
        }

        @Override
        public Call call() {
            return Scripts.leave(gone, handoff.losses.hasLost(gone), turn == null ? null : successor, takePlace);
        }

        @Override
        public Need need() {
            return needOfLeaving(gone);
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            Turn handedOn = turn;
            Attempt next = null;
            if (handedOn != null) {
                Answer answer = Answer.of(reply);
                next = handoff.inherit(gone.keys, handedOn.contender, successor, answer);
                if (next == null) {
                    handoff.served(successor, answer, sentNanos, handoff.clock.nanoTime());
                }
            }
            if (next == null) {
                unanswered();
            } else {
                handoff.watchdog.run(new Leave(next, handedOn, rest));
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
                handoff.localQueue.exit(gone.keys, turn.contender);
            }
        }
    }
}
