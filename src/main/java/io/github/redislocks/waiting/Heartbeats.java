package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.Job;
import io.github.redislocks.watchdog.Task;

/**
 * The watchdog task for waiters: it keeps their places in Redis alive, and asks for the lock when the holder's lease
 * should be over, so that no wake-up depends on a message. It makes waiters fail if Redis has been away for too long.
 */
public final class Heartbeats implements Task {

    private static final long PAUSE_NANOS = 100_000_000;
    /** The longest time between two inspections of an attempt. */
    private static final long LOOK_NANOS = Timing.HEARTBEAT_MILLIS * 1_000_000;

    /** How long the watchdog rests after an inspection, for each waiter beyond the first thousand. */
    private static final long REST_NANOS = 1_000;

    private static final long FEW = 1_000;
    /** The longest rest: short enough that no renewal comes too late, even with the shortest lease. */
    private static final long MOST_REST_NANOS = Timing.renewalNanos(Settings.MIN_LEASE.toMillis()) / 8;

    private final RedisAccess access;
    private final Clock clock;
    private final Attempts attempts;
    private final Handoff handoff;

    public Heartbeats(RedisAccess access, Attempts attempts, Handoff handoff) {
        this.access = access;
        this.clock = access.clock();
        this.attempts = attempts;
        this.handoff = handoff;
    }

    /** The rest depends on the number of waiters: an inspection visits each of them, even those in the local queue. */
    @Override
    public long restNanos() {
        long many = Math.max(0, attempts.count() - FEW);
        return Math.min(many * REST_NANOS, MOST_REST_NANOS);
    }

    @Override
    public long inspect(long now, long horizon, Batch due) {
        Look look = new Look(now, horizon, due);
        Steps.forEach(attempts.all(), look::at);
        // Inspect again while there are attempts: an error may end a call without waking the watchdog.
        return look.next == Long.MAX_VALUE && !attempts.isEmpty() ? now + LOOK_NANOS : look.next;
    }

    private final class Look {

        private final long now;
        private final long horizon;
        private final Batch due;
        private final long grace;
        private long next = Long.MAX_VALUE;

        Look(long now, long horizon, Batch due) {
            this.now = now;
            this.horizon = horizon;
            this.due = due;
            this.grace = access.epoch().graceNanos(now);
        }

        void at(Attempt attempt) {
            if (attempt.stranded) {
                handoff.rescue(attempt);
            }
            if (!attempt.undecided() || fails(attempt)) {
                return;
            }
            if (attempt.position() == null || attempt.isHeartbeatInFlight()) {
                return;
            }
            if (grace > 0) {
                // Send no heartbeat during the failover grace: it could take a free lock, or hand the lock to another
                // waiter.
                next = Math.min(next, now + grace);
            } else if (attempt.nextHeartbeatNanos() > horizon) {
                next = Math.min(next, attempt.nextHeartbeatNanos());
            } else {
                due.add(attempt.keys.lock(), new Heartbeat(attempt));
            }
        }

        /** Makes an attempt fail if Redis has been away for too long; returns whether the attempt fails. */
        private boolean fails(Attempt attempt) {
            Availability server = access.monitored().of(attempt.keys.lock());
            long outage = server.age(now);
            if (outage == 0 || attempt.bearsOutages()) {
                return false;
            }
            long bearable = attempt.retryForNanos;
            if (outage > bearable && server.failedSince(attempt.beganNanos())) {
                attempt.decide(new Attempt.Failure(access.unavailable().notServed(attempt, outage, server.cause())));
                return true;
            }
            next = Math.min(next, now + Math.max(PAUSE_NANOS, bearable - outage + 1));
            return false;
        }
    }

    public final class Heartbeat implements Job {

        private final Attempt attempt;
        private ServerTimes.Date notAfter;

        public Heartbeat(Attempt attempt) {
            this.attempt = attempt;
            this.notAfter = access.serverTimes().date(0, 0);
        }

        @Override
        public boolean begin() {
            return attempt.beginHeartbeat();
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            notAfter = access.serverTimes().date(sentNanos, timeoutNanos);
            attempt.sends(sentNanos);
            return Scripts.heartbeat(attempt, notAfter);
        }

        @Override
        public boolean wantsPing() {
            return true;
        }

        @Override
        public long patienceNanos() {
            return Timing.claimMillis(attempt.leaseMillis) * 1_000_000;
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            attempt.answered(reply, notAfter);
            attempt.endHeartbeat();
            Answer answer = Answer.to(attempt, reply);
            if (answer instanceof Answer.Granted granted && granted(granted, sentNanos)) {
                return;
            }
            if (answer instanceof Answer.Queued queued) {
                attempt.queued(sentNanos, queued.lastToken(), queued.holderMillis());
                attempt.leftCondition();
            } else if (answer instanceof Answer.OtherSize present) {
                attempt.decide(present.failureOf(attempt));
            } else if (answer instanceof Answer.Waiting waiting) {
                attempt.queued(sentNanos, waiting.lastToken(), -1);
            } else if (answer instanceof Answer.Word && answer != Answer.Word.LATE) {
                // After LATE, leave the heartbeat due: the reply contained the server's time, so the next heartbeat
                // will not be late.
                attempt.heartbeatAt(clock.nanoTime() + PAUSE_NANOS);
            }
            leaveIfEnded();
        }

        /** Makes a grant the verdict; returns false if there was an earlier verdict, so that nobody uses this grant. */
        private boolean granted(Answer.Granted granted, long sentNanos) {
            if (granted.recalled()) {
                attempt.owner.wanted(attempt.number);
            }
            return attempt.decide(granted.claimOf(attempt, sentNanos, clock.nanoTime()));
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            attempt.unanswered(failure, notAfter);
            attempt.endHeartbeat();
            if (failure.isPermanent() && !attempt.isInCondition()) {
                attempt.decide(new Attempt.Failure(access.unavailable().notServed(attempt, 0, failure)));
            }
            long pause = failure instanceof RedisException.Unready
                    ? Timing.heartbeatMillis(attempt.leaseMillis) * 1_000_000
                    : PAUSE_NANOS;
            attempt.heartbeatAt(clock.nanoTime() + pause);
            leaveIfEnded();
        }

        @Override
        public void end() {
            if (attempt.isHeartbeatInFlight()) {
                // An error prevented the outcome from being noted, so the request may have run.
                attempt.mayHaveRun(notAfter);
                attempt.endHeartbeat();
                leaveIfEnded();
            }
        }

        /** The heartbeat may have taken a place or the lock for an attempt that had ended meanwhile. */
        private void leaveIfEnded() {
            if (attempts.hasEnded(attempt)) {
                handoff.leaveLater(attempt);
            }
        }
    }
}
