package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LimitedHold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.Watchdog;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Makes the {@link Settlement}s of a client, and has the parts of the client that turn a grant into a hold. */
public final class Settlements {

    private final RedisAccess access;
    private final Clock clock;
    private final Settings settings;
    private final Holds holds;
    private final Attempts attempts;
    private final Handoff handoff;
    private final Watchdog watchdog;

    public Settlements(RedisAccess access, Holds holds, Attempts attempts, Handoff handoff, Watchdog watchdog) {
        this.access = access;
        this.clock = access.clock();
        this.settings = access.settings();
        this.holds = holds;
        this.attempts = attempts;
        this.handoff = handoff;
        this.watchdog = watchdog;
    }

    /** For an attempt that has begun. {@code lost} is the lost hold that the thread has not unlocked yet, or null. */
    public Settlement of(Attempt attempt, WaitLimit limit, @Nullable Hold lost) {
        return new Settlement(attempt, limit, lost);
    }

    /** The outcome of a grant. */
    public enum Result {
        /** The grant has become a hold. */
        HELD,
        /** The deadline is not known yet, or replicas have not confirmed the grant: settle it again after a pause. */
        OPEN,
        /** The grant may have lapsed, or does not count after a failover: the attempt has to continue without it. */
        LAPSED
    }

    /**
     * Turns the grants of one attempt into a hold. A grant that is known only from a message is undated: its deadline
     * has still to be computed. In short:
     *
     * <pre>
     *   undated, in local queue   OPEN until the thread that hands the lock over passes the turn on
     *   after a failover          LAPSED until the grace is over
     *   replicas must confirm     OPEN until enough of them have confirmed it
     *   undated, or time is over  LAPSED
     *   forced or deleted since   LAPSED
     *   else                      HELD
     * </pre>
     */
    public final class Settlement {

        private final Attempt attempt;
        private final WaitLimit limit;
        private final @Nullable Hold lost;

        /** The grant that replicas have confirmed, if confirmations are required. */
        private Attempt.@Nullable Grant confirmed;
        /** Why the last request for a confirmation failed; null if it succeeded or none was sent. */
        private @Nullable RedisException unconfirmed;

        private @Nullable Consumer<BackgroundRequest> background;
        private Attempt.@Nullable Grant confirmedLater;
        private @Nullable Backoff backoff;
        private long confirmAtNanos;
        /** The hold that was made, or null. Set even if an error prevents its return. */
        @Nullable
        public Hold made;

        private Settlement(Attempt attempt, WaitLimit limit, @Nullable Hold lost) {
            this.attempt = attempt;
            this.limit = limit;
            this.lost = lost;
        }

        /** Notes a grant that replicas have confirmed, if confirmations are required. */
        public void isConfirmed(Attempt.Grant grant) {
            confirmed = grant;
        }

        @Nullable
        RedisException unconfirmed() {
            return unconfirmed;
        }

        public Result settle(Attempt.Grant grant) {
            Attempt.Grant dated = grant.deadlineNanos() == 0 ? date(grant) : grant;
            long now = clock.nanoTime();
            if (dated.deadlineNanos() == 0 && attempt.isBehind()) {
                return Result.OPEN;
            }
            if (access.epoch().graceNanos(now) > 0) {
                // No grant counts during the failover grace. A grant from before the grace came from the old server,
                // since calls go to the new server only after the grace has begun.
                return lapsed();
            }
            if (dated.deadlineNanos() > now && settings.replicaAcks() > 0 && !grant.equals(confirmed)) {
                if (confirmAtNanos > now) {
                    return Result.OPEN;
                }
                dated = confirm(dated, now);
                if (dated == null) {
                    return Result.OPEN;
                }
                now = clock.nanoTime();
            }
            if (dated.deadlineNanos() <= now || hasEnded(dated)) {
                return lapsed();
            }
            hold(dated, now);
            return Result.HELD;
        }

        /**
         * Whether a grant has ended meanwhile: a request that was sent later found the attempt still in the queue,
         * although the grant's token or a greater one had been given out.
         */
        private boolean hasEnded(Attempt.Grant dated) {
            Attempt.QueuePosition position = attempt.position();
            if (attempt.owner.isShared()) {
                // All shares after one writer have the same token, so a token cannot show that the grant has ended.
                return position != null && position.sentNanos() > sentNanos(dated);
            }
            return position != null
                    && position.lastToken() >= dated.token()
                    && position.sentNanos() >= sentNanos(dated);
        }

        /** The time from which the deadline of a grant counts: when its request was sent. */
        private long sentNanos(Attempt.Grant dated) {
            long millis = dated.confirmed() ? attempt.leaseMillis : Timing.claimMillis(attempt.leaseMillis);
            return dated.deadlineNanos() - Timing.validityNanos(millis);
        }

        private Result lapsed() {
            confirmedLater = null;
            unconfirmed = null;
            return Result.LAPSED;
        }

        /** Called after an error. Hands the hold that was made to the watchdog, since no caller will get it. */
        public void strand() {
            if (made != null) {
                handoff.strand(made);
            }
        }

        /** How long to wait before {@link #settle} can be tried again. */
        public long pauseNanos(long now) {
            if (!(attempt.verdict() instanceof Attempt.Grant)) {
                return Long.MAX_VALUE;
            }
            // The pause may be over already. An attempt without the turn need not look again: the thread that passes
            // the turn on wakes it.
            return confirmAtNanos > now ? confirmAtNanos - now : attempt.isBehind() ? Long.MAX_VALUE : 0;
        }

        /**
         * Has replicas confirm a grant that another request made, perhaps a request of another client. WAIT covers only
         * the writes of its own connection, so this method writes once more and waits for that write. Returns null if
         * there was no reply.
         */
        private Attempt.@Nullable Grant confirm(Attempt.Grant grant, long sent) {
            if (background != null) {
                return confirmLater(grant, background);
            }
            long timeout =
                    Math.min(limit.timeoutNanos(sent, settings.commandTimeoutNanos()), grant.deadlineNanos() - sent);
            try {
                Call call = Scripts.confirm(attempt, grant.token()).with(settings.acks());
                return confirmed(grant, access.monitored().run(call, timeout), sent);
            } catch (RedisException e) {
                notConfirmed(e);
                return null;
            }
        }

        private Attempt.Grant confirmed(Attempt.Grant grant, Reply reply, long sent) {
            unconfirmed = null;
            long deadline = Answer.isKept(reply) ? sent + Timing.validityNanos(attempt.leaseMillis) : sent;
            return until(grant, deadline, true);
        }

        private void notConfirmed(RedisException e) {
            unconfirmed = e;
            pause();
            if (e instanceof RedisException.Unacknowledged) {
                throw e;
            }
            attempt.known();
        }

        /** Returns the grant that the last request confirmed. If there is none, sends the next one; returns null. */
        private Attempt.@Nullable Grant confirmLater(Attempt.Grant grant, Consumer<BackgroundRequest> to) {
            Attempt.Grant answered = confirmedLater;
            confirmedLater = null;
            if (answered != null && answered.token() == grant.token()) {
                return answered;
            }
            to.accept(new BackgroundRequest(clock, access.monitored(), attempt, settings.commandTimeoutNanos()) {
                @Override
                Call request(long nanos, long timeoutNanos) {
                    return Scripts.confirm(attempt, grant.token()).with(settings.acks());
                }

                @Override
                void heard(Reply reply, long nanos) {
                    confirmedLater = confirmed(grant, reply, nanos);
                }

                @Override
                void missed(RedisException why) {
                    notConfirmed(why);
                }
            });
            return null;
        }

        /** Has the confirmations sent in the background: their outcomes are delivered before the next try. */
        void inBackground(Consumer<BackgroundRequest> to) {
            background = to;
        }

        private void pause() {
            if (backoff == null) {
                backoff = Backoff.ofRequests();
            }
            confirmAtNanos = clock.nanoTime() + backoff.next();
        }

        private void hold(Attempt.Grant dated, long now) {
            long renewal;
            if (!dated.confirmed()) {
                // The grant is not confirmed yet, and lasts only for a short lease (the claim), which counts from the
                // last answered heartbeat. Confirm it after a third of the time that is left.
                renewal = now + (dated.deadlineNanos() - now) / Timing.RENEWALS_PER_LEASE;
            } else {
                // Count from when the request was sent, as for the deadline: with a distant server the reply may take a
                // good part of the lease.
                renewal =
                        attempt.renewed ? sentNanos(dated) + Timing.renewalNanos(attempt.leaseMillis) : Long.MAX_VALUE;
            }
            if (settings.watchDeletions()) {
                renewal = Math.min(renewal, now + Timing.UNWATCHED_NANOS);
            }
            // Keep one record of a loss: it stands for all holds that the thread lost and still has to unlock.
            Hold older = lost == null || lost.isUntold() ? null : lost.below;
            Hold below = older == null ? lost : older;
            Hold hold = attempt.maxHoldMillis == 0
                    ? new Hold(attempt, dated, now, renewal, below)
                    : new LimitedHold(attempt, dated, now, renewal, below);
            attempt.owner.granted(dated.numbers());
            made = hold;
            // Let the attempt refer to its hold only if the hold is in doubt. A hold refers to its successor, which is
            // an attempt: if every attempt referred to its hold, a chain of holds would stay in memory.
            attempt.had(hold.inDoubt ? hold : null);
            holds.put(hold);
            if (lost != null && older != null) {
                older.standsFor(lost);
            }
            boolean leaves = attempt.mayRun();
            if (leaves) {
                // Begin to leave before the attempt ends: after an error here, the watchdog still finds the attempt
                // among those under way.
                handoff.leaveLater(attempt);
            }
            attempts.end(attempt);
            if (!leaves && attempt.mayRun()) {
                handoff.leaveLater(attempt);
            }
            if (attempt.isDoubted()) {
                // A message that arrived before the hold existed may have said that the lock was forced open. So ask
                // Redis at once.
                hold.doubted();
                hold.renewAt(now);
            }
            if (hold.failoverEpoch() != access.epoch().count()) {
                // A failover came meanwhile: ask the new server about the hold at once.
                hold.renewAt(now);
            }
            watchdog.wakeAt(Math.min(Math.min(hold.nextRenewalNanos(), hold.deadlineNanos()), hold.warningNanos()));
        }

        /**
         * Computes the deadline of a grant that is known from a message, without using Redis' clock. If the grant's
         * token is greater than the last token when the latest answered request ran, then the grant was made after that
         * request was sent.
         */
        private Attempt.Grant date(Attempt.Grant grant) {
            Attempt.QueuePosition position = attempt.position();
            long deadline = position == null || grant.token() <= position.lastToken()
                    ? 0
                    : position.sentNanos() + Timing.validityNanos(Timing.claimMillis(attempt.leaseMillis));
            return until(grant, deadline, grant.confirmed());
        }

        private static Attempt.Grant until(Attempt.Grant grant, long deadline, boolean confirmed) {
            return new Attempt.Grant(
                    grant.token(), grant.previousLost(), deadline, grant.turnStartNanos(), confirmed, grant.numbers());
        }
    }
}
