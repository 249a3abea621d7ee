package io.github.redislocks.engine;

import io.github.redislocks.LockListener;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Leased;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.WaitingParts;
import org.jspecify.annotations.Nullable;

/**
 * Acquires a lock for a thread or a handle, by one attempt after the other, and counts re-entries. There is one object
 * for each client; the lock is an argument. See {@link LockEngine} for the invariants.
 */
public final class Entries {

    private static final long REENTRY_PAUSE_NANOS = 10_000_000;

    private final RedisAccess access;
    private final WaitingParts parts;
    private final Clock clock;
    private final MonitoredRedis monitored;
    private final Owners owners;
    private final Losses losses;
    private final AttemptLoop attempts;
    private final EventNotifier events;

    Entries(RedisAccess access, WaitingParts parts, Owners owners, AttemptLoop attempts, EventNotifier events) {
        this.access = access;
        this.parts = parts;
        this.clock = access.clock();
        this.monitored = access.monitored();
        this.owners = owners;
        this.losses = parts.losses();
        this.attempts = attempts;
        this.events = events;
    }

    /**
     * Counts a re-entry without a request, if the caller's hold is sure to last as long as the caller wants; null if
     * Redis has to be asked.
     */
    @Nullable
    Hold enteredHere(LockObject lock) {
        Hold hold = lock.own.localReentry() ? hold(lock) : null;
        if (hold == null || !hold.covers(clock.nanoTime(), lock.own.leaseMillis(), lock.own.isRenewed())) {
            return null;
        }
        checkCount(hold);
        hold.reentered(lock.own.leaseMillis(), lock.own.isRenewed(), hold.nextRenewalNanos());
        return hold;
    }

    /** The calling thread's hold, valid or lost; null if there is none. */
    @Nullable
    Hold hold(LockObject lock) {
        return parts.holds().get(lock.keys, owners.caller());
    }

    static void checkCount(Held hold) {
        if (hold.count() == Integer.MAX_VALUE) {
            throw new Error("Maximum lock count exceeded");
        }
    }

    /** Acquires the lock for the calling thread with a request, or re-enters it. Null if the lock was busy. */
    @Nullable
    Hold acquired(LockObject lock, WaitLimit limit) throws InterruptedException {
        try {
            throwIfInterrupted(lock, limit);
            Hold held = rescued(lock);
            if (held != null && losses.isValid(held) && reenter(lock, held, limit)) {
                return held;
            }
            if (held != null && held.isLost() && !lock.own.relockAfterLoss()) {
                throw Losses.exception(held);
            }
            Owner caller = owners.caller();
            return events.isHeard()
                    ? heard(lock, () -> attempts.acquire(lock, caller, limit, held))
                    : attempts.acquire(lock, caller, limit, held);
        } finally {
            limit.restore();
        }
    }

    /** Acquires the lock for a handle, while the calling thread waits. Null if the lock was busy. */
    @Nullable
    Hold acquire(LockObject lock, HandleOwner owner, WaitLimit limit) throws InterruptedException {
        owner.waits();
        try {
            throwIfInterrupted(lock, limit);
            return events.isHeard()
                    ? heard(lock, () -> attempts.acquire(lock, owner, limit, null))
                    : attempts.acquire(lock, owner, limit, null);
        } finally {
            owner.rests();
            limit.restore();
        }
    }

    void throwIfInterrupted(LockObject lock, WaitLimit limit) throws InterruptedException {
        if (limit.interrupted()) {
            events.notAcquired(lock.keys, 0, LockNotAcquired.Outcome.INTERRUPTED);
            limit.throwIfInterrupted();
        }
    }

    /** Acquires a lock that the caller does not hold. */
    @FunctionalInterface
    public interface Way<H extends Held> {

        /** Acquires the lock; null if it was busy. */
        @Nullable
        H acquire() throws InterruptedException;
    }

    /** Returns true if listeners want the result of each acquisition. */
    boolean isHeard() {
        return events.isHeard();
    }

    /** Acquires in the given way, and notifies listeners of the result. */
    <H extends Held> @Nullable H heard(LockObject lock, Way<H> way) throws InterruptedException {
        long began = clock.nanoTime();
        LockListener.Acquiring call = events.begun(lock.keys);
        LockNotAcquired.Outcome outcome = LockNotAcquired.Outcome.FAILED;
        H hold = null;
        try {
            hold = way.acquire();
            outcome = LockNotAcquired.Outcome.BUSY;
        } catch (InterruptedException e) {
            outcome = LockNotAcquired.Outcome.INTERRUPTED;
            throw e;
        } finally {
            // Nothing may throw from here on: the lock may be held, and the caller would not know.
            if (hold != null) {
                events.acquired(lock.keys, hold, began, call);
            } else {
                events.notAcquired(lock.keys, clock.nanoTime() - began, outcome, call);
            }
        }
        return hold;
    }

    /** Counts a re-entry; returns false if the hold turned out to be lost. */
    private boolean reenter(LockObject lock, Hold hold, WaitLimit limit) throws InterruptedException {
        checkCount(hold);
        return askToReenter(lock, hold, limit, true);
    }

    /** Extends a hold as a re-entry does, without counting; returns false if the hold turned out to be lost. */
    boolean prolong(LockObject lock, Hold hold, WaitLimit limit) throws InterruptedException {
        return askToReenter(lock, hold, limit, false);
    }

    private boolean askToReenter(LockObject lock, Hold hold, WaitLimit limit, boolean counts)
            throws InterruptedException {
        long leaseMillis = lock.own.leaseMillis();
        boolean renewed = lock.own.isRenewed();
        long began = clock.nanoTime();
        int before = lock.own.localReentry() || !counts ? 0 : hold.count();
        RedisException met = null;
        while (losses.isValid(hold)) {
            long sent = clock.nanoTime();
            long timeout = Math.min(
                    limit.timeoutNanos(sent, access.settings().commandTimeoutNanos()), hold.deadlineNanos() - sent);
            long lease = hold.leaseAt(sent, leaseMillis);
            Call call = Scripts.reenter(hold, before, lease);
            try {
                if (isExtended(hold, call, sent, lease, timeout)) {
                    if (counts) {
                        hold.reentered(leaseMillis, renewed, sent + Timing.renewalNanos(lease));
                        parts.watchdog().wakeAt(hold.nextRenewalNanos());
                    } else if (renewed) {
                        hold.renewedFor(leaseMillis);
                    }
                    return true;
                }
            } catch (RedisException e) {
                long now = clock.nanoTime();
                // If no time was left, this request was not sent: the failure of the previous request is the cause.
                met = met == null || timeout > 0 ? e : met;
                boolean hopeless = met.isPermanent();
                boolean unacknowledged = met instanceof RedisException.Unacknowledged;
                long outage = unacknowledged
                        ? monitored.replication(lock.keys.lock()).age(now)
                        : monitored.of(lock.keys.lock()).age(call, now);
                if (hopeless || limit.isTooLate(outage, now)) {
                    throw access.unavailable()
                            .notDone(UnavailableMessages.Operation.REENTRY, lock.keys, now - began, met);
                }
                limit.throwIfInterrupted();
                clock.pause(lock, REENTRY_PAUSE_NANOS);
                monitored.retried();
            }
        }
        return false;
    }

    /**
     * Extends a hold by one request that counts no re-entry. Returns false if Redis has not answered by
     * {@code byNanos}, or if the hold is lost.
     */
    boolean extend(Hold hold, long leaseMillis, long byNanos) {
        long sent = clock.nanoTime();
        long lease = hold.leaseAt(sent, leaseMillis);
        long most = Math.min(access.settings().commandTimeoutNanos(), hold.deadlineNanos() - sent);
        long timeout = byNanos == Exits.NEVER ? most : Math.min(most, byNanos - sent);
        try {
            return isExtended(hold, Scripts.reenter(hold, 0, lease), sent, lease, timeout);
        } catch (RedisException e) {
            return false;
        }
    }

    /** Sends a request for a lease; returns false if the hold turned out to be lost. */
    private boolean isExtended(Hold hold, Call call, long sent, long lease, long timeout) {
        if (!hold.ask(Leased.Asker.OWNER, lease)) {
            return false;
        }
        try {
            Reply reply = monitored.run(call.with(access.settings().acks()), timeout);
            boolean extended = Answer.isKept(reply) && hold.extend(clock.nanoTime(), sent, lease);
            if (extended) {
                hold.answered(Leased.Asker.OWNER, !reply.resent());
            } else if (!Answer.isKept(reply)) {
                losses.taken(hold);
            }
            return extended;
        } catch (RedisException e) {
            if (e.isPermanent()) {
                hold.refused(Leased.Asker.OWNER);
            }
            throw e;
        }
    }

    /**
     * The calling thread's hold, or null. If an error stranded the hold's release, hands the release to the watchdog
     * and returns the lost hold that is left, if any.
     */
    @Nullable
    Hold rescued(LockObject lock) {
        Hold hold = hold(lock);
        if (hold != null && hold.stranded) {
            parts.handoff().rescue(hold);
            return hold(lock);
        }
        return hold;
    }

    /** Notifies the listeners of a hold that was acquired together with others. */
    public void taken(LockObject lock, Held hold, long beganNanos) {
        MemoryEdge.publish();
        if (events.isHeard()) {
            events.acquired(lock.keys, hold, beganNanos, events.begun(lock.keys));
        }
    }

    /** Notifies the listeners that the lock was busy, so that none of several locks was acquired. */
    public void notTaken(LockObject lock, long beganNanos) {
        events.notAcquired(lock.keys, clock.nanoTime() - beganNanos, LockNotAcquired.Outcome.BUSY);
    }

    /**
     * Ends a try of several locks whose only request was not answered. Returns if Redis has answered other requests
     * meanwhile, so that only the caller's time was too short; throws otherwise.
     */
    public void notAnswered(LockObject lock, long beganNanos, boolean timed) {
        Availability server = monitored.of(lock.keys.lock());
        long now = clock.nanoTime();
        boolean known = timed && server.answeredSince(beganNanos) && server.age(now) == 0;
        events.notAcquired(
                lock.keys, now - beganNanos, known ? LockNotAcquired.Outcome.BUSY : LockNotAcquired.Outcome.FAILED);
        if (!known) {
            throw access.unavailable().notAcquired(lock.keys, now - beganNanos, true, server.cause());
        }
    }
}
