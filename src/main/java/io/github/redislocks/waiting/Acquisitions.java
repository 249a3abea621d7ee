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

/** Makes the {@link Acquisition}s of a client: the parts of the client that each acquisition of a lock needs. */
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
    private final Wanted wanted;
    private final Watchdog watchdog;

    public Acquisitions(RedisAccess access, WaitingParts parts, Wanted wanted) {
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
        this.wanted = wanted;
        this.watchdog = parts.watchdog();
    }

    /**
     * Makes the acquisition of an attempt that has begun.
     *
     * @param lost the lost hold of the same thread that it has not unlocked yet, or null
     * @param fastPath whether to try first to take the lock if it is free and nobody waits, which costs less than
     *     queueing
     */
    public Acquisition of(Attempt attempt, WaitLimit limit, @Nullable Hold lost, boolean fastPath) {
        return new Acquisition(attempt, limit, settlements.of(attempt, limit, lost), fastPath);
    }

    /** Makes the acquisition of an attempt that has begun and that no thread waits for. */
    public Unattended unattended(Attempt attempt, WaitLimit limit) {
        // A quorum, which has no queue, has no short scripts either.
        return new Unattended(attempt, limit, monitored.hasLines());
    }

    /** What Redis has said of the lock. */
    public enum Told {
        NOTHING,
        BUSY,
        /** Busy, and the attempt does not wait: it ends. */
        DECLINED,
        /** The lock was granted, but each time the lease had ended before the reply came. */
        LAPSED
    }

    /**
     * A thread's acquisition of a lock that it does not hold, from the local queue to the hold. In short:
     *
     * <pre>
     *   until a verdict:
     *     granted               settle: HELD returns the hold, OPEN pauses, LAPSED asks again
     *     failed                throw, which leaves queue and Redis
     *     interrupted, too late leave queue and Redis; throw, or return null
     *     after a failover      until the grace is over no grant counts and no thread asks
     *     CONTENDING, told free ask: taken | busy (open the mailbox, ask for a place) | queued | no answer (pause)
     *     else                  park
     * </pre>
     *
     * A thread that leaves does so by setting the verdict. So a grant that comes at the same moment is either taken or
     * passed on, never both and never neither.
     */
    public class Acquisition {

        /** From {@link #step}: the acquisition has ended, with a hold or without. */
        static final long ENDED = -1;

        final Attempt attempt;
        private final WaitLimit limit;
        private final Settlements.Settlement settlement;
        private boolean fastPath;
        private boolean tookFree;

        /** Whether a request that can acquire the lock has been sent. */
        private boolean asked;

        /** The state of the lock by the last reply. */
        private Told told = Told.NOTHING;
        /** When {@link #told} became LAPSED. */
        private long lapsedSinceNanos;

        private long askAtNanos;
        /** Set once a try has sent a question to the client that keeps the lock. */
        private boolean tried;
        /** Whether the mailbox was open when the last request was made. */
        private boolean listened;

        private @Nullable Backoff backoff;
        private @Nullable RedisException failure;
        /** Whether the last request has failed. */
        private boolean failed;

        private Acquisition(Attempt attempt, WaitLimit limit, Settlements.Settlement settlement, boolean fastPath) {
            this.attempt = attempt;
            this.limit = limit;
            this.settlement = settlement;
            this.fastPath = fastPath;
        }

        /**
         * Whether nobody else held or wanted the lock, so that the next acquisition is likely to meet nobody either.
         */
        public boolean stayedOnFastPath() {
            return fastPath;
        }

        /** Whether a request of its own found the lock free, and nobody in line or in a Condition. */
        public boolean tookFree() {
            return tookFree;
        }

        /** Returns the hold, or null if the lock was busy for as long as the caller had time. */
        @Nullable
        public Hold contend() throws InterruptedException {
            try {
                enter();
                long now = clock.nanoTime();
                long pause = step();
                while (pause != ENDED) {
                    if (pause > 0) {
                        clock.parkFrom(now, this, pause);
                    }
                    now = clock.nanoTime();
                    pause = step();
                }
                return made();
            } catch (Throwable e) {
                strand();
                handoff.abandon(attempt);
                throw e;
            }
        }

        /** Takes its place in the local queue, if it has to pass that. */
        final void enter() {
            if (!attempt.isBehind()) {
                return;
            }
            // Set the time of the next look before the attempt joins the queue: once it is there, the thread that
            // releases the lock may give it a place in Redis and set another time, which must not be overwritten.
            attempt.lookAgain(clock.nanoTime());
            if (!localQueue.enter(attempt)) {
                watchdog.wakeAt(attempt.nextHeartbeatNanos());
                wanted.byAttempt(attempt.keys);
            }
        }

        final Settlements.Settlement settlement() {
            return settlement;
        }

        /** The hold that it came to; null if it has not ended or was busy. */
        @Nullable
        final Hold made() {
            return settlement.made;
        }

        /** Leaves a hold that nobody will be given to the watchdog. */
        public void strand() {
            settlement.strand();
        }

        /**
         * Goes one step on. Returns for how long nothing is to be done unless the owner is woken: 0 to go on at once,
         * {@link Long#MAX_VALUE} if for ever; or {@link #ENDED}.
         */
        long step() throws InterruptedException {
            Attempt.Verdict verdict = attempt.verdict();
            if (verdict instanceof Attempt.Grant grant) {
                Settlements.Result result = settlement.settle(grant);
                if (result == Settlements.Result.HELD) {
                    return ENDED;
                }
                if (result == Settlements.Result.LAPSED) {
                    goOnWithout(grant);
                    return 0;
                }
            }
            if (verdict instanceof Attempt.Failure failed) {
                throw failed.raised();
            }
            if (limit.interrupted()) {
                if (attempt.leave(verdict)) {
                    depart();
                    limit.thrown();
                    throw new InterruptedException();
                }
                return 0;
            }
            long now = clock.nanoTime();
            boolean mayAsk = verdict == null && attempt.mayAsk();
            if (tried && attempt.isToldFree()) {
                askAtNanos = now;
            }
            long grace = epoch.graceNanos(now);
            if (mayAsk && grace == 0 && askAtNanos <= now && wantsToAsk(now)) {
                ask();
                return 0;
            }
            if (told == Told.DECLINED || limit.remaining(now) <= 0 || (grace > 0 && !limit.waits())) {
                if (attempt.leave(verdict)) {
                    giveUp(now);
                    return ENDED;
                }
                return 0;
            }
            long pause = mayAsk ? Math.max(askAtNanos - now, grace) : settlement.pauseNanos(now);
            return Math.max(0, Math.min(limit.remaining(now), pause));
        }

        /** Sees to it that a grant would be told. */
        void openMailbox() {
            mailbox.open(limit.timeoutNanos(clock.nanoTime(), settings.commandTimeoutNanos()));
        }

        /** Leaves the local queue and Redis. */
        void depart() {
            handoff.depart(attempt);
        }

        /** Whether to ask now: only a first request needs no time that is left. */
        private boolean wantsToAsk(long now) {
            return told != Told.DECLINED && (!asked || limit.remaining(now) > 0);
        }

        private void giveUp(long now) {
            boolean mayExist = attempt.mayRun();
            long grace = epoch.graceNanos(now);
            boolean known = isKnownToBeBusy(now);
            depart();
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
                // An attempt that waited behind another thread of the client has seen no failure itself: then take the
                // last failure of the server as the cause.
                Availability server = monitored.of(attempt.keys.lock());
                RedisException met = unconfirmed == null ? failure : unconfirmed;
                RedisException cause = met == null && server.age(now) > 0 ? server.cause() : met;
                throw unavailable.notAcquired(attempt.keys, now - attempt.beganNanos(), mayExist, cause);
            }
        }

        private boolean wasToldBusy() {
            return told == Told.BUSY || told == Told.DECLINED || attempt.position() != null;
        }

        /**
         * Whether an attempt that ends knows that the lock was busy: a reply said so; or another thread of this client
         * had the local turn all the time, and Redis is not away; or its own request got no reply while Redis answered
         * other requests of this client, so that only its time was too short. A try without time needs a reply of its
         * own.
         */
        private boolean isKnownToBeBusy(long now) {
            if (wasToldBusy()) {
                return true;
            }
            Availability server = monitored.of(attempt.keys.lock());
            boolean hasSpoken = !asked || server.answeredSince(limit.beganNanos());
            return limit.waits() && hasSpoken && server.age(now) == 0;
        }

        void ask() {
            beginToAsk();
            long sent = clock.nanoTime();
            long timeout = limit.timeoutNanos(sent, settings.commandTimeoutNanos());
            ServerTimes.Date notAfter = serverTimes.date(sent, timeout);
            try {
                answered(monitored.run(call(notAfter), timeout), notAfter, sent);
            } catch (RedisException.Unacknowledged e) {
                // The exception does not say whether the request was sent twice, so a copy may still run.
                attempt.mayHaveRun(notAfter);
                throw e;
            } catch (RedisException e) {
                failed(e, notAfter);
            } catch (RuntimeException | Error e) {
                attempt.mayHaveRun(notAfter);
                throw e;
            }
        }

        final void beginToAsk() {
            if (failed) {
                failed = false;
                monitored.retried();
            }
            asked = true;
            tookFree = false;
            attempt.asks();
        }

        /** Makes the call that asks for the lock now. */
        final Call call(ServerTimes.Date notAfter) {
            boolean listens = mailbox.isOpen();
            listened = listens;
            boolean tries = !limit.waits() && listens && !tried;
            Call call;
            if (fastPath) {
                call = Scripts.take(attempt, notAfter, tries);
            } else if (tries) {
                call = Scripts.acquireOnce(attempt, notAfter, losses.lastLostAttempt());
            } else {
                call = Scripts.acquire(attempt, notAfter, limit.waits() && listens, losses.lastLostAttempt());
            }
            return call.with(settings.acks());
        }

        final void answered(Reply reply, ServerTimes.Date notAfter, long sent) {
            attempt.answered(reply, notAfter);
            answered(fastPath ? Answer.ofTake(reply) : Answer.of(reply), sent);
        }

        private void answered(Answer answer, long sent) {
            if (answer instanceof Answer.Granted granted) {
                attempt.known();
                tookFree = fastPath;
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
            } else if ((answer == Answer.Word.BUSY || answer == Answer.Word.RESIDENT) && limit.waits()) {
                told = Told.BUSY;
                fastPath = false;
                openMailbox();
            } else if (answer == Answer.Word.RESIDENT && !tried) {
                told = Told.BUSY;
                attempt.unknown();
                if (listened) {
                    tried = true;
                    askAtNanos = Long.MAX_VALUE;
                } else {
                    openMailbox();
                }
            } else if (answer == Answer.Word.BUSY || answer == Answer.Word.RESIDENT) {
                told = Told.DECLINED;
                // The request asked for no place, so there is nothing to leave, unless an earlier copy may still run.
                attempt.unknown();
            } else if (answer != Answer.Word.LATE) {
                throw new IllegalStateException("Redis answered " + answer + " to " + attempt);
            }
        }

        final void failed(RedisException e, ServerTimes.Date notAfter) {
            failure = e;
            failed = true;
            fastPath = false;
            attempt.unanswered(e, notAfter);
            long now = pause();
            long outage = monitored.of(attempt.keys.lock()).age(now);
            if (e instanceof RedisException.Unready unready) {
                // A master may know the attempt, so it has to be withdrawn later.
                attempt.known();
                if (!limit.waits()) {
                    attempt.decide(new Attempt.Failure(unavailable.notYet(attempt.keys, attempt.mayRun(), unready)));
                }
            } else if (e.isPermanent()
                    || (e instanceof RedisException.Refused && !limit.waits())
                    || limit.isPast(outage)) {
                attempt.decide(new Attempt.Failure(unavailable.notAcquired(
                        attempt.keys, Math.max(outage, now - attempt.beganNanos()), attempt.mayRun(), e)));
            }
        }

        final long pause() {
            long now = clock.nanoTime();
            if (backoff == null) {
                backoff = Backoff.ofRequests();
            }
            askAtNanos = now + backoff.next();
            return now;
        }

        /** Continues without a grant that has lapsed, or that does not count after a failover. */
        private void goOnWithout(Attempt.Grant lapsed) {
            attempt.placeLost();
            attempt.reopen(lapsed);
            attempts.failIfClosed(attempt);
            if (lapsed.confirmed()) {
                // The reply took longer than the lease; do not ask in a tight loop.
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

    /**
     * The way of an attempt that no thread waits for. Its requests go in the background, one at a time; what became of
     * one is heard at the next step. To be stepped by one thread at a time, each time that its owner is woken.
     */
    public final class Unattended extends Acquisition {

        private @Nullable BackgroundRequest request;

        private Unattended(Attempt attempt, WaitLimit limit, boolean fastPath) {
            super(attempt, limit, settlements.of(attempt, limit, null), fastPath);
            settlement().inBackground(this::send);
        }

        /** Begins: takes a place in the local queue if it has to. Does not wait. */
        public void begin() {
            enter();
        }

        /** The hold that it came to; null if it has not ended, or was busy. */
        @Nullable
        public Hold hold() {
            return made();
        }

        /**
         * Goes on as far as it can without waiting.
         *
         * @return for how many ns there is nothing to do unless the owner is woken, or -1 if it has ended
         */
        public long advance() throws InterruptedException {
            long pause = 0;
            while (pause == 0) {
                BackgroundRequest current = request;
                if (current != null && !current.hasEnded()) {
                    return Long.MAX_VALUE;
                }
                request = null;
                if (current != null) {
                    current.deliver();
                }
                pause = step();
            }
            return pause;
        }

        /** Gives up, as soon as no request is under way; whether it has. */
        public boolean cancel() {
            BackgroundRequest current = request;
            if (current != null && !current.hasEnded()) {
                return false;
            }
            request = null;
            if (current != null) {
                // Deliver the outcome although nobody waits for it: it records whether a copy of the request may still
                // run.
                deliverToNobody(current);
            }
            handoff.rescue(attempt);
            return true;
        }

        private void deliverToNobody(BackgroundRequest ended) {
            try {
                ended.deliver();
            } catch (RedisException e) {
                // Ignored: no caller waits for this failure any more.
            }
        }

        /** Ends it after an error or a failure. */
        public void abandon() {
            strand();
            if (attempts.isUnderWay(attempt)) {
                handoff.rescue(attempt);
            }
        }

        @Override
        public void strand() {
            super.strand();
            BackgroundRequest current = request;
            if (current != null) {
                current.drop();
            }
        }

        private void send(BackgroundRequest next) {
            request = next;
            watchdog.run(next);
        }

        /** Asks again soon, with a place if the mailbox is open by then. */
        @Override
        void openMailbox() {
            if (!mailbox.isOpen()) {
                mailbox.want();
                pause();
            }
        }

        @Override
        void depart() {
            handoff.departLater(attempt);
        }

        @Override
        void ask() {
            beginToAsk();
            send(new BackgroundRequest(clock, monitored, attempt, settings.commandTimeoutNanos()) {
                private ServerTimes.Date notAfter = serverTimes.date(0, 0);

                @Override
                Call request(long sentNanos, long timeoutNanos) {
                    if (wasSent()) {
                        attempt.mayHaveRun(notAfter);
                    }
                    notAfter = serverTimes.date(sentNanos, timeoutNanos);
                    return Unattended.this.call(notAfter);
                }

                @Override
                void heard(Reply reply, long sentNanos) {
                    try {
                        Unattended.this.answered(reply, notAfter, sentNanos);
                        if (attempt.position() != null) {
                            // The request changed the lock's key, on which a hold of this client may be watched. The
                            // server does not report a client's own changes.
                            mailbox.mayHaveChanged(attempt.keys.lock());
                        }
                    } catch (RedisException e) {
                        // No thread could be started for the mailbox: treat that as a failed request.
                        Unattended.this.failed(e, notAfter);
                    }
                }

                @Override
                void missed(RedisException failure) {
                    if (failure instanceof RedisException.Unacknowledged) {
                        attempt.mayHaveRun(notAfter);
                        throw failure;
                    }
                    Unattended.this.failed(failure, notAfter);
                }

                @Override
                void mayHaveRun() {
                    attempt.mayHaveRun(notAfter);
                }

                @Override
                void leave() {
                    handoff.leaveLater(attempt);
                }
            });
        }
    }
}
