package io.github.redislocks.engine;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Acquisition;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.BlockingDriver;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.Settlements;
import io.github.redislocks.waiting.Step;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Waits in the Conditions of a client's locks, and signals their waiters. */
public final class Conditions {

    private static final long PAUSE_NANOS = 20_000_000;

    private final RedisAccess access;
    private final WaitingParts parts;
    private final Clock clock;
    private final Settings settings;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final Attempts attempts;
    private final Handoff handoff;
    private final Losses losses;
    private final Watchdog watchdog;
    private final BlockingDriver driver;

    public Conditions(RedisAccess access, WaitingParts parts) {
        this.access = access;
        this.parts = parts;
        this.clock = access.clock();
        this.settings = access.settings();
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.attempts = parts.attempts();
        this.handoff = parts.handoff();
        this.losses = parts.losses();
        this.watchdog = parts.watchdog();
        this.driver = new BlockingDriver(access, parts);
    }

    /**
     * Gives up a hold of the calling thread or of its client, waits in a Condition, and gets a hold back.
     *
     * @param limit how long the thread waits, unless a wall-clock time ends the wait earlier
     * @param until a wall-clock time that also ends the wait, or null; it is compared with the clock again and again,
     *     since the clock may be set during the wait
     * @return true if a signal or a spurious wake-up ended the wait, false if its time was over
     * @throws InterruptedException if an interrupt came before a signal; the lock is held again all the same
     */
    public boolean await(String id, Hold hold, ConditionWaiter waiter, WaitLimit limit, @Nullable Instant until)
            throws InterruptedException {
        attempts.checkOpen();
        Attempt attempt = new Attempt(
                attempts.nextNumber(), hold.keys(), waiter.owner(), hold.request(), limit, waiter.count(), id);
        return new ConditionWait(attempt, hold, waiter, limit, until).await();
    }

    /**
     * Signals the waiter of a Condition that has waited longest, or all of its waiters. An interrupt does not end the
     * call; its flag is set again.
     */
    public void signal(String id, Hold hold, boolean all, WaitLimit limit) {
        long number = attempts.nextNumber();
        long began = clock.nanoTime();
        Call call = Scripts.signal(hold, number, id, all);
        while (true) {
            try {
                Reply reply = monitored.run(call, settings.commandTimeoutNanos());
                if (Answer.isGone(reply)) {
                    losses.taken(hold);
                    throw Losses.exception(hold);
                }
                for (Object place : reply.values()) {
                    moved(id, place.toString());
                }
                return;
            } catch (RedisException e) {
                if (!losses.isValid(hold)) {
                    throw Losses.exception(hold);
                }
                long now = clock.nanoTime();
                if (e.isPermanent() || monitored.of(hold.keys().lock()).age(call, now) > limit.retryForNanos()) {
                    throw unavailable.notDone(UnavailableMessages.Operation.SIGNAL, hold.keys(), now - began, e);
                }
                // Clear the interrupt flag, which the limit remembers: otherwise park would return at once.
                boolean unused = limit.interrupted();
                clock.park(this, PAUSE_NANOS);
                monitored.retried();
            }
        }
    }

    /** Notes that a waiter of this client has left the Condition and waits for the lock. */
    private void moved(String id, String place) {
        int end = place.lastIndexOf(':');
        Attempt attempt = attempts.get(Long.valueOf(place.substring(end + 1)));
        if (attempt != null && attempt.owner.id.equals(place.substring(0, end)) && attempt.isIn(id)) {
            attempt.leftCondition();
        }
    }

    /**
     * A thread's wait in a Condition, from giving up the hold to getting it back. In short:
     *
     * <pre>
     *   one script: take a place in the Condition, end the hold, grant the lock to the next
     *   until granted:
     *     interrupted or too late   one script: move from the Condition to the queue, unless signalled before
     *     else                      park
     *   restore the count
     * </pre>
     *
     * The stages:
     *
     * <pre>
     *   HOLDING    -> GIVING_UP                         the release begins; from here on only Redis can end the hold
     *   GIVING_UP  -> WAITING                           the reply says that the place is in the Condition, or the call fails
     *   WAITING    -> SIGNALLED, INTERRUPTED, TIMED_OUT   whichever came first, as Redis decides when the wait ends
     *   WAITING, SIGNALLED, INTERRUPTED, TIMED_OUT      a grant ends the wait; in WAITING, a signal led to the grant
     * </pre>
     */
    private final class ConditionWait extends Acquisition {

        /** The time between two readings of the wall clock during a wait until a wall-clock time. */
        private static final long WALL_CLOCK_NANOS = 500_000_000;

        private enum Stage {
            HOLDING,
            GIVING_UP,
            WAITING,
            SIGNALLED,
            INTERRUPTED,
            TIMED_OUT
        }

        private final Hold hold;
        private final ConditionWaiter waiter;
        private final WaitLimit limit;
        private final @Nullable Instant until;
        private Stage stage = Stage.HOLDING;
        /** Why the thread stops waiting in the Condition. */
        private Stage reason = Stage.TIMED_OUT;

        private ConditionWait(
                Attempt attempt, Hold hold, ConditionWaiter waiter, WaitLimit limit, @Nullable Instant until) {
            super(attempt, parts.settlements().of(attempt, WaitLimit.endless(limit.retryForNanos()), waiter.below()));
            this.hold = hold;
            this.waiter = waiter;
            this.limit = limit;
            this.until = until;
        }

        boolean await() throws InterruptedException {
            driver.drive(this);
            MemoryEdge.publish();
            if (stage == Stage.INTERRUPTED) {
                limit.thrown();
                throw new InterruptedException();
            }
            return stage != Stage.TIMED_OUT;
        }

        @Override
        protected void begin() {
            attempts.begin(attempt);
            giveUp();
        }

        /**
         * Sends the script that ends the hold. Repeats the request until Redis answers: without the reply this client
         * does not know who holds the lock.
         */
        private void giveUp() {
            RedisException refusal = openMailbox();
            long began = clock.nanoTime();
            long deadline = waiter.begins(began) ? hold.beginRelease(began) : 0;
            if (deadline == 0) {
                losses.isValid(hold);
                attempts.end(attempt);
                throw Losses.exception(hold);
            }
            stage = Stage.GIVING_UP;
            MemoryEdge.publish();
            hold.names(handoff.successor(hold));
            boolean keepTurn = Exits.keepsTurn(hold, began);
            boolean repeated = false;
            while (true) {
                long sent = clock.nanoTime();
                long timeout = settings.commandTimeoutNanos();
                ServerTimes.Date notAfter = access.serverTimes().date(sent, timeout);
                sends(notAfter);
                try {
                    if (refusal != null) {
                        throw refusal;
                    }
                    Call call = Scripts.await(hold, attempt, notAfter, keepTurn);
                    Reply reply = monitored.run(call, timeout);
                    attempt.answered(reply, notAfter);
                    Answer answer = Answer.of(reply);
                    if (answer == Answer.Word.LATE) {
                        repeated |= reply.resent();
                        pause();
                        continue;
                    }
                    if (answer == Answer.Word.GONE
                            && !reply.resent()
                            && !repeated
                            && hold.releaseFailed(clock.nanoTime() >= deadline)) {
                        losses.ended(hold);
                        attempts.end(attempt);
                        throw Losses.exception(hold);
                    }
                    handoff.handOn(hold, answer, sent);
                    removed();
                    // Pass the token of the hold that was given up: every grant to this attempt has a greater one.
                    attempt.queued(began, hold.token, -1);
                    watchdog.wakeAt(attempt.nextHeartbeatNanos());
                    heard();
                    return;
                } catch (RedisException e) {
                    attempt.unanswered(e, notAfter);
                    heard();
                    notAnswered(began, e);
                    repeated = true;
                    pause();
                    monitored.retried();
                }
            }
        }

        /** Notes an interrupt first, since with the flag set park would return at once. */
        private void pause() {
            boolean unused = limit.interrupted();
            clock.park(this, PAUSE_NANOS);
        }

        /**
         * Returns why Redis permanently refuses to send messages, or null. If Redis only fails for now, the heartbeats
         * find a grant without a message, and the reader goes on trying to open the mailbox.
         */
        private @Nullable RedisException openMailbox() {
            try {
                parts.mailbox().open(settings.commandTimeoutNanos());
            } catch (RedisException e) {
                return e.isPermanent() ? e : null;
            }
            return null;
        }

        /** Ends the hold and throws if the request was refused permanently, or failed for too long. */
        private void notAnswered(long began, RedisException e) {
            long tried = clock.nanoTime() - began;
            if (e.isPermanent() || tried > limit.retryForNanos()) {
                handoff.releaseLater(hold, false);
                removed();
                throw unavailable.notBack(hold.keys(), tried, e);
            }
        }

        /** Removes the hold, which has ended. */
        private void removed() {
            waiter.hasGivenUp();
            // Remove the hold last: after an error above, the watchdog finds the hold here and ends what belongs to it.
            parts.holds().remove(hold);
            stage = Stage.WAITING;
        }

        @Override
        protected long next(Attempt.@Nullable Verdict verdict, long now) {
            boolean interrupted = limit.interrupted();
            if (verdict != null) {
                return settlement().pauseNanos(now);
            }
            if (stage != Stage.WAITING) {
                return Long.MAX_VALUE;
            }
            long left = interrupted ? 0 : remaining(now);
            if (left > 0) {
                // Park for a short time only: if the wall clock is set, no thread is woken.
                return until == null ? left : Math.min(left, WALL_CLOCK_NANOS);
            }
            reason = interrupted ? Stage.INTERRUPTED : Stage.TIMED_OUT;
            // Stay out of the queue during the failover grace, since a place there could take a free lock.
            long pause = Math.max(askAtNanos - now, access.epoch().graceNanos(now));
            return Step.next(Step.State.BUSY, true, pause, Long.MAX_VALUE);
        }

        private long remaining(long now) {
            if (until == null) {
                return limit.remaining(now);
            }
            return Math.max(0, clock.untilNanos(until));
        }

        /** Asks again by a heartbeat, which renews the attempt's place, with the hold count that it wants. */
        @Override
        protected void goOnWithout(Attempt.Grant lapsed) {
            attempt.heartbeatAt(0);
            attempt.reopen(lapsed);
            attempts.failIfClosed(attempt);
            watchdog.wakeAt(0);
        }

        /** Returns OPEN if too few replicas have confirmed the grant; throws after {@code retryFor} of that. */
        @Override
        protected Settlements.Result settle(Attempt.Grant grant) {
            try {
                Settlements.Result result = super.settle(grant);
                Hold back = made();
                if (back != null) {
                    back.resume(hold, waiter.count());
                }
                return result;
            } catch (RedisException.Unacknowledged e) {
                long tried = monitored.replication(hold.lock()).age(clock.nanoTime());
                if (tried > limit.retryForNanos()) {
                    throw unavailable.notBack(hold.keys(), tried, e);
                }
                return Settlements.Result.OPEN;
            }
        }

        @Override
        protected long timeoutNanos(long now) {
            return settings.commandTimeoutNanos();
        }

        /** Redis decides which came first, a signal or the reason to stop waiting. */
        @Override
        protected Call call(ServerTimes.Date notAfter) {
            return Scripts.rejoin(attempt, notAfter);
        }

        @Override
        protected boolean answered(Reply reply, ServerTimes.Date notAfter, long sent) {
            attempt.answered(reply, notAfter);
            Answer answer = Answer.of(reply);
            if (answer == Answer.Word.LATE) {
                askAtNanos = clock.nanoTime() + PAUSE_NANOS;
                return false;
            }
            if (answer instanceof Answer.Queued queued) {
                attempt.queued(sent, queued.lastToken(), queued.holderMillis());
                watchdog.wakeAt(attempt.nextHeartbeatNanos());
            } else if (answer instanceof Answer.Granted granted) {
                attempt.decide(granted.claimOf(attempt, sent, clock.nanoTime()));
            }
            stage = answer == Answer.Word.SIGNALLED ? Stage.SIGNALLED : reason;
            attempt.leftCondition();
            attempt.mustReturn(sent);
            return false;
        }

        @Override
        protected void failed(RedisException e, ServerTimes.Date notAfter) {
            attempt.unanswered(e, notAfter);
            long now = clock.nanoTime();
            askAtNanos = now + PAUSE_NANOS;
            monitored.retried();
            long outage = monitored.of(hold.keys().lock()).age(now);
            if (e.isPermanent() || outage > limit.retryForNanos()) {
                attempt.decide(new Attempt.Failure(unavailable.notBack(hold.keys(), outage, e)));
            }
        }

        @Override
        protected void strand() {
            if (stage == Stage.GIVING_UP) {
                handoff.strand(hold);
            }
            super.strand();
        }
    }
}
