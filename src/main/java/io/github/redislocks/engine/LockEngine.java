package io.github.redislocks.engine;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Acquires, re-enters and releases locks, and notices their loss; written once for every kind of lock.
 *
 * <p><b>Overview.</b> This class and {@link Hold} decide what a thread holds, not Redis: a hold is valid until its
 * local deadline, which is always before the moment at which Redis may give the lock away. The invariants:
 *
 * <ul>
 *   <li>Every success is dated from before its request was sent; a reply that comes after the deadline that follows
 *       from that is no success.
 *   <li>A hold ends once, by the compare-and-set of its release or of its loss. Only the thread that wins it acts on
 *       the end: it passes on the local turn and tells the listeners.
 *   <li>The local turn belongs to one attempt, from when the attempt gets it to the end of its hold.
 *   <li>A command that was not answered is either repeated for the same attempt, or followed by a leave.
 * </ul>
 */
public final class LockEngine {

    /**
     * Makes what a holder wrote visible to the next holder in this JVM. Sockets give no happens-before edge; a
     * read-modify-write before the release and one after the acquisition do.
     */
    private static final AtomicLong EDGE = new AtomicLong();

    /** Makes the happens-before edge: called before every release and after every acquisition. */
    public static void publish() {
        EDGE.getAndIncrement();
    }

    private final Clock clock;
    private final Settings settings;
    private final Redis redis;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final Holds holds;
    private final Owners owners;
    private final Attempts attempts;
    private final LocalQueue localQueue;
    private final Handoff handoff;
    private final Losses losses;
    private final Watchdog watchdog;
    private final Acquisitions acquisitions;
    private final EventNotifier events;

    public LockEngine(
            RedisAccess access,
            WaitingParts parts,
            Redis redis,
            Holds holds,
            Owners owners,
            Acquisitions acquisitions,
            EventNotifier events) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.redis = redis;
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.holds = holds;
        this.owners = owners;
        this.attempts = parts.attempts();
        this.localQueue = parts.localQueue();
        this.handoff = parts.handoff();
        this.losses = parts.losses();
        this.watchdog = parts.watchdog();
        this.acquisitions = acquisitions;
        this.events = events;
    }

    /** Makes what one lock object uses, with settings of its own. */
    public Sync lock(LockKeys keys, boolean fair, Settings own) {
        return new Sync(keys, fair, own);
    }

    /** The calling thread's hold of a lock, valid or lost; null if there is none. */
    private @Nullable Hold hold(LockKeys keys) {
        return holds.get(keys, owners.caller());
    }

    /** Throws if waiters do not stand in one queue, which the named features need. */
    public void checkLines(String what) {
        if (!redis.hasLines()) {
            throw new UnsupportedOperationException("A quorum offers no " + what + ": they need one line in which all"
                    + " waiters stand in one order, and each master of a quorum has its own. Use a single server, Sentinel or"
                    + " a cluster for them.");
        }
    }

    /** The exception that tells the calling thread how it lost this hold. */
    public static LockLostException lost(Hold hold) {
        LockLost.Reason reason = hold.lossReason();
        return new LockLostException(hold.loss(reason == null ? LockLost.Reason.EXPIRED : reason));
    }

    /**
     * A hold whose end has begun, with others.
     *
     * @param sentNanos when it began
     * @param untilNanos the deadline of the hold
     * @param byNanos by when Redis has to have answered
     */
    record Ending(Hold hold, long sentNanos, long untilNanos, long byNanos) {}

    /** One lock, with the settings of one lock object. */
    public final class Sync {

        private static final long REENTRY_PAUSE_NANOS = 10_000_000;
        /** In place of a time by which Redis has to have answered: each request has its own. */
        private static final long NEVER = Long.MAX_VALUE;

        private final LockKeys keys;
        private final boolean fair;
        private final Settings own;
        /**
         * Whether others wanted the lock the last time that Redis was asked; a guess that chooses which script to try
         * first.
         */
        private boolean crowded;

        private Sync(LockKeys keys, boolean fair, Settings own) {
            this.keys = keys;
            this.fair = fair;
            this.own = own;
            checkLease(own.lease(), own.leaseMillis());
        }

        public boolean isFair() {
            return fair;
        }

        public LockKeys keys() {
            return keys;
        }

        /** How long an outage may last before a call without a time limit fails. */
        public long retryForNanos() {
            return own.retryForNanos();
        }

        /** How long a hold may last; 0 if for ever. */
        public long maxHoldMillis() {
            return own.maxHoldMillis();
        }

        /** The lease of acquisitions that name none. */
        public long leaseMillis() {
            return own.leaseMillis();
        }

        /**
         * Checks a lease that a caller names against the restart delay of the servers, and returns it in milliseconds.
         */
        public long checkLease(Duration lease, long millis) {
            long memory = redis.memoryMillis();
            if (millis > memory) {
                throw new IllegalArgumentException(
                        "The lease is " + lease + ", and a master that restarts gives no votes for "
                                + Duration.ofMillis(memory)
                                + " only, in which the votes that it has forgotten must have ended. Name a"
                                + " lease of at most that, or set a longer restartDelay in all clients.");
            }
            return millis;
        }

        /** Throws if waiters do not stand in one queue, which the named feature needs. */
        public void checkLines(String what) {
            LockEngine.this.checkLines(what);
        }

        public void lock(long leaseMillis, boolean renewed) {
            if (enterHere(leaseMillis, renewed)) {
                return;
            }
            try {
                acquire(WaitLimit.endless(own.retryForNanos()), leaseMillis, renewed);
            } catch (InterruptedException e) {
                throw new AssertionError("lock() does not end by an interrupt", e);
            }
        }

        public void lockInterruptibly(long leaseMillis, boolean renewed) throws InterruptedException {
            if (!Thread.currentThread().isInterrupted() && enterHere(leaseMillis, renewed)) {
                return;
            }
            acquire(WaitLimit.interruptible(own.retryForNanos()), leaseMillis, renewed);
        }

        public boolean tryLock(long leaseMillis, boolean renewed) {
            if (enterHere(leaseMillis, renewed)) {
                return true;
            }
            try {
                long timeout = settings.commandTimeoutNanos();
                return acquire(
                        WaitLimit.forAnswer(clock.nanoTime(), timeout, own.retryForNanos()), leaseMillis, renewed);
            } catch (InterruptedException e) {
                throw new AssertionError("tryLock() does not end by an interrupt", e);
            }
        }

        public boolean tryLock(long waitNanos, long leaseMillis, boolean renewed) throws InterruptedException {
            if (!Thread.currentThread().isInterrupted() && enterHere(leaseMillis, renewed)) {
                return true;
            }
            return acquire(WaitLimit.within(clock.nanoTime(), waitNanos, own.retryForNanos()), leaseMillis, renewed);
        }

        /** Counts a re-entry without a request, if the caller's hold is sure to last as long as the caller wants. */
        private boolean enterHere(long leaseMillis, boolean renewed) {
            return enteredHere(leaseMillis, renewed) != null;
        }

        private @Nullable Hold enteredHere(long leaseMillis, boolean renewed) {
            if (!own.localReentry()) {
                return null;
            }
            Hold hold = hold(keys);
            if (hold == null || !hold.covers(clock.nanoTime(), leaseMillis, renewed)) {
                return null;
            }
            checkCount(hold);
            hold.reentered(leaseMillis, renewed, hold.nextRenewalNanos());
            return hold;
        }

        private static void checkCount(Hold hold) {
            if (hold.count() == Integer.MAX_VALUE) {
                throw new Error("Maximum lock count exceeded");
            }
        }

        private boolean acquire(WaitLimit limit, long leaseMillis, boolean renewed) throws InterruptedException {
            return acquired(limit, leaseMillis, renewed) != null;
        }

        private @Nullable Hold acquired(WaitLimit limit, long leaseMillis, boolean renewed)
                throws InterruptedException {
            try {
                throwIfInterrupted(limit);
                Hold held = rescued();
                if (held != null && losses.isValid(held) && reenter(held, limit, leaseMillis, renewed)) {
                    return held;
                }
                Attempt.Request request = new Attempt.Request(leaseMillis, renewed, fair, own.maxHoldMillis());
                return events.isHeard()
                        ? acquireHeard(owners.caller(), request, limit, held)
                        : acquireAnew(owners.caller(), request, limit, held);
            } finally {
                limit.restore();
            }
        }

        /** Acquires for the calling thread, or enters once more. Null if the lock was busy. */
        @Nullable
        Hold acquire(WaitLimit limit, boolean renewed) throws InterruptedException {
            Hold entered = Thread.currentThread().isInterrupted() ? null : enteredHere(own.leaseMillis(), renewed);
            return entered == null ? acquired(limit, own.leaseMillis(), renewed) : entered;
        }

        /** Acquires for a handle, for which the calling thread waits. Null if the lock was busy. */
        @Nullable
        public Hold acquire(HandleOwner owner, WaitLimit limit, boolean renewed) throws InterruptedException {
            owner.waits();
            try {
                throwIfInterrupted(limit);
                Attempt.Request request = new Attempt.Request(own.leaseMillis(), renewed, fair, own.maxHoldMillis());
                return events.isHeard()
                        ? acquireHeard(owner, request, limit, null)
                        : acquireAnew(owner, request, limit, null);
            } finally {
                owner.rests();
                limit.restore();
            }
        }

        private void throwIfInterrupted(WaitLimit limit) throws InterruptedException {
            if (limit.interrupted()) {
                events.notAcquired(keys, clock, 0, LockNotAcquired.Outcome.INTERRUPTED);
                limit.throwIfInterrupted();
            }
        }

        /** As {@link #acquireAnew}, and tells the listeners what came of it. */
        private @Nullable Hold acquireHeard(Owner owner, Attempt.Request request, WaitLimit limit, @Nullable Hold lost)
                throws InterruptedException {
            long began = clock.nanoTime();
            Hold hold;
            try {
                hold = acquireAnew(owner, request, limit, lost);
            } catch (Throwable e) {
                boolean interrupted = e instanceof InterruptedException;
                events.notAcquired(
                        keys,
                        clock,
                        began,
                        interrupted ? LockNotAcquired.Outcome.INTERRUPTED : LockNotAcquired.Outcome.FAILED);
                throw e;
            }
            if (hold == null) {
                events.notAcquired(keys, clock, began, LockNotAcquired.Outcome.BUSY);
                return null;
            }
            // From here on nothing may throw: the lock is held.
            events.acquired(keys, hold, began);
            return hold;
        }

        /**
         * Acquires a lock that the thread does not hold, with one attempt after the other while the only obstacle is
         * that too few replicas confirm the grant. Null if the lock was busy.
         */
        private @Nullable Hold acquireAnew(Owner owner, Attempt.Request request, WaitLimit limit, @Nullable Hold lost)
                throws InterruptedException {
            long began = clock.nanoTime();
            Backoff backoff = null;
            while (true) {
                // Each a new one: what gives an earlier one back may run late, and must not touch this.
                Attempt attempt = attempts.make(keys, owner, request, limit);
                try {
                    attempts.begin(attempt);
                    Acquisitions.Acquisition acquisition =
                            acquisitions.of(attempt, limit, lost, !crowded && redis.hasLines());
                    Hold hold = acquisition.contend();
                    crowded = !acquisition.stayedOnFastPath();
                    publish();
                    return hold;
                } catch (RedisException.Unacknowledged e) {
                    long now = clock.nanoTime();
                    if (!limit.waits()
                            || isTooLate(
                                    limit, monitored.replication(keys.lock()).age(now), now)) {
                        throw unavailable.notAcknowledged(
                                keys, now - began, monitored.of(keys.lock()).silence(now) > 0, e);
                    }
                    backoff = backoff == null ? Backoff.ofRequests() : backoff;
                    clock.pause(this, Math.min(backoff.next(), limit.remaining(now)));
                    limit.throwIfInterrupted();
                } catch (Error e) {
                    // First without a method call, for which there may be no stack space.
                    attempt.stranded = true;
                    watchdog.stranded = true;
                    watchdog.wakeAt(0);
                    throw e;
                }
            }
        }

        private boolean isTooLate(WaitLimit limit, long outageNanos, long now) {
            return limit.isTimed() ? limit.remaining(now) <= 0 : limit.isPast(outageNanos);
        }

        /**
         * Counts a re-entry; false if the hold turned out to be lost, so that the caller has to acquire the lock anew.
         */
        private boolean reenter(Hold hold, WaitLimit limit, long leaseMillis, boolean renewed)
                throws InterruptedException {
            checkCount(hold);
            long began = clock.nanoTime();
            int before = own.localReentry() ? 0 : hold.count();
            while (losses.isValid(hold)) {
                long sent = clock.nanoTime();
                long timeout = Math.min(
                        limit.timeoutNanos(sent, settings.commandTimeoutNanos()),
                        Math.max(1, hold.deadlineNanos() - sent));
                long lease = hold.leaseAt(sent, leaseMillis);
                Call call = Scripts.reenter(hold, before, lease);
                try {
                    Reply reply = monitored.run(call.with(settings.acks()), timeout);
                    if (!Answer.isKept(reply)) {
                        losses.lose(hold, LockLost.Reason.TAKEN);
                    } else if (hold.extend(clock.nanoTime(), sent, lease)) {
                        hold.reentered(leaseMillis, renewed, sent + Timing.renewalNanos(lease));
                        watchdog.wakeAt(hold.nextRenewalNanos());
                        return true;
                    }
                } catch (RedisException e) {
                    long now = clock.nanoTime();
                    boolean hopeless = e instanceof RedisException.Refused refused && !refused.passing();
                    boolean unacknowledged = e instanceof RedisException.Unacknowledged;
                    long outage = unacknowledged
                            ? monitored.replication(keys.lock()).age(now)
                            : monitored.of(keys.lock()).age(call, now);
                    if (hopeless || isTooLate(limit, outage, now)) {
                        throw unavailable.toDo(
                                keys,
                                "was not entered once more",
                                "The calling thread still holds it, as often as before.",
                                now - began,
                                e);
                    }
                    limit.throwIfInterrupted();
                    if (!unacknowledged) {
                        hold.unanswered(true);
                    }
                    clock.pause(this, REENTRY_PAUSE_NANOS);
                }
            }
            return false;
        }

        /**
         * The calling thread's hold, or null. If an error stranded the hold's release, hands the release to the
         * watchdog and returns the lost hold that is left, if any.
         */
        private @Nullable Hold rescued() {
            Hold hold = hold(keys);
            if (hold != null && hold.stranded) {
                handoff.rescue(hold);
                return hold(keys);
            }
            return hold;
        }

        public void unlock() {
            unlock(possession(), NEVER);
        }

        /** What the calling thread has to unlock, valid or lost; throws if there is nothing. */
        Hold possession() {
            Hold hold = rescued();
            if (hold == null) {
                throw notHeld();
            }
            return hold;
        }

        /** Whether the calling thread has anything to unlock, valid or lost. */
        boolean hasPossession() {
            return rescued() != null;
        }

        /** Tells the listeners of a hold that was taken with others. */
        void taken(Hold hold, long beganNanos) {
            publish();
            if (events.isHeard()) {
                events.acquired(keys, hold, beganNanos);
            }
        }

        /** Tells the listeners that the lock was busy, so that none of several was taken. */
        void notTaken(long beganNanos) {
            events.notAcquired(keys, clock, beganNanos, LockNotAcquired.Outcome.BUSY);
        }

        /**
         * Ends a try of several locks whose only request was not answered: returns if Redis has answered others
         * meanwhile, so that only the time was too short, and throws otherwise.
         *
         * @param timed whether the time was the caller's
         */
        void notAnswered(long beganNanos, boolean timed) {
            Availability server = monitored.of(keys.lock());
            long now = clock.nanoTime();
            boolean known = timed && server.answeredSince(beganNanos) && server.age(now) == 0;
            events.notAcquired(
                    keys, clock, beganNanos, known ? LockNotAcquired.Outcome.BUSY : LockNotAcquired.Outcome.FAILED);
            if (!known) {
                throw unavailable.notAcquired(keys, now - beganNanos, true, server.cause());
            }
        }

        /** Unlocks a hold once; without Redis, and in the background, if it has not answered by the given time. */
        void unlock(Hold hold, long byNanos) {
            checkValid(hold);
            if (hold.count() > 1) {
                exit(hold, byNanos);
            } else {
                release(hold, 0, byNanos);
            }
        }

        /** Checks a time that the lock is to stay taken after its release, and returns it in milliseconds. */
        public long checkKept(Duration sinceAcquired) {
            if (!redis.hasLines()) {
                throw new UnsupportedOperationException(
                        "A quorum offers no releaseAfter: its masters end their votes one"
                                + " by one, and none votes for nobody. Release the handle when that time has come, or use a"
                                + " single server, Sentinel or a cluster.");
            }
            return Settings.checkKept(sinceAcquired);
        }

        /**
         * Releases a handle's hold; to be called once.
         *
         * @param keptMillis how long after the hold began the lock stays taken; 0 if not at all
         */
        public void releaseHandle(Hold hold, long keptMillis) {
            release(hold, keptMillis, NEVER);
        }

        /**
         * Undoes an acquisition whose caller is not told of it. False if there is nothing but the hold itself, which
         * has to be released.
         */
        boolean undo(Hold hold, long byNanos) {
            if (hold.count() > 1) {
                if (!own.localReentry() && isTaken(hold, byNanos)) {
                    losses.lose(hold, LockLost.Reason.TAKEN);
                }
                exited(hold);
                return true;
            }
            if (losses.isValid(hold)) {
                return false;
            }
            losses.ended(hold);
            holds.remove(hold);
            return true;
        }

        /** Tells the listeners that a hold was released whose caller was not told of it. */
        void undone(Hold hold) {
            events.released(keys, hold, clock.nanoTime());
        }

        /** Ends the renewal of a hold: it lasts for its lease from now on, or if Redis does not answer, as it is. */
        void fix(Hold hold, long byNanos) {
            boolean extended = false;
            try {
                long sent = clock.nanoTime();
                long lease = hold.leaseAt(sent, own.leaseMillis());
                Call call = Scripts.reenter(hold, 0, lease);
                if (Answer.isKept(monitored.run(call.with(settings.acks()), timeoutNanos(byNanos)))) {
                    extended = hold.extend(clock.nanoTime(), sent, lease);
                } else {
                    losses.lose(hold, LockLost.Reason.TAKEN);
                }
            } catch (RedisException e) {
                // It has what is left of its last renewal.
            }
            hold.fixed(extended);
            watch(hold);
        }

        /** How long a request may take that is to be answered by the given time. */
        private long timeoutNanos(long byNanos) {
            long most = settings.commandTimeoutNanos();
            return byNanos == NEVER ? most : Math.max(1, Math.min(most, byNanos - clock.nanoTime()));
        }

        /**
         * As {@link #releaseHandle}, without waiting.
         *
         * @param onEnd told whether it was released in good order, by the thread that tells handles
         */
        public void releaseHandleLater(Hold hold, long keptMillis, Consumer<Boolean> onEnd) {
            boolean begun = false;
            try {
                hold.keepFor(keptMillis);
                long sent = clock.nanoTime();
                // Also of one that an error left to the watchdog.
                long until = hold.beginRelease(sent);
                if (until == 0) {
                    hold.keepFor(0);
                    losses.isValid(hold);
                    losses.ended(hold);
                    holds.remove(hold);
                    begun = true;
                    tell(hold, sent, false, onEnd);
                    return;
                }
                publish();
                hold.names(handoff.successor(hold));
                handoff.release(
                        hold, sent - hold.turnStartNanos < Timing.LOCAL_TURN_NANOS, until, new Handoff.ReleaseEnd() {
                            @Override
                            public void ended(boolean inGoodOrder) {
                                if (!inGoodOrder) {
                                    losses.ended(hold);
                                }
                                holds.remove(hold);
                                tell(hold, sent, inGoodOrder, onEnd);
                            }
                        });
                begun = true;
            } finally {
                if (!begun) {
                    hold.stranded = true;
                    watchdog.stranded = true;
                    watchdog.wakeAt(0);
                }
            }
        }

        /** By the thread for that, since listeners may be slow. */
        private void tell(Hold hold, long sentNanos, boolean released, Consumer<Boolean> onEnd) {
            events.tellHandle(new Runnable() {
                @Override
                public void run() {
                    if (released) {
                        events.released(keys, hold, sentNanos);
                    }
                    onEnd.accept(released);
                }
            });
        }

        /** Whether a handle's hold can be relied upon now. */
        public boolean isValid(Hold hold) {
            return losses.isValid(hold);
        }

        /** Until when a hold can be relied upon, from now; 0 if it cannot. */
        public long remainingNanos(Hold hold) {
            return losses.isValid(hold) ? Math.max(0, hold.deadlineNanos() - clock.nanoTime()) : 0;
        }

        private void checkValid(Hold hold) {
            if (!losses.isValid(hold)) {
                throw unlockLost(hold);
            }
        }

        private void exit(Hold hold, long byNanos) {
            try {
                if (!own.localReentry() && isTaken(hold, byNanos)) {
                    losses.lose(hold, LockLost.Reason.TAKEN);
                }
            } catch (Error e) {
                // Counted as unlocked, as the JDK's lock would be if an error came after its unlock.
                hold.exited();
                throw e;
            }
            if (!losses.isValid(hold)) {
                throw unlockLost(hold);
            }
            exited(hold);
        }

        private void exited(Hold hold) {
            boolean wasRenewed = hold.isRenewed();
            hold.exited();
            if (wasRenewed && !hold.isRenewed()) {
                watch(hold);
            }
        }

        /** Has a hold that is not renewed any more asked for once: it may not be watched yet. */
        private void watch(Hold hold) {
            if (settings.watchDeletions()) {
                long soon = clock.nanoTime() + Timing.UNWATCHED_NANOS;
                hold.renewAt(Math.min(hold.nextRenewalNanos(), soon));
                watchdog.wakeAt(soon);
            }
        }

        /** Counts the inner unlock in Redis; returns whether the hold is gone there. */
        private boolean isTaken(Hold hold, long byNanos) {
            try {
                return Answer.isGone(monitored.run(Scripts.releaseInner(hold), timeoutNanos(byNanos)));
            } catch (RedisException e) {
                // The count in Redis is only a mirror; the hold is valid until its deadline.
                return false;
            }
        }

        /**
         * Ends a hold. The thread has finished with the hold, so if an error occurs here, the watchdog continues the
         * release.
         */
        private void release(Hold hold, long keptMillis, long byNanos) {
            try {
                // First: whoever goes on after an error has to know.
                hold.keepFor(keptMillis);
                StackSpace.ensure();
                long sent = clock.nanoTime();
                long until = hold.beginRelease(sent);
                if (until == 0) {
                    hold.keepFor(0);
                    losses.isValid(hold);
                    throw unlockLost(hold);
                }
                publish();
                release(hold, sent, until, byNanos);
            } catch (Throwable e) {
                hold.stranded = true;
                watchdog.stranded = true;
                watchdog.wakeAt(0);
                throw e;
            }
        }

        /** Whether a hold may end with others by one request: nobody here waits for its lock. */
        boolean mayEndWithOthers(Hold hold) {
            return hold.count() == 1
                    && !hold.isToKeep()
                    && losses.isValid(hold)
                    && localQueue.successor(keys, hold.attempt) == null;
        }

        /** Begins the end of a hold, which is to be answered by the given time; null if it is lost. */
        @Nullable
        Ending beginEnd(Hold hold, long sent, long byNanos) {
            long until = hold.beginRelease(sent);
            publish();
            return until == 0 ? null : new Ending(hold, sent, until, byNanos);
        }

        /** Ends here a hold that has ended in Redis, with others. */
        void freed(Ending ending) {
            localQueue.exit(keys, ending.hold.attempt);
            holds.remove(ending.hold);
            events.released(keys, ending.hold, ending.sentNanos);
        }

        /**
         * Ends a hold that did not end with others.
         *
         * @param mayHaveRun whether a copy of the request for all of them may have ended it
         * @param failure what became of that request; null if the answer was that somebody may wait for this lock
         */
        void end(Ending ending, boolean mayHaveRun, @Nullable RedisException failure) {
            Hold hold = ending.hold;
            long sent = ending.sentNanos;
            boolean keepTurn = sent - hold.turnStartNanos < Timing.LOCAL_TURN_NANOS;
            try {
                boolean found;
                try {
                    if (failure != null) {
                        throw failure;
                    }
                    crowded = true;
                    hold.names(handoff.successor(hold));
                    found = handOn(hold, sent, ending.byNanos, keepTurn, mayHaveRun);
                } catch (RedisException e) {
                    found = goesOnLater(hold, ending.untilNanos, keepTurn, e);
                }
                ended(hold, sent, found);
            } catch (Throwable e) {
                hold.stranded = true;
                watchdog.stranded = true;
                watchdog.wakeAt(0);
                throw e;
            }
        }

        private void release(Hold hold, long sent, long until, long byNanos) {
            boolean keepTurn = sent - hold.turnStartNanos < Timing.LOCAL_TURN_NANOS;
            boolean found = true;
            try {
                hold.names(handoff.successor(hold));
                Reply freed = hold.successor() == null && mayUseFastPath(hold, sent)
                        ? monitored.run(Scripts.free(hold), timeoutNanos(byNanos))
                        : null;
                if (freed != null && Answer.isFreed(freed)) {
                    localQueue.exit(keys, hold.attempt);
                } else if (freed == null) {
                    found = handOn(hold, sent, byNanos, keepTurn, false);
                } else {
                    crowded = true;
                    hold.names(handoff.successor(hold));
                    found = handOn(hold, sent, byNanos, keepTurn, freed.resent());
                }
            } catch (RedisException e) {
                found = goesOnLater(hold, until, keepTurn, e);
            }
            ended(hold, sent, found);
        }

        /** Leaves a release without an answer to the background; whether the hold ended in good order nevertheless. */
        private boolean goesOnLater(Hold hold, long until, boolean keepTurn, RedisException failure) {
            handoff.releaseLater(hold, handoff.releaseOf(hold, keepTurn), hold.successor());
            // Redis has done it if only replicas are missing.
            return failure instanceof RedisException.Unacknowledged
                    || clock.nanoTime() < until
                    || !hold.releasedTooLate();
        }

        private void ended(Hold hold, long sent, boolean found) {
            if (!found) {
                losses.ended(hold);
                throw unlockLost(hold);
            }
            // Not earlier: close() waits for holds that are being released, and a successor that has left must be taken
            // out of Redis first.
            holds.remove(hold);
            events.released(keys, hold, sent);
        }

        /** Ends a hold in Redis and hands the lock on; false if the hold was gone there already. */
        private boolean handOn(Hold hold, long sent, long byNanos, boolean keepTurn, boolean mayHaveRun) {
            Call call = handoff.releaseOf(hold, keepTurn);
            long left = Math.min(sent + settings.commandTimeoutNanos(), byNanos) - clock.nanoTime();
            Reply reply = monitored.run(call, Math.max(1, left));
            hold.keepFor(0);
            // GONE, and no earlier copy of the release can have run: the hold was lost.
            Answer answer = Answer.of(reply);
            if (answer == Answer.Word.GONE && !reply.resent() && !mayHaveRun && hold.releaseFailed()) {
                return false;
            }
            crowded = !(answer instanceof Answer.Freed freed) || freed.crowded();
            handoff.handOn(keys, hold.attempt, hold.successor(), hold.turnStartNanos, answer, sent);
            return true;
        }

        /** Whether probably nobody waits behind a hold, so that the short script is tried first. */
        private boolean mayUseFastPath(Hold hold, long now) {
            return !crowded
                    && !hold.isToKeep()
                    && redis.hasLines()
                    && now - hold.turnStartNanos < Timing.SHORT_HOLD_NANOS;
        }

        private LockLostException unlockLost(Hold hold) {
            // An error may have kept the thread that found the loss from telling the listeners.
            losses.ended(hold);
            LockLostException exception = lost(hold);
            if (hold.unlockedAfterLoss()) {
                holds.remove(hold);
            }
            return exception;
        }

        private IllegalMonitorStateException notHeld() {
            return new IllegalMonitorStateException("Thread "
                    + Thread.currentThread().getName() + " does not hold the lock \"" + keys.name()
                    + "\": only the thread that locked it can do this, through the same RedisLocks.");
        }

        /** The calling thread's hold if it is valid now, or null. */
        @Nullable
        public Hold held() {
            Hold hold = hold(keys);
            return hold != null && losses.isValid(hold) ? hold : null;
        }

        /** The calling thread's hold; throws if there is none or it is lost. */
        public Hold ensureHeld() {
            Hold hold = hold(keys);
            if (hold == null) {
                throw notHeld();
            }
            if (!losses.isValid(hold)) {
                throw lost(hold);
            }
            return hold;
        }

        public long remainingNanos() {
            Hold hold = hold(keys);
            return hold == null ? 0 : remainingNanos(hold);
        }

        /** Whether another lock object is for the same lock of the same client. */
        public boolean isSameAs(Sync other) {
            return LockEngine.this == other.engine() && keys.lock().equals(other.keys.lock());
        }

        private LockEngine engine() {
            return LockEngine.this;
        }
    }
}
