package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
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

/** How a client's threads acquire locks: what each {@link Acquisition} needs of the client. */
public final class Acquisitions {

    private final Clock clock;
    private final Settings settings;
    private final FailoverEpoch epoch;
    private final ServerTimes serverTimes;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final Holds holds;
    private final LocalQueue localQueue;
    private final Attempts attempts;
    private final Mailbox mailbox;
    private final Handoff handoff;
    private final Losses losses;
    private final Watchdog watchdog;

    public Acquisitions(
            Clock clock,
            Settings settings,
            FailoverEpoch epoch,
            ServerTimes serverTimes,
            MonitoredRedis monitored,
            UnavailableMessages unavailable,
            Holds holds,
            LocalQueue localQueue,
            Attempts attempts,
            Mailbox mailbox,
            Handoff handoff,
            Losses losses,
            Watchdog watchdog) {
        this.clock = clock;
        this.settings = settings;
        this.epoch = epoch;
        this.serverTimes = serverTimes;
        this.monitored = monitored;
        this.unavailable = unavailable;
        this.holds = holds;
        this.localQueue = localQueue;
        this.attempts = attempts;
        this.mailbox = mailbox;
        this.handoff = handoff;
        this.losses = losses;
        this.watchdog = watchdog;
    }

    /** One of an attempt that has begun; lost: the hold that the thread lost and has not unlocked yet, or null. */
    public Acquisition of(Attempt attempt, WaitLimit limit, @Nullable Hold lost) {
        return new Acquisition(attempt, limit, lost);
    }

    /**
     * One thread's way to a lock that it does not hold, from the local queue to the hold. In short:
     *
     * <pre>
     *   until a verdict:
     *     granted               date it; if its claim may be over, ask again; let replicas confirm it; return the hold
     *     failed                leave everything, throw
     *     interrupted, too late leave everything, throw or return nothing
     *     after a failover      no grant counts and nobody asks until the grace is over
     *     my turn, no place     ask: taken | busy (open the mailbox, ask for a place) | queued | no answer (pause)
     *     else                  park
     * </pre>
     *
     * A thread that leaves does so by winning the verdict, so that a grant which comes at the same moment is either
     * taken or passed on, never both and never neither.
     */
    public final class Acquisition {

        private final Attempt attempt;
        private final WaitLimit limit;
        private final @Nullable Hold lost;

        private boolean asked;
        private boolean late;
        /** Since when each lock that Redis gave had lapsed when its answer came; 0 if none has. */
        private long lapsedSinceNanos;

        private boolean answered;
        private boolean busy;
        private long askAtNanos;
        private @Nullable Backoff backoff;
        private @Nullable RedisException failure;
        /** The grant that came with the confirmation of replicas, if they are waited for. */
        private Attempt.@Nullable Grant confirmed;
        /** Whether a grant is still to be confirmed by replicas, and the last request for that brought no answer. */
        private boolean unconfirmed;
        /** The hold that it came to, or null; also if an error has kept it from being returned. */
        @Nullable
        public Hold made;

        /** Lost: the hold that the thread lost and has not unlocked yet, or null. */
        private Acquisition(Attempt attempt, WaitLimit limit, @Nullable Hold lost) {
            this.attempt = attempt;
            this.limit = limit;
            this.lost = lost;
        }

        /** Returns the hold, or null if the lock was busy for as long as the caller had time. */
        @Nullable
        public Hold contend() throws InterruptedException {
            try {
                if (attempt.waits && !attempt.fair) {
                    if (!localQueue.enter(attempt)) {
                        attempt.lookAgain(clock.nanoTime());
                        watchdog.wakeAt(attempt.nextHeartbeatNanos);
                    }
                } else {
                    attempt.localTurn = true;
                }
                return await();
            } catch (Throwable e) {
                if (made != null) {
                    // Before any call, for which there may be no room on the stack.
                    made.stranded = true;
                }
                handoff.abandon(attempt);
                throw e;
            }
        }

        private @Nullable Hold await() throws InterruptedException {
            while (true) {
                Attempt.Verdict verdict = attempt.verdict();
                if (verdict instanceof Attempt.Grant grant) {
                    Hold hold = settle(grant);
                    if (hold != null) {
                        return hold;
                    }
                    if (attempt.verdict() != grant) {
                        continue;
                    }
                    // The grant message overtook the local hand-over, or replicas have not confirmed yet: keep waiting.
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
                boolean mayAsk = verdict == null && attempt.localTurn && (attempt.position == null || attempt.toldFree);
                long grace = epoch.graceNanos(now);
                if (mayAsk && grace == 0 && askAtNanos <= now && (!asked || limit.remaining(now) > 0) && !busy) {
                    ask();
                } else if (busy || limit.remaining(now) <= 0 || (grace > 0 && !limit.waits())) {
                    if (attempt.leave(verdict)) {
                        return giveUp(now);
                    }
                } else if (attempt.nextInLine) {
                    linger(now);
                } else {
                    long pause = mayAsk ? Math.max(askAtNanos - now, grace) : pauseNanos(now);
                    clock.park(this, Math.min(limit.remaining(now), pause));
                }
            }
        }

        /** Stays awake while the turn before this one lasts, and lets every other thread go first. */
        @SuppressWarnings("ThreadPriorityCheck") // Nothing but the cost of waiting depends on it.
        private void linger(long now) {
            // Not by the client's clock: what is limited is the processor time that it takes.
            long end = System.nanoTime() + Math.min(LocalQueue.AWAKE_NANOS, limit.remaining(now));
            do {
                Thread.yield();
            } while (attempt.nextInLine
                    && attempt.undecided()
                    && !Thread.currentThread().isInterrupted()
                    && System.nanoTime() - end < 0);
            attempt.nextInLine = false;
        }

        private @Nullable Hold giveUp(long now) {
            boolean mayExist = attempt.mayRun();
            long grace = epoch.graceNanos(now);
            boolean known = isKnownToBeBusy(now);
            handoff.depart(attempt);
            if (grace > 0 && !busy) {
                throw unavailable.tooSoon(attempt.keys, grace, mayExist);
            }
            if (lapsedSinceNanos != 0) {
                throw unavailable.tooFar(attempt, mayExist);
            }
            boolean heard = answered || attempt.position != null;
            if (!heard && failure instanceof RedisException.Unready unready) {
                throw unavailable.notYet(attempt.keys, mayExist, unready);
            }
            if (unconfirmed || !known) {
                // What waited behind another thread has met nothing itself.
                Availability server = monitored.of(attempt.keys.lock());
                RedisException met = failure == null && server.age(now) > 0 ? server.cause() : failure;
                throw unavailable.notAcquired(attempt.keys, now - attempt.beganNanos, mayExist, met);
            }
            return null;
        }

        /**
         * Whether an attempt that ends was told that the lock is busy, or knows it from the thread of this client that
         * has its turn before it; or whether, in its time, Redis answered others of this client and gave them locks, so
         * that there was only too little time. A try that does not wait needs an answer of its own.
         */
        private boolean isKnownToBeBusy(long now) {
            if (answered || attempt.position != null) {
                return true;
            }
            Availability server = monitored.of(attempt.keys.lock());
            boolean hasSpoken = !asked || server.answeredSince(attempt.beganNanos);
            return limit.waits() && hasSpoken && server.age(now) == 0;
        }

        private void ask() {
            asked = true;
            attempt.toldFree = false;
            long sent = clock.nanoTime();
            long timeout = limit.timeoutNanos(sent, settings.commandTimeoutNanos());
            ServerTimes.Date notAfter = serverTimes.date(sent, timeout);
            boolean takePlace = limit.waits() && mailbox.isOpen();
            try {
                Call call = attempt.fastPath
                        ? Scripts.take(attempt, notAfter)
                        : Scripts.acquire(attempt, notAfter, takePlace, losses.lastLostAttempt());
                Reply reply = monitored.run(call.with(settings.acks()), timeout);
                attempt.answered(reply, notAfter);
                if (!reply.is("STALE")) {
                    notAfter.saw(reply);
                }
                switch (reply.code()) {
                    case "OK" -> {
                        attempt.mayExistInRedis = true;
                        long deadline = sent + Timing.validityNanos(attempt.leaseMillis);
                        boolean previousLost = !attempt.fastPath && reply.number(1) == 1;
                        confirmed = new Attempt.Grant(reply.number(0), previousLost, deadline, clock.nanoTime(), true);
                        attempt.decide(confirmed);
                    }
                    case "LINE" -> {
                        attempt.fastPath = false;
                        asked = false;
                    }
                    case "BUSY" -> {
                        answered = true;
                        lapsedSinceNanos = 0;
                        if (limit.waits()) {
                            attempt.fastPath = false;
                            mailbox.open(limit.timeoutNanos(clock.nanoTime(), settings.commandTimeoutNanos()));
                        } else {
                            busy = true;
                            // It asked for no place: nothing to leave, unless an earlier copy may still run.
                            attempt.mayExistInRedis = attempt.mayRun();
                        }
                    }
                    case "QUEUED" -> {
                        answered = true;
                        lapsedSinceNanos = 0;
                        attempt.queued(sent, reply.number(0), reply.number(1));
                        watchdog.wakeAt(attempt.nextHeartbeatNanos);
                    }
                    case "LATE" -> {
                        // It told the time, by which the next one will not be late; the first was none.
                        if (!late) {
                            late = true;
                            asked = false;
                        }
                    }
                    default -> throw new IllegalStateException("Redis answered " + reply + " to " + attempt);
                }
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

        private void failed(RedisException e, ServerTimes.Date notAfter) {
            failure = e;
            attempt.fastPath = false;
            attempt.unanswered(e, notAfter);
            long now = pause();
            boolean hopeless = e instanceof RedisException.Refused refused && !refused.passing();
            long outage = monitored.of(attempt.keys.lock()).age(now);
            if (e instanceof RedisException.Unready unready) {
                // Some master may have its place.
                attempt.mayExistInRedis = true;
                if (!limit.waits()) {
                    attempt.decide(new Attempt.Failure(unavailable.notYet(attempt.keys, attempt.mayRun(), unready)));
                }
            } else if (hopeless || (e instanceof RedisException.Refused && !limit.waits()) || limit.isPast(outage)) {
                attempt.decide(new Attempt.Failure(unavailable.notAcquired(
                        attempt.keys, Math.max(outage, now - attempt.beganNanos), attempt.mayRun(), e)));
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

        /**
         * Makes the hold of a grant; null if it may have lapsed and Redis must be asked, or if it cannot be dated yet.
         */
        @Nullable
        public Hold settle(Attempt.Grant grant) {
            Attempt.Grant dated = grant.deadlineNanos() == 0 ? date(grant) : grant;
            long now = clock.nanoTime();
            if (dated.deadlineNanos() == 0 && !attempt.localTurn) {
                return null;
            }
            if (epoch.graceNanos(now) > 0) {
                // Calls go to the new server only once the grace has begun: no answer that came before it is of that
                // one.
                askAnew(grant);
                return null;
            }
            if (dated.deadlineNanos() > now && settings.replicaAcks() > 0 && !grant.equals(confirmed)) {
                if (askAtNanos > now) {
                    return null;
                }
                dated = confirm(dated, now);
                if (dated == null) {
                    return null;
                }
                now = clock.nanoTime();
            }
            if (dated.deadlineNanos() <= now) {
                askAnew(grant);
                return null;
            }
            return hold(dated, now);
        }

        /** Goes on without a grant that has lapsed, or that does not count yet. */
        private void askAnew(Attempt.Grant lapsed) {
            unconfirmed = false;
            if (attempt.fromCondition) {
                // It asks by its place, which knows how often the lock is to be held.
                attempt.nextHeartbeatNanos = 0;
                attempt.reopen(lapsed);
                attempts.failIfClosed(attempt);
                watchdog.wakeAt(0);
                return;
            }
            attempt.position = null;
            attempt.reopen(lapsed);
            attempts.failIfClosed(attempt);
            if (lapsed.confirmed()) {
                // The answer took longer than the lease; do not ask in a tight loop.
                lapsed(pause());
            }
        }

        private void lapsed(long now) {
            lapsedSinceNanos = lapsedSinceNanos == 0 ? now : lapsedSinceNanos;
            if (limit.isPast(now - lapsedSinceNanos)) {
                attempt.decide(new Attempt.Failure(unavailable.tooFar(attempt, true)));
            }
        }

        /**
         * Lets replicas confirm a grant that another request made, perhaps of another client: only what is written
         * behind it on the connection that waits can tell that they have it. Null if there was no answer.
         */
        private Attempt.@Nullable Grant confirm(Attempt.Grant grant, long sent) {
            long timeout =
                    Math.min(limit.timeoutNanos(sent, settings.commandTimeoutNanos()), grant.deadlineNanos() - sent);
            unconfirmed = true;
            try {
                Reply reply = monitored.run(Scripts.confirm(attempt).with(settings.acks()), timeout);
                unconfirmed = false;
                long deadline = reply.is("OK") ? sent + Timing.validityNanos(attempt.leaseMillis) : sent;
                return new Attempt.Grant(grant.token(), grant.previousLost(), deadline, grant.turnStartNanos(), true);
            } catch (RedisException.Unacknowledged e) {
                pause();
                throw e;
            } catch (RedisException e) {
                failure = e;
                attempt.mayExistInRedis = true;
                pause();
                return null;
            }
        }

        /** How long to wait before {@link #settle} can be tried once more. */
        public long pauseNanos(long now) {
            if (!(attempt.verdict() instanceof Attempt.Grant)) {
                return Long.MAX_VALUE;
            }
            // The pause may have ended since. Without the turn, the thread that passes the turn on wakes this one.
            return askAtNanos > now ? askAtNanos - now : attempt.localTurn ? 0 : Long.MAX_VALUE;
        }

        private Hold hold(Attempt.Grant dated, long now) {
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
            attempt.had = hold.inDoubt ? hold : null;
            holds.put(hold);
            if (lost != null && older != null) {
                older.count += lost.count;
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
            if (hold.failoverEpoch != epoch.count()) {
                // The new server is asked of it at once.
                hold.nextRenewalNanos = now;
            }
            watchdog.wakeAt(Math.min(hold.nextRenewalNanos, hold.deadlineNanos()));
            return hold;
        }

        /**
         * Dates a grant that a message told of, without Redis' clock: its token is greater than the last one when the
         * latest answered request ran, so it was made after that request was sent.
         */
        private Attempt.Grant date(Attempt.Grant grant) {
            Attempt.QueuePosition position = attempt.position;
            long deadline = position == null || grant.token() <= position.lastToken()
                    ? 0
                    : position.sentNanos() + Timing.validityNanos(Timing.claimMillis(attempt.leaseMillis));
            return new Attempt.Grant(
                    grant.token(), grant.previousLost(), deadline, grant.turnStartNanos(), grant.confirmed());
        }
    }
}
