package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.Availability;
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
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.Watchdog;
import org.jspecify.annotations.Nullable;

/** How a client's threads acquire locks: what each {@link Acquisition} needs of the client. */
public final class Acquisitions {

    private final Clock clock;
    private final Settings settings;
    private final FailoverEpoch epoch;
    private final ServerTimes serverTimes;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final LocalQueue localQueue;
    private final Attempts attempts;
    private final Mailbox mailbox;
    private final Handoff handoff;
    private final Losses losses;
    private final Settlements settlements;
    private final Watchdog watchdog;

    public Acquisitions(RedisAccess access, WaitingParts parts) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.epoch = access.epoch();
        this.serverTimes = access.serverTimes();
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.localQueue = parts.localQueue();
        this.attempts = parts.attempts();
        this.mailbox = parts.mailbox();
        this.handoff = parts.handoff();
        this.losses = parts.losses();
        this.settlements = parts.settlements();
        this.watchdog = parts.watchdog();
    }

    /**
     * One of an attempt that has begun.
     *
     * @param lost the hold that the thread lost and has not unlocked yet, or null
     * @param fastPath whether to ask first whether the lock is free and nobody waits, which costs less than to queue
     */
    public Acquisition of(Attempt attempt, WaitLimit limit, @Nullable Hold lost, boolean fastPath) {
        return new Acquisition(attempt, limit, settlements.of(attempt, limit, lost), fastPath);
    }

    /** What Redis has said of the lock. */
    public enum Told {
        NOTHING,
        BUSY,
        /** Busy, to an attempt that does not wait: it ends. */
        DECLINED,
        /** The lock was given, but each time its lease had lapsed when the answer came. */
        LAPSED
    }

    /**
     * One thread's way to a lock that it does not hold, from the local queue to the hold. In short:
     *
     * <pre>
     *   until a verdict:
     *     granted               settle: HELD returns the hold, OPEN waits, LAPSED asks again
     *     failed                leave everything, throw
     *     interrupted, too late leave everything, throw or return nothing
     *     after a failover      no grant counts and nobody asks until the grace is over
     *     CONTENDING, told free ask: taken | busy (open the mailbox, ask for a place) | queued | no answer (pause)
     *     else                  park
     * </pre>
     *
     * A thread that leaves does so by winning the verdict, so that a grant which comes at the same moment is either
     * taken or passed on, never both and never neither.
     */
    public final class Acquisition {

        private final Attempt attempt;
        private final WaitLimit limit;
        private final Settlements.Settlement settlement;
        private boolean fastPath;

        /** Whether it has sent a request that can have the lock. */
        private boolean asked;

        /** By the last answer that says one of these. */
        private Told told = Told.NOTHING;
        /** Since when it has been told LAPSED. */
        private long lapsedSinceNanos;

        private long askAtNanos;
        private @Nullable Backoff backoff;
        private @Nullable RedisException failure;

        private Acquisition(Attempt attempt, WaitLimit limit, Settlements.Settlement settlement, boolean fastPath) {
            this.attempt = attempt;
            this.limit = limit;
            this.settlement = settlement;
            this.fastPath = fastPath;
        }

        /** Whether nobody else was found at the lock, so that the next is likely to find nobody as well. */
        public boolean stayedOnFastPath() {
            return fastPath;
        }

        /** Returns the hold, or null if the lock was busy for as long as the caller had time. */
        @Nullable
        public Hold contend() throws InterruptedException {
            try {
                if (attempt.isBehind() && !localQueue.enter(attempt)) {
                    attempt.lookAgain(clock.nanoTime());
                    watchdog.wakeAt(attempt.nextHeartbeatNanos());
                }
                return await();
            } catch (Throwable e) {
                if (settlement.made != null) {
                    // Before any call, for which there may be no room on the stack.
                    settlement.made.stranded = true;
                }
                handoff.abandon(attempt);
                throw e;
            }
        }

        private @Nullable Hold await() throws InterruptedException {
            while (true) {
                Attempt.Verdict verdict = attempt.verdict();
                if (verdict instanceof Attempt.Grant grant) {
                    Settlements.Result result = settlement.settle(grant);
                    if (result == Settlements.Result.HELD) {
                        return settlement.made;
                    }
                    if (result == Settlements.Result.LAPSED) {
                        goOnWithout(grant);
                        continue;
                    }
                }
                if (verdict instanceof Attempt.Failure failed) {
                    throw failed.raised();
                }
                if (limit.interrupted()) {
                    if (attempt.leave(verdict)) {
                        handoff.depart(attempt);
                        limit.thrown();
                        throw new InterruptedException();
                    }
                    continue;
                }
                long now = clock.nanoTime();
                boolean mayAsk = verdict == null && attempt.mayAsk();
                long grace = epoch.graceNanos(now);
                if (mayAsk && grace == 0 && askAtNanos <= now && wantsToAsk(now)) {
                    ask();
                } else if (told == Told.DECLINED || limit.remaining(now) <= 0 || (grace > 0 && !limit.waits())) {
                    if (attempt.leave(verdict)) {
                        return giveUp(now);
                    }
                } else {
                    long pause = mayAsk ? Math.max(askAtNanos - now, grace) : settlement.pauseNanos(now);
                    clock.park(this, Math.min(limit.remaining(now), pause));
                }
            }
        }

        /** One request is sent whatever time is left. */
        private boolean wantsToAsk(long now) {
            return told != Told.DECLINED && (!asked || limit.remaining(now) > 0);
        }

        private @Nullable Hold giveUp(long now) {
            boolean mayExist = attempt.mayRun();
            long grace = epoch.graceNanos(now);
            boolean known = isKnownToBeBusy(now);
            handoff.depart(attempt);
            if (grace > 0 && told != Told.DECLINED) {
                throw unavailable.tooSoon(attempt.keys, grace, mayExist);
            }
            if (told == Told.LAPSED) {
                throw unavailable.tooFar(attempt, mayExist);
            }
            if (!wasToldBusy() && failure instanceof RedisException.Unready unready) {
                throw unavailable.notYet(attempt.keys, mayExist, unready);
            }
            RedisException unconfirmed = settlement.unconfirmed();
            if (unconfirmed != null || !known) {
                // What waited behind another thread has met nothing itself.
                Availability server = monitored.of(attempt.keys.lock());
                RedisException met = unconfirmed == null ? failure : unconfirmed;
                RedisException cause = met == null && server.age(now) > 0 ? server.cause() : met;
                throw unavailable.notAcquired(attempt.keys, now - attempt.beganNanos(), mayExist, cause);
            }
            return null;
        }

        private boolean wasToldBusy() {
            return told == Told.BUSY || told == Told.DECLINED || attempt.position() != null;
        }

        /**
         * Whether an attempt that ends was told that the lock is busy, or knows it from the thread of this client that
         * has its turn before it; or whether, in its time, Redis answered others of this client and gave them locks, so
         * that there was only too little time. A try that does not wait needs an answer of its own.
         */
        private boolean isKnownToBeBusy(long now) {
            if (wasToldBusy()) {
                return true;
            }
            Availability server = monitored.of(attempt.keys.lock());
            boolean hasSpoken = !asked || server.answeredSince(attempt.beganNanos());
            return limit.waits() && hasSpoken && server.age(now) == 0;
        }

        private void ask() {
            asked = true;
            attempt.asks();
            long sent = clock.nanoTime();
            long timeout = limit.timeoutNanos(sent, settings.commandTimeoutNanos());
            ServerTimes.Date notAfter = serverTimes.date(sent, timeout);
            boolean takePlace = limit.waits() && mailbox.isOpen();
            try {
                Call call = fastPath
                        ? Scripts.take(attempt, notAfter)
                        : Scripts.acquire(attempt, notAfter, takePlace, losses.lastLostAttempt());
                Reply reply = monitored.run(call.with(settings.acks()), timeout);
                attempt.answered(reply, notAfter);
                answered(fastPath ? Answer.ofTake(reply) : Answer.of(reply), sent);
            } catch (RedisException.Unacknowledged e) {
                // It does not say whether it was sent twice.
                attempt.mayHaveRun(notAfter);
                throw e;
            } catch (RedisException e) {
                failed(e, notAfter);
            } catch (RuntimeException | Error e) {
                attempt.mayHaveRun(notAfter);
                throw e;
            }
        }

        private void answered(Answer answer, long sent) {
            if (answer instanceof Answer.Granted granted) {
                attempt.known();
                long deadline = sent + Timing.validityNanos(attempt.leaseMillis);
                Attempt.Grant grant =
                        new Attempt.Grant(granted.token(), granted.previousLost(), deadline, clock.nanoTime(), true);
                settlement.isConfirmed(grant);
                attempt.decide(grant);
            } else if (answer instanceof Answer.Queued queued) {
                told = Told.BUSY;
                attempt.queued(sent, queued.lastToken(), queued.holderMillis());
                watchdog.wakeAt(attempt.nextHeartbeatNanos());
            } else if (answer == Answer.Word.LINE) {
                fastPath = false;
                asked = false;
            } else if (answer == Answer.Word.BUSY && limit.waits()) {
                told = Told.BUSY;
                fastPath = false;
                mailbox.open(limit.timeoutNanos(clock.nanoTime(), settings.commandTimeoutNanos()));
            } else if (answer == Answer.Word.BUSY) {
                told = Told.DECLINED;
                // It asked for no place: nothing to leave, unless an earlier copy may still run.
                attempt.unknown();
            } else if (answer != Answer.Word.LATE) {
                throw new IllegalStateException("Redis answered " + answer + " to " + attempt);
            }
        }

        private void failed(RedisException e, ServerTimes.Date notAfter) {
            failure = e;
            fastPath = false;
            attempt.unanswered(e, notAfter);
            long now = pause();
            boolean hopeless = e instanceof RedisException.Refused refused && !refused.passing();
            long outage = monitored.of(attempt.keys.lock()).age(now);
            if (e instanceof RedisException.Unready unready) {
                // Some master may have its place.
                attempt.known();
                if (!limit.waits()) {
                    attempt.decide(new Attempt.Failure(unavailable.notYet(attempt.keys, attempt.mayRun(), unready)));
                }
            } else if (hopeless || (e instanceof RedisException.Refused && !limit.waits()) || limit.isPast(outage)) {
                attempt.decide(new Attempt.Failure(unavailable.notAcquired(
                        attempt.keys, Math.max(outage, now - attempt.beganNanos()), attempt.mayRun(), e)));
            }
        }

        private long pause() {
            long now = clock.nanoTime();
            if (backoff == null) {
                backoff = Backoff.ofRequests();
            }
            askAtNanos = now + backoff.next();
            return now;
        }

        /** Goes on without a grant that has lapsed, or that does not count yet. */
        private void goOnWithout(Attempt.Grant lapsed) {
            attempt.placeLost();
            attempt.reopen(lapsed);
            attempts.failIfClosed(attempt);
            if (lapsed.confirmed()) {
                // The answer took longer than the lease; do not ask in a tight loop.
                long now = pause();
                if (told != Told.LAPSED) {
                    told = Told.LAPSED;
                    lapsedSinceNanos = now;
                }
                if (limit.isPast(now - lapsedSinceNanos)) {
                    attempt.decide(new Attempt.Failure(unavailable.tooFar(attempt, true)));
                }
            }
        }
    }
}
