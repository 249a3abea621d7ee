package io.github.redislocks.engine;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Residence;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What one lock object uses: a lock, with the settings of that object. Thread-safe, as long as its callers are: see
 * {@link LockEngine}.
 */
public final class Sync extends LockObject {

    final LockEngine engine;

    Sync(LockEngine engine, LockKeys keys, boolean fair, Settings own, @Nullable Residence residence) {
        super(keys, fair, own, residence);
        this.engine = engine;
        checkLease(own.lease(), own.leaseMillis());
    }

    /** The calling thread's hold, valid or lost; null if there is none. */
    @Nullable
    Hold hold() {
        return engine.entries.hold(this);
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

    /** Checks a lease that a caller names against the restart delay of the servers, and returns it in milliseconds. */
    public long checkLease(Duration lease, long millis) {
        long memory = engine.memoryMillis();
        if (millis > memory) {
            throw new IllegalArgumentException(
                    "The lease is " + Shown.of(lease) + ", and a master that restarts gives no votes for "
                            + Shown.of(Duration.ofMillis(memory))
                            + " only, in which the votes that it has forgotten must have ended. Name a"
                            + " lease of at most that, or set a longer restartDelay in all clients.");
        }
        return millis;
    }

    /** Throws if waiters do not stand in one queue, which the named feature needs. */
    public void checkLines(String what) {
        engine.checkLines(what);
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
            long timeout = engine.commandTimeoutNanos();
            return acquire(
                    WaitLimit.forAnswer(engine.clock().nanoTime(), timeout, own.retryForNanos()), leaseMillis, renewed);
        } catch (InterruptedException e) {
            throw new AssertionError("tryLock() does not end by an interrupt", e);
        }
    }

    public boolean tryLock(long waitNanos, long leaseMillis, boolean renewed) throws InterruptedException {
        if (!Thread.currentThread().isInterrupted() && enterHere(leaseMillis, renewed)) {
            return true;
        }
        return acquire(
                WaitLimit.within(engine.clock().nanoTime(), waitNanos, own.retryForNanos()), leaseMillis, renewed);
    }

    /** Counts a re-entry without a request, if the caller's hold is sure to last as long as the caller wants. */
    private boolean enterHere(long leaseMillis, boolean renewed) {
        return engine.entries.enteredHere(this, leaseMillis, renewed) != null;
    }

    private boolean acquire(WaitLimit limit, long leaseMillis, boolean renewed) throws InterruptedException {
        return engine.entries.acquired(this, limit, leaseMillis, renewed) != null;
    }

    /** Acquires for the calling thread, or enters once more. Null if the lock was busy. */
    @Nullable
    Hold acquire(WaitLimit limit, boolean renewed) throws InterruptedException {
        Hold entered = Thread.currentThread().isInterrupted()
                ? null
                : engine.entries.enteredHere(this, own.leaseMillis(), renewed);
        return entered == null ? engine.entries.acquired(this, limit, own.leaseMillis(), renewed) : entered;
    }

    /** Acquires for a handle, for which the calling thread waits. Null if the lock was busy. */
    public @Nullable Hold acquire(HandleOwner owner, WaitLimit limit, boolean renewed) throws InterruptedException {
        return engine.entries.acquire(this, owner, limit, renewed);
    }

    public void unlock() {
        engine.exits.unlock(this, possession(), Exits.NEVER);
    }

    /** What the calling thread has to unlock, valid or lost; throws if there is nothing. */
    Hold possession() {
        Hold hold = engine.entries.rescued(this);
        if (hold == null) {
            throw notHeld();
        }
        return hold;
    }

    /** Whether the calling thread has anything to unlock, valid or lost. */
    boolean hasPossession() {
        return engine.entries.rescued(this) != null;
    }

    /** Checks a time that the lock is to stay taken after its release, and returns it in milliseconds. */
    public long checkKept(Duration sinceAcquired) {
        if (!engine.hasLines()) {
            throw new UnsupportedOperationException("A quorum offers no releaseAfter: its masters end their votes one"
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
        engine.exits.releaseHandle(this, hold, keptMillis);
    }

    /**
     * As {@link #releaseHandle}, without waiting.
     *
     * @param onEnd told whether it was released in good order, by the thread that tells handles
     */
    public void releaseHandleLater(Hold hold, long keptMillis, Consumer<Boolean> onEnd) {
        engine.exits.releaseHandleLater(this, hold, keptMillis, onEnd);
    }

    /** Whether a handle's hold can be relied upon now. */
    public boolean isValid(Hold hold) {
        return engine.isValid(hold);
    }

    /** Until when a hold can be relied upon, from now; 0 if it cannot. */
    public long remainingNanos(Hold hold) {
        return engine.isValid(hold)
                ? Math.max(0, hold.deadlineNanos() - engine.clock().nanoTime())
                : 0;
    }

    private IllegalMonitorStateException notHeld() {
        return new IllegalMonitorStateException("Thread "
                + Shown.of(Threads.name(Thread.currentThread())) + " does not hold the lock \"" + Shown.of(keys.name())
                + "\": only the thread that locked it can do this, through the same RedisLocks; for work that changes its"
                + " thread, acquire a LockHandle, which any thread may release.");
    }

    /** The calling thread's hold if it is valid now, or null. */
    @Nullable
    public Hold held() {
        Hold hold = hold();
        return hold != null && engine.isValid(hold) ? hold : null;
    }

    /** The calling thread's hold; throws if there is none or it is lost. */
    public Hold ensureHeld() {
        Hold hold = hold();
        if (hold == null) {
            throw notHeld();
        }
        if (!engine.isValid(hold)) {
            throw Losses.exception(hold);
        }
        return hold;
    }

    public long remainingNanos() {
        Hold hold = hold();
        return hold == null ? 0 : remainingNanos(hold);
    }

    /** Whether another lock object is for the same lock of the same client. */
    public boolean isSameAs(Sync other) {
        return engine == other.engine && keys.lock().equals(other.keys.lock());
    }
}
