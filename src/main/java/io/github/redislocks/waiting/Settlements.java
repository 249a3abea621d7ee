package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.Watchdog;
import org.jspecify.annotations.Nullable;

/** How grants become holds: what each {@link Settlement} needs of the client. */
public final class Settlements {

    private final Clock clock;
    private final Settings settings;
    private final FailoverEpoch epoch;
    private final MonitoredRedis monitored;
    private final Holds holds;
    private final Attempts attempts;
    private final Handoff handoff;
    private final Watchdog watchdog;

    public Settlements(
            Clock clock,
            Settings settings,
            FailoverEpoch epoch,
            MonitoredRedis monitored,
            Holds holds,
            Attempts attempts,
            Handoff handoff,
            Watchdog watchdog) {
        this.clock = clock;
        this.settings = settings;
        this.epoch = epoch;
        this.monitored = monitored;
        this.holds = holds;
        this.attempts = attempts;
        this.handoff = handoff;
        this.watchdog = watchdog;
    }

    /** One of an attempt that has begun; lost: the hold that the thread lost and has not unlocked yet, or null. */
    public Settlement of(Attempt attempt, WaitLimit limit, @Nullable Hold lost) {
        return new Settlement(attempt, limit, lost);
    }

    /** What a grant came to. */
    public enum Result {
        /** It is a hold. */
        HELD,
        /** It cannot be dated yet, or replicas have not confirmed it: once more after a pause. */
        OPEN,
        /** It may have lapsed, or does not count: the attempt has to go on without it. */
        LAPSED
    }

    /**
     * How one thread makes a hold of the grants of its attempt. In short:
     *
     * <pre>
     *   told by a message only    OPEN until it can be dated
     *   after a failover          LAPSED until the grace is over
     *   waits for replicas        OPEN until enough of them have confirmed it
     *   its time is over          LAPSED
     *   else                      HELD
     * </pre>
     */
    public final class Settlement {

        private final Attempt attempt;
        private final WaitLimit limit;
        private final @Nullable Hold lost;

        /** The grant that came with the confirmation of replicas, if they are waited for. */
        private Attempt.@Nullable Grant confirmed;
        /** Why the last request for a confirmation brought none; null if it did, or if none was sent. */
        private @Nullable RedisException unconfirmed;

        private @Nullable Backoff backoff;
        private long confirmAtNanos;
        /** The hold that it came to, or null; also if an error has kept it from being returned. */
        @Nullable
        public Hold made;

        private Settlement(Attempt attempt, WaitLimit limit, @Nullable Hold lost) {
            this.attempt = attempt;
            this.limit = limit;
            this.lost = lost;
        }

        /** Notes a grant that came with the confirmation of replicas, if they are waited for. */
        void isConfirmed(Attempt.Grant grant) {
            confirmed = grant;
        }

        /**
         * Why a grant is still to be confirmed by replicas, if the last request for that brought no answer; or null.
         */
        @Nullable
        RedisException unconfirmed() {
            return unconfirmed;
        }

        /** Makes a hold of a grant if it can. */
        public Result settle(Attempt.Grant grant) {
            Attempt.Grant dated = grant.deadlineNanos() == 0 ? date(grant) : grant;
            long now = clock.nanoTime();
            if (dated.deadlineNanos() == 0 && attempt.isBehind()) {
                return Result.OPEN;
            }
            if (epoch.graceNanos(now) > 0) {
                // Calls go to the new server only once the grace has begun: no answer that came before it is of that
                // one.
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
            if (dated.deadlineNanos() <= now) {
                return lapsed();
            }
            hold(dated, now);
            return Result.HELD;
        }

        private Result lapsed() {
            unconfirmed = null;
            return Result.LAPSED;
        }

        /** How long to wait before {@link #settle} can be tried once more. */
        public long pauseNanos(long now) {
            if (!(attempt.verdict() instanceof Attempt.Grant)) {
                return Long.MAX_VALUE;
            }
            // The pause may have ended since. Without the turn, the thread that passes the turn on wakes this one.
            return confirmAtNanos > now ? confirmAtNanos - now : attempt.isBehind() ? Long.MAX_VALUE : 0;
        }

        /**
         * Lets replicas confirm a grant that another request made, perhaps of another client: only what is written
         * behind it on the connection that waits can tell that they have it. Null if there was no answer.
         */
        private Attempt.@Nullable Grant confirm(Attempt.Grant grant, long sent) {
            long timeout =
                    Math.min(limit.timeoutNanos(sent, settings.commandTimeoutNanos()), grant.deadlineNanos() - sent);
            try {
                Reply reply = monitored.run(Scripts.confirm(attempt).with(settings.acks()), timeout);
                unconfirmed = null;
                long deadline = Answer.isKept(reply) ? sent + Timing.validityNanos(attempt.leaseMillis) : sent;
                return new Attempt.Grant(grant.token(), grant.previousLost(), deadline, grant.turnStartNanos(), true);
            } catch (RedisException e) {
                unconfirmed = e;
                pause();
                if (e instanceof RedisException.Unacknowledged) {
                    throw e;
                }
                attempt.known();
                return null;
            }
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
                // A third of what is left: the claim counts from the last heartbeat that was answered.
                renewal = now + (dated.deadlineNanos() - now) / Timing.RENEWALS_PER_LEASE;
            } else {
                renewal = attempt.renewed ? now + Timing.renewalNanos(attempt.leaseMillis) : Long.MAX_VALUE;
            }
            // One record is enough for all that the thread has still to unlock.
            Hold older = lost == null ? null : lost.below;
            Hold hold = new Hold(attempt, dated, now, renewal, older == null ? lost : older);
            made = hold;
            // Not otherwise: a hold knows its successor, and each would keep the next in memory.
            attempt.had(hold.inDoubt ? hold : null);
            holds.put(hold);
            if (lost != null && older != null) {
                older.standsFor(lost);
            }
            boolean leaves = attempt.mayRun();
            if (leaves) {
                // Before its end: what meets an error here is gone on with as one that is under way.
                handoff.leaveLater(attempt);
            }
            attempts.end(attempt);
            if (!leaves && attempt.mayRun()) {
                handoff.leaveLater(attempt);
            }
            if (hold.failoverEpoch() != epoch.count()) {
                // The new server is asked of it at once.
                hold.renewAt(now);
            }
            watchdog.wakeAt(Math.min(hold.nextRenewalNanos(), hold.deadlineNanos()));
        }

        /**
         * Dates a grant that a message told of, without Redis' clock: its token is greater than the last one when the
         * latest answered request ran, so it was made after that request was sent.
         */
        private Attempt.Grant date(Attempt.Grant grant) {
            Attempt.QueuePosition position = attempt.position();
            long deadline = position == null || grant.token() <= position.lastToken()
                    ? 0
                    : position.sentNanos() + Timing.validityNanos(Timing.claimMillis(attempt.leaseMillis));
            return new Attempt.Grant(
                    grant.token(), grant.previousLost(), deadline, grant.turnStartNanos(), grant.confirmed());
        }
    }
}
