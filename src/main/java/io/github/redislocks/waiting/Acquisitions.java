package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import org.jspecify.annotations.Nullable;

/** Makes the {@link Acquisition}s of a client, and has the parts of the client that each acquisition needs. */
public final class Acquisitions {

    private final RedisAccess access;
    private final WaitingParts parts;
    private final Clock clock;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final Wanted wanted;
    private final BlockingDriver driver;

    public Acquisitions(RedisAccess access, WaitingParts parts, Wanted wanted) {
        this.access = access;
        this.parts = parts;
        this.clock = access.clock();
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.wanted = wanted;
        this.driver = new BlockingDriver(access, parts);
    }

    public BlockingDriver driver() {
        return driver;
    }

    /**
     * For a thread that waits. {@code lost} is as in {@link Settlements#of}; with {@code fastPath} the first request is
     * the short script, which takes the lock only if it is free and nobody waits.
     */
    public OfLock of(Attempt attempt, WaitLimit limit, @Nullable Hold lost, boolean fastPath) {
        return new OfLock(attempt, limit, lost, fastPath);
    }

    /** As {@link Wanted#byWriter}; true for an owner that wants a share only. */
    public boolean mayBegin(LockKeys keys, Owner owner, WaitLimit limit) {
        return owner.isShared() || wanted.byWriter(keys, limit);
    }

    /** Drives the attempt of a {@link Downgrade} on the calling thread. */
    public @Nullable Hold acquire(Attempt attempt, WaitLimit limit) throws InterruptedException {
        return driver.drive(of(attempt, limit, null, false));
    }

    /** As {@link Wanted#byRelease}. */
    public @Nullable Downgrade downgrade(Hold hold) {
        return wanted.byRelease(hold);
    }

    /** Makes the acquisition of an attempt for which no thread waits. */
    public BatchDriver unattended(Attempt attempt, WaitLimit limit) {
        // A quorum has no queue, and so no short scripts; shares have scripts of their own.
        boolean fastPath = monitored.hasLines() && !attempt.owner.isShared();
        return new BatchDriver(access, parts, new OfLock(attempt, limit, null, fastPath));
    }

    /**
     * The acquisition of a lock that the owner does not hold, from the local queue to the hold. In short:
     *
     * <pre>
     *   interrupted, too late  leave the queue and Redis; throw, or return null
     *   after a failover       until the grace is over no grant counts and no thread asks
     *   CONTENDING, told free  ask: taken | busy (open the mailbox, ask for a place) | queued | no answer (pause)
     *   else                   pause
     * </pre>
     */
    public final class OfLock extends Acquisition {

        private final WaitLimit limit;
        private boolean fastPath;
        private boolean tookFree;

        /** The state of the lock according to the last reply. */
        private Step.State state = Step.State.UNASKED;
        /** When {@link #state} became LAPSED. */
        private long lapsedSinceNanos;

        /** Whether the mailbox was open when the last request was made. */
        private boolean listened;

        private @Nullable Backoff backoff;
        /**
         * Why the last request failed; null if it was answered. Once the attempt has left: why it left; null if the
         * lock was busy.
         */
        private @Nullable Exception failure;

        private OfLock(Attempt attempt, WaitLimit limit, @Nullable Hold lost, boolean fastPath) {
            super(attempt, parts.settlements().of(attempt, limit, lost));
            this.limit = limit;
            this.fastPath = fastPath && !attempt.keys.arePermits();
        }

        /** Whether no other owner held or wanted the lock. The next acquisition will then probably find the same. */
        public boolean stayedOnFastPath() {
            return fastPath;
        }

        /** Whether a request of this acquisition found the lock free, and no waiters in the queue or in a Condition. */
        public boolean tookFree() {
            return tookFree;
        }

        @Override
        protected void begin() {
            parts.attempts().begin(attempt);
            if (!attempt.isBehind()) {
                return;
            }
            // Set the time of the next look before the attempt joins the queue: once the attempt is there, a thread
            // that releases the lock may give it a place in Redis and set another time, which must not be overwritten.
            attempt.lookAgain(clock.nanoTime());
            if (!parts.localQueue().enter(attempt)) {
                parts.watchdog().wakeAt(attempt.nextHeartbeatNanos());
                wanted.byAttempt(attempt.keys);
            }
        }

        @Override
        protected long next(Attempt.@Nullable Verdict verdict, long now) {
            if (limit.interrupted()) {
                return attempt.leave(verdict) ? leaves(new InterruptedException()) : 0;
            }
            boolean mayAsk = verdict == null && attempt.mayAsk();
            if (state == Step.State.TRIED && attempt.isToldFree()) {
                askAtNanos = now;
            }
            long grace = access.epoch().graceNanos(now);
            long left = grace > 0 && !limit.waits() ? 0 : limit.remaining(now);
            long pause =
                    mayAsk ? Math.max(askAtNanos - now, grace) : settlement().pauseNanos(now);
            long next = Step.next(state, mayAsk, pause, left);
            if (next != Step.LEAVE) {
                return next;
            }
            return attempt.leave(verdict) ? leaves(whyNotBusy(now, grace > 0)) : 0;
        }

        private long leaves(@Nullable Exception why) {
            failure = why;
            return Step.LEAVE;
        }

        @Override
        protected void throwIfNotBusy() throws InterruptedException {
            if (failure instanceof InterruptedException interrupted) {
                limit.thrown();
                throw interrupted;
            }
            if (failure instanceof RuntimeException unavailable) {
                throw unavailable;
            }
        }

        private @Nullable RuntimeException whyNotBusy(long now, boolean grace) {
            boolean mayExist = attempt.mayRun();
            RedisException unconfirmed = settlement().unconfirmed();
            RedisException.Unready unready =
                    !wasToldBusy() && failure instanceof RedisException.Unready told ? told : null;
            boolean known = unready == null && unconfirmed == null && isKnownToBeBusy(now);
            return switch (Step.reason(state, grace, known)) {
                case BUSY -> null;
                case TOO_SOON ->
                    unavailable.tooSoon(attempt.keys, access.epoch().graceNanos(now), mayExist);
                case TOO_FAR -> unavailable.tooFar(attempt, mayExist);
                case UNKNOWN -> {
                    if (unready != null) {
                        yield unavailable.notYet(attempt.keys, mayExist, unready);
                    }
                    // An attempt that waited behind another thread of the client has seen no failure itself: then take
                    // the last failure of the server as the cause.
                    Availability server = monitored.of(attempt.keys.lock());
                    RedisException met =
                            unconfirmed == null && failure instanceof RedisException last ? last : unconfirmed;
                    RedisException cause = met == null && server.age(now) > 0 ? server.cause() : met;
                    yield unavailable.notAcquired(attempt.keys, now - attempt.beganNanos(), mayExist, cause);
                }
            };
        }

        private boolean wasToldBusy() {
            return state.isBusy() || attempt.position() != null;
        }

        /**
         * Whether an attempt that ends knows that the lock was busy. There are three cases: a reply said so; another
         * thread of this client had the local turn all the time, and Redis is not away; or the attempt's own request
         * got no reply while Redis answered other requests of this client, so that only the attempt's time was too
         * short. A try without a time limit needs a reply to its own request.
         */
        private boolean isKnownToBeBusy(long now) {
            if (wasToldBusy()) {
                return true;
            }
            Availability server = monitored.of(attempt.keys.lock());
            boolean hasSpoken = state == Step.State.UNASKED || server.answeredSince(limit.beganNanos());
            return limit.waits() && hasSpoken && server.age(now) == 0;
        }

        @Override
        protected void asks() {
            if (failure != null) {
                monitored.retried();
            }
            state = Step.after(state, Step.Event.ASKS, limit.waits());
            tookFree = false;
            attempt.asks();
        }

        @Override
        protected long timeoutNanos(long now) {
            return limit.timeoutNanos(now, access.settings().commandTimeoutNanos());
        }

        @Override
        protected Call call(ServerTimes.Date notAfter) {
            boolean listens = parts.mailbox().isOpen();
            listened = listens;
            boolean tries = !limit.waits() && listens && state != Step.State.TRIED;
            Call call;
            if (fastPath) {
                call = Scripts.take(attempt, notAfter, tries);
            } else if (tries) {
                call = Scripts.acquireOnce(attempt, notAfter, parts.losses().lastLostAttempt());
            } else {
                // A share needs no message: its heartbeats find that it can go in.
                boolean takePlace = limit.waits() && (listens || attempt.owner.isShared());
                call = Scripts.acquire(
                        attempt, notAfter, takePlace, parts.losses().lastLostAttempt());
            }
            return call.with(access.settings().acks());
        }

        @Override
        protected boolean answered(Reply reply, ServerTimes.Date notAfter, long sent) {
            attempt.answered(reply, notAfter);
            Answer answer = fastPath ? Answer.ofTake(reply) : Answer.to(attempt, reply);
            if (answer != Answer.Word.LATE) {
                failure = null;
            }
            if (answer instanceof Answer.Granted granted) {
                attempt.known();
                if (granted.recalled()) {
                    attempt.owner.wanted(attempt.number);
                }
                tookFree = fastPath;
                Attempt.Grant grant = granted.of(attempt, sent, clock.nanoTime());
                settlement().isConfirmed(grant);
                attempt.decide(grant);
            } else if (answer instanceof Answer.Queued queued) {
                state = Step.after(state, Step.Event.QUEUED, limit.waits());
                attempt.queued(sent, queued.lastToken(), queued.holderMillis());
                parts.watchdog().wakeAt(attempt.nextHeartbeatNanos());
            } else if (answer instanceof Answer.OtherSize present) {
                attempt.decide(present.failureOf(attempt));
            } else if (answer == Answer.Word.LINE) {
                fastPath = false;
                state = Step.after(state, Step.Event.LINE, limit.waits());
            } else if (answer == Answer.Word.BUSY) {
                return taken(Step.Event.BUSY);
            } else if (answer == Answer.Word.RESIDENT) {
                boolean hearsAll = taken(listened ? Step.Event.KEPT : Step.Event.KEPT_UNHEARD);
                if (state == Step.State.TRIED && attempt.isAnswered(Answer.asked(reply))) {
                    attempt.wakeToAsk();
                }
                return hearsAll;
            } else if (answer == Answer.Word.LATE) {
                pause();
            } else {
                throw new IllegalStateException("Redis answered " + answer + " to " + attempt);
            }
            return false;
        }

        /** Returns whether the mailbox must be open from now on, for a grant or for the answer to a try. */
        private boolean taken(Step.Event event) {
            state = Step.after(state, event, limit.waits());
            if (limit.waits()) {
                fastPath = false;
                return true;
            }
            // The request asked for no place, so Redis has nothing of the attempt, unless an earlier copy may still
            // run.
            attempt.unknown();
            if (state == Step.State.TRIED) {
                askAtNanos = Long.MAX_VALUE;
            }
            return state == Step.State.BUSY;
        }

        @Override
        protected void failed(RedisException e, ServerTimes.Date notAfter) {
            failure = e;
            fastPath = false;
            attempt.unanswered(e, notAfter);
            long now = pause();
            long outage = monitored.of(attempt.keys.lock()).age(now);
            if (e instanceof RedisException.Unready unready) {
                // A master may know the attempt, so the attempt has to be withdrawn later.
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

        /** Sets the time of the next request to the end of a pause; returns the present time. */
        final long pause() {
            long now = clock.nanoTime();
            if (backoff == null) {
                backoff = Backoff.ofRequests();
            }
            askAtNanos = now + backoff.next();
            return now;
        }

        @Override
        protected void goOnWithout(Attempt.Grant lapsed) {
            attempt.placeLost();
            attempt.reopen(lapsed);
            parts.attempts().failIfClosed(attempt);
            if (lapsed.confirmed()) {
                // The reply took longer than the lease; do not ask in a tight loop.
                long now = pause();
                if (state != Step.State.LAPSED) {
                    state = Step.after(state, Step.Event.LAPSED, limit.waits());
                    lapsedSinceNanos = now;
                }
                if (limit.isPast(now - lapsedSinceNanos)) {
                    attempt.decide(new Attempt.Failure(unavailable.tooFar(attempt, true)));
                }
            }
        }
    }
}
