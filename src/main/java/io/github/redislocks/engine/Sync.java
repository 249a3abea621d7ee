package io.github.redislocks.engine;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.BatchDriver;
import io.github.redislocks.waiting.Driver;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The lock of one lock object, with the settings of that object. Any number of threads may use it. A subclass may let
 * threads hold the lock without a hold of their own in Redis.
 */
public class Sync extends LockObject {

    final LockEngine engine;

    protected Sync(LockEngine engine, LockKeys keys, boolean fair, Settings own) {
        super(keys, fair, own);
        this.engine = engine;
        checkLease();
    }

    /** Makes the {@code Sync} of the permits with the given keys. */
    public static Sync ofPermits(LockEngine engine, LockKeys keys, Settings own) {
        Sync permits = new Sync(engine, keys, true, own);
        // There are no short scripts for permits.
        permits.crowded = true;
        return permits;
    }

    /** The calling thread's own hold in Redis, valid or lost; null if there is none. */
    public final @Nullable Hold hold() {
        return engine.entries.hold(this);
    }

    public boolean isFair() {
        return fair;
    }

    public LockKeys keys() {
        return keys;
    }

    /** How long an outage may last until a call without a time limit fails. */
    public long retryForNanos() {
        return own.retryForNanos();
    }

    public long leaseMillis() {
        return own.leaseMillis();
    }

    protected final boolean isRenewed() {
        return own.isRenewed();
    }

    /** Throws if the lease is longer than the time for which a restarted master of a quorum gives no votes. */
    private void checkLease() {
        long memory = engine.memoryMillis();
        if (own.leaseMillis() > memory) {
            throw new IllegalArgumentException(
                    "The lease is " + Shown.of(own.lease()) + ", and a master that restarts gives no votes for "
                            + Shown.of(Duration.ofMillis(memory))
                            + " only, in which the votes that it has forgotten must have ended. Name a"
                            + " lease of at most that, or set a longer restartDelay in all clients.");
        }
    }

    public void checkLines(String what) {
        engine.checkLines(what);
    }

    public void lock() {
        if (enterHere() != null) {
            return;
        }
        try {
            acquire(WaitLimit.endless(own.retryForNanos()));
        } catch (InterruptedException e) {
            throw new AssertionError("lock() does not end by an interrupt", e);
        }
    }

    public void lockInterruptibly() throws InterruptedException {
        if (!Thread.currentThread().isInterrupted() && enterHere() != null) {
            return;
        }
        acquire(WaitLimit.interruptible(own.retryForNanos()));
    }

    public boolean tryLock() {
        if (enterHere() != null) {
            return true;
        }
        try {
            WaitLimit limit = WaitLimit.forAnswer(engine.commandTimeoutNanos(), own.retryForNanos());
            return acquire(limit) != null;
        } catch (InterruptedException e) {
            throw new AssertionError("tryLock() does not end by an interrupt", e);
        }
    }

    public boolean tryLock(long waitNanos) throws InterruptedException {
        if (!Thread.currentThread().isInterrupted() && enterHere() != null) {
            return true;
        }
        return acquire(limit(waitNanos)) != null;
    }

    /** The limit of a try. A try with a time of zero or less takes only a free lock. */
    public WaitLimit limit(long waitNanos) {
        long now = engine.clock().nanoTime();
        return WaitLimit.tryWithin(now, waitNanos, engine.commandTimeoutNanos(), own.retryForNanos());
    }

    /** Counts a re-entry or acquires the lock, without a request; null if Redis has to be asked. */
    protected @Nullable Held enterHere() {
        return engine.entries.enteredHere(this);
    }

    /** Acquires the lock for the calling thread with a request, or re-enters it. Null if the lock was busy. */
    protected @Nullable Held acquire(WaitLimit limit) throws InterruptedException {
        return engine.entries.acquired(this, limit);
    }

    /** Acquires the lock for the calling thread, or re-enters it. Null if the lock was busy. */
    public final @Nullable Held enter(WaitLimit limit) throws InterruptedException {
        Held entered = Thread.currentThread().isInterrupted() ? null : enterHere();
        return entered == null ? acquire(limit) : entered;
    }

    /** Returns true if a thread that has lost the lock may acquire the lock again before it unlocks the lost hold. */
    protected final boolean mayRelock() {
        return own.relockAfterLoss();
    }

    /** For how long the client keeps an unused lock. */
    protected final long residencyNanos() {
        return own.residencyNanos();
    }

    /** Throws if the thread is interrupted already and an interrupt ends its wait. */
    protected final void throwIfInterrupted(WaitLimit limit) throws InterruptedException {
        engine.entries.throwIfInterrupted(this, limit);
    }

    /**
     * Acquires the lock in Redis for an owner that does not hold it. Notifies no listeners. Null if the lock was busy.
     */
    protected final @Nullable Hold attempt(Owner owner, WaitLimit limit, @Nullable Hold lost)
            throws InterruptedException {
        return engine.attempts.acquire(this, owner, limit, lost);
    }

    /** Makes the driver of one attempt for which no thread waits. Notifies no listeners. */
    protected final BatchDriver unattendedAttempt(Owner owner, WaitLimit limit) {
        return engine.attempts.unattended(this, owner, limit);
    }

    /** Returns true if listeners want the result of each acquisition: see {@link #heard}. */
    protected final boolean isHeard() {
        return engine.entries.isHeard();
    }

    protected final @Nullable Held heard(Entries.Way<Held> way) throws InterruptedException {
        return engine.entries.heard(this, way);
    }

    /** Extends a hold as a re-entry does, without counting; returns false if the hold turned out to be lost. */
    protected final boolean prolong(Hold hold, WaitLimit limit) throws InterruptedException {
        return engine.entries.prolong(this, hold, limit);
    }

    /** Extends a hold by one request; returns false without an answer by {@code byNanos}, or after a loss. */
    protected final boolean extend(Hold hold, long leaseMillis, long byNanos) {
        return engine.entries.extend(hold, leaseMillis, byNanos);
    }

    protected static void checkCount(Held held) {
        Entries.checkCount(held);
    }

    /** As {@link Exits#endInRedis}. */
    protected final boolean endInRedis(Hold hold, long now, long byNanos) {
        return engine.exits.endInRedis(this, hold, now, byNanos);
    }

    protected final void released(Held held, long atNanos) {
        engine.exits.released(this, held, atNanos);
    }

    /** Acquires the lock for a handle, while the calling thread waits. Null if the lock was busy. */
    public @Nullable Held acquire(HandleOwner owner, WaitLimit limit) throws InterruptedException {
        return engine.entries.acquire(this, owner, limit);
    }

    /** Acquires the lock for a handle without a request; null if Redis has to be asked. */
    public @Nullable Held enterHere(HandleOwner owner) {
        return null;
    }

    /** Makes the driver of an acquisition for a handle for which no thread waits. */
    public Driver unattended(HandleOwner owner, WaitLimit limit) {
        return unattendedAttempt(owner, limit);
    }

    public void unlock() {
        unlock(possession(), Exits.NEVER);
    }

    /** Unlocks once. If Redis has not answered by {@code byNanos}, the release goes on in the background. */
    public void unlock(Held held, long byNanos) {
        engine.exits.unlock(this, (Hold) held, byNanos);
    }

    /** Undoes an acquisition that no caller got. Returns false if the caller has to release the hold itself. */
    public boolean undo(Held held, long byNanos) {
        return engine.exits.undo(this, (Hold) held, byNanos);
    }

    /**
     * Ends the renewal: the hold lasts for its lease from now on, or for the rest of its present lease if Redis does
     * not answer.
     */
    public void fix(Held held, long byNanos) {
        Hold hold = (Hold) held;
        engine.exits.fix(hold, extend(hold, own.leaseMillis(), byNanos));
    }

    /** Ends the latest acquisition after an error; {@code count} was the hold count before that end began. */
    public void strand(Held held, int count) {
        engine.exits.strand((Hold) held, count);
    }

    /** The possession that the calling thread has to unlock, valid or lost; throws if there is none. */
    public final Held possession() {
        Held held = rescued();
        if (held == null) {
            throw notHeld();
        }
        return held;
    }

    /** Whether the calling thread has anything to unlock, valid or lost. */
    public final boolean hasPossession() {
        return rescued() != null;
    }

    /** The calling thread's possession, valid or lost; null if there is none. */
    protected @Nullable Held present() {
        return hold();
    }

    /** As {@link #present}, but first hands the release of a stranded hold to the watchdog. */
    protected @Nullable Held rescued() {
        return engine.entries.rescued(this);
    }

    /**
     * Checks the time for which a lock is to stay taken after its release, counted from its acquisition. Returns the
     * time in ms, rounded up.
     */
    public long checkKept(Duration sinceAcquired) {
        if (!engine.hasLines()) {
            throw new UnsupportedOperationException("A quorum offers no releaseAfter: its masters end their votes one"
                    + " by one, and none votes for nobody. Release the handle when that time has come, or use a"
                    + " single server, Sentinel or a cluster.");
        }
        Objects.requireNonNull(sinceAcquired, "sinceAcquired");
        if (sinceAcquired.isNegative() || sinceAcquired.compareTo(Settings.MAX_LEASE) > 0) {
            throw new IllegalArgumentException("sinceAcquired is " + Shown.of(sinceAcquired)
                    + ": it must lie between 0 and " + Shown.of(Settings.MAX_LEASE)
                    + ". Count it from when the lock was acquired, or release() to free the lock at once.");
        }
        return sinceAcquired.plusNanos(999_999).toMillis();
    }

    /** Releases a handle's hold, once; see {@link Exits#release} for {@code keptMillis}. */
    public void releaseHandle(Held held, long keptMillis) {
        engine.exits.release(this, (Hold) held, keptMillis, Exits.NEVER);
    }

    /** As {@link #releaseHandle}, without waiting; see {@link Exits#releaseHandleLater} for {@code onEnd}. */
    public void releaseHandleLater(Held held, long keptMillis, Consumer<Boolean> onEnd) {
        engine.exits.releaseHandleLater(this, (Hold) held, keptMillis, onEnd);
    }

    public boolean isValid(Held held) {
        return engine.isValid((Hold) held);
    }

    /** For how long the possession is valid from now on; 0 if it is not valid. */
    public final long remainingNanos(Held held) {
        return isValid(held) ? Math.max(0, held.deadlineNanos() - engine.clock().nanoTime()) : 0;
    }

    private IllegalMonitorStateException notHeld() {
        return new IllegalMonitorStateException("Thread "
                + Shown.of(Threads.name(Thread.currentThread())) + " does not hold the lock \"" + Shown.of(keys.name())
                + "\": only the thread that locked it can do this, through the same RedisLocks; for work that changes its"
                + " thread, acquire a LockHandle, which any thread may release.");
    }

    /** The calling thread's possession if it is valid now, or null. */
    public final @Nullable Held held() {
        Held held = present();
        return held != null && isValid(held) ? held : null;
    }

    /** The calling thread's possession; throws if there is none or if it is lost. */
    public final Held ensureHeld() {
        Held held = present();
        if (held == null) {
            throw notHeld();
        }
        if (!isValid(held)) {
            throw Losses.exception(held);
        }
        return held;
    }

    public final long remainingNanos() {
        Held held = present();
        return held == null ? 0 : remainingNanos(held);
    }

    /** Gives the lock up, waits in a Condition as {@link Conditions#await} says, and acquires the lock again. */
    protected boolean await(Conditions conditions, String id, WaitLimit limit, @Nullable Instant until)
            throws InterruptedException {
        Hold hold = (Hold) ensureHeld();
        return conditions.await(id, hold, new ConditionWaiter.OwnerOf(hold), limit, until);
    }

    protected void signal(Conditions conditions, String id, boolean all, WaitLimit limit) {
        conditions.signal(id, (Hold) ensureHeld(), all, limit);
    }

    /** Whether another lock object is for the same lock of the same client. */
    public boolean isSameAs(Sync other) {
        return engine == other.engine && keys.lock().equals(other.keys.lock());
    }
}
