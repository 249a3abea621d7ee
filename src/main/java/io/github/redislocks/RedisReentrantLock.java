package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.engine.AcquireFuture;
import io.github.redislocks.engine.LockClient;
import io.github.redislocks.engine.RedisCondition;
import io.github.redislocks.engine.RedisLockHandle;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * A reentrant mutual-exclusion lock for all JVMs that use the same Redis, like
 * {@link java.util.concurrent.locks.ReentrantLock} within one JVM. Get it from
 * {@link RedisLocks#reentrantLock(String)}. All lock objects with the same name are one lock, and a thread that holds
 * it through one object holds it through all objects of the same {@code RedisLocks}.
 *
 * <p><b>How a hold ends.</b> A hold ends by {@link #unlock()}, or by its lease, which Redis keeps. A hold whose
 * acquisition named no lease is renewed in the background while its thread and process live, for its
 * {@link RedisLocks.Builder#maxHold maxHold} at most; a hold with a named lease ends with it. If a hold is no longer
 * valid (its lease ran out, Redis did not confirm it in time, or it was removed in Redis), it is <em>lost</em>:
 * {@link #isHeldByCurrentThread()} turns false, the {@link LockListener} is told, and the owner's next
 * {@link #unlock()} or {@link #ensureHeld()} throws {@link LockLostException}. A process that stands still for longer
 * than its lease cannot be told in time; resources that must never see two writers check the {@link #fencingToken()}.
 *
 * <p><b>Locking again after a loss.</b> {@code lock()} and {@code tryLock()} never fail because of an earlier loss. A
 * thread that has lost its hold acquires the lock anew, with a hold count of 1 and a greater token; its next
 * {@code unlock()} releases the new hold, and the unlocks of the lost one still throw. So what returned holds the lock,
 * and code that skips {@code unlock()} when {@link #isHeldByCurrentThread()} is false can lock again. Only the
 * conclusion "I entered once more, so my outer hold lasts" is wrong here: ask {@link #ensureHeld()}, or set
 * {@link LockOptions#relockAfterLoss relockAfterLoss(false)}.
 *
 * <p><b>Order.</b> A lock with {@link LockOptions#fair fair(true)} serves threads of all JVMs in order of their arrival
 * at Redis. Any other lock serves the threads of one JVM in order of arrival, and JVMs take turns, which costs less.
 * Either way {@link #tryLock()} takes a free lock even if others wait.
 *
 * <p><b>Redis away.</b> {@code lock()} goes on trying for the {@code retryFor} of its {@link RedisLocks}, and timed
 * tries until their time is over; then they throw {@link LockUnavailableException}. Methods that ask Redis throw
 * {@link IllegalStateException} once the {@code RedisLocks} is closed.
 *
 * <p><b>Memory.</b> What a thread wrote before it unlocked is visible to the next holder of the same JVM, as
 * {@link Lock} demands.
 *
 * <pre>{@code
 * RedisReentrantLock lock = locks.reentrantLock("inventory:" + sku);
 * lock.lock();
 * try {
 *     stock.take(sku, lock.fencingToken());
 * } finally {
 *     lock.unlock();
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class RedisReentrantLock implements FencedLock {

    private final LockClient client;
    private final Sync sync;
    private final long leaseMillis;
    private final boolean renewed;
    private final AtomicInteger conditions = new AtomicInteger();

    RedisReentrantLock(LockClient client, Sync sync, boolean renewed) {
        this.client = client;
        this.sync = sync;
        this.leaseMillis = sync.leaseMillis();
        this.renewed = renewed;
    }

    /**
     * Acquires the lock, waiting as long as it takes; an interrupt does not end the wait and is kept. The hold is
     * renewed until {@link #unlock()}.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    public void lock() {
        sync.lock(leaseMillis, renewed);
    }

    @Override
    public void lock(Duration lease) {
        sync.lock(millis(lease), false);
    }

    /**
     * As {@link #lock()}, but an interrupt ends the wait and leaves nothing behind.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        sync.lockInterruptibly(leaseMillis, renewed);
    }

    @Override
    public void lockInterruptibly(Duration lease) throws InterruptedException {
        sync.lockInterruptibly(millis(lease), false);
    }

    /**
     * Acquires the lock if it is free now, even if others wait for it. Waits for the answer of Redis only, for one
     * command timeout at most.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis did not answer, so that nobody knows whether it is free
     */
    @Override
    public boolean tryLock() {
        return sync.tryLock(leaseMillis, renewed);
    }

    /**
     * Acquires the lock if it becomes free within the given time. Never returns false early, and ends within 200 ms
     * after that time even if Redis hangs. A time of zero or less takes a free lock only, as {@link #tryLock()} does,
     * but leaves a fair lock to those that stand in line.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if in that time Redis answered this client nothing at all, or refused it locks,
     *     so that nobody knows whether the lock is busy
     */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return sync.tryLock(unit.toNanos(time), leaseMillis, renewed);
    }

    @Override
    public boolean tryLock(Duration wait, Duration lease) throws InterruptedException {
        Objects.requireNonNull(wait, "wait");
        return sync.tryLock(saturatedNanos(wait), millis(lease), false);
    }

    /** Checks a lease that a caller names, and returns it in milliseconds. */
    private long millis(Duration lease) {
        return sync.checkLease(lease, Settings.checkLease(lease));
    }

    private static long saturatedNanos(Duration duration) {
        return TimeUnit.NANOSECONDS.convert(duration);
    }

    @Override
    public LockHandle acquire() throws InterruptedException {
        return newHandle()
                .acquire(WaitLimit.interruptible(sync.retryForNanos()), renewed)
                .orElseThrow();
    }

    @Override
    public Optional<LockHandle> tryAcquire(Duration wait) throws InterruptedException {
        return newHandle().acquire(limit(wait), renewed);
    }

    @Override
    public CompletableFuture<LockHandle> acquireAsync() {
        return newHandle().acquireAsync(WaitLimit.endless(sync.retryForNanos()), renewed, AcquireFuture.waiting());
    }

    @Override
    public CompletableFuture<Optional<LockHandle>> tryAcquireAsync(Duration wait) {
        return newHandle().acquireAsync(limit(wait), renewed, AcquireFuture.trying());
    }

    private RedisLockHandle newHandle() {
        client.attempts.checkOpen();
        return new RedisLockHandle(client, sync);
    }

    private WaitLimit limit(Duration wait) {
        return sync.limit(saturatedNanos(Objects.requireNonNull(wait, "wait")));
    }

    /**
     * Releases the lock once; the outermost release of a hold frees the lock and hands it on. Blocks for at most one
     * command timeout: if Redis does not answer, the hold ends locally, and its release continues in the background.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if it did and has lost it
     */
    @Override
    public void unlock() {
        sync.unlock();
    }

    /**
     * Returns a Condition of this lock, numbered by this object in order of creation. A class in two JVMs that makes
     * its Conditions in the same order uses the same Conditions.
     *
     * <p>If two JVMs make them in a different order, they mix them up: a thread waits for "not empty" and is signalled
     * "not full". A rolling deployment is enough for that, if the new version makes one more Condition before the
     * others or swaps two fields. Use {@link #newCondition(String)} if another JVM signals or awaits.
     *
     * <p>It behaves as the JDK's, with these differences. {@code await} gives up the hold and returns with a new hold,
     * which has a new token. Spurious wake-ups are possible, above all after the loss of a holder that may have had a
     * signal to give. While Redis is away {@code await} goes on waiting; if it has to begin or to return and Redis
     * stays away for longer than {@code retryFor}, or if Redis refuses it permanently, it throws
     * {@link LockUnavailableException}. If the {@link RedisLocks} is closed meanwhile, it throws
     * {@link IllegalStateException}. Without the lock, {@code await} and {@code signal} throw
     * {@link IllegalMonitorStateException}, or {@link LockLostException} if it was lost. After an
     * {@link InterruptedException} the lock is held again; after any other exception of {@code await} it is
     * <em>not</em> held, so do not unlock it.
     *
     * @throws UnsupportedOperationException on a quorum
     */
    @Override
    public Condition newCondition() {
        sync.checkLines("Conditions");
        return client.condition(sync, "#" + conditions.incrementAndGet());
    }

    @Override
    public Condition newCondition(String conditionName) {
        sync.checkLines("Conditions");
        return client.condition(sync, LockKeys.condition(conditionName));
    }

    /**
     * Whether threads of this JVM wait in a Condition of this lock. Local: code that signals while there are waiters in
     * any JVM has to ask {@link RedisLocks#inspect(String)}, which knows the waiters of all JVMs.
     *
     * @throws IllegalArgumentException if it is a Condition of another lock
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if it did and has lost it
     */
    public boolean hasWaiters(Condition condition) {
        return !getWaitingThreads(condition).isEmpty();
    }

    /**
     * How many threads of this JVM wait in a Condition of this lock, as {@link #hasWaiters(Condition)}.
     *
     * @throws IllegalArgumentException if it is a Condition of another lock
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if it did and has lost it
     */
    public int getWaitQueueLength(Condition condition) {
        return getWaitingThreads(condition).size();
    }

    /**
     * The threads of this JVM that wait in a Condition of this lock, as {@link #hasWaiters(Condition)}.
     *
     * @throws IllegalArgumentException if it is a Condition of another lock
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if it did and has lost it
     */
    public Collection<Thread> getWaitingThreads(Condition condition) {
        Objects.requireNonNull(condition, "condition");
        if (!(condition instanceof RedisCondition ours) || !ours.isOf(sync)) {
            throw new IllegalArgumentException(condition + " is not a Condition of the lock \"" + Shown.of(getName())
                    + "\": ask the lock that made it.");
        }
        sync.ensureHeld();
        return client.queries().waitingThreads(sync.keys(), ours.id());
    }

    @Override
    public String getName() {
        return sync.keys().name();
    }

    @Override
    public long fencingToken() {
        return sync.ensureHeld().token;
    }

    /**
     * {@inheritDoc}
     *
     * <p>Shortly after another client has handed the lock over, this is less than the lease.
     */
    @Override
    public Duration remainingLease() {
        return Duration.ofNanos(sync.remainingNanos());
    }

    @Override
    public void ensureHeld() {
        sync.ensureHeld();
    }

    @Override
    public boolean previousHolderLost() {
        return sync.ensureHeld().previousLost;
    }

    @Override
    public boolean forceUnlock() {
        return client.queries().forceUnlock(sync.keys());
    }

    @Override
    public int getHoldCount() {
        Held held = sync.held();
        return held == null ? 0 : held.count();
    }

    @Override
    public boolean isHeldByCurrentThread() {
        return sync.held() != null;
    }

    @Override
    public boolean isLocked() {
        return client.isLocked(sync.keys());
    }

    @Override
    public boolean isFair() {
        return sync.isFair();
    }

    /**
     * The thread of this JVM that holds the lock through this {@code RedisLocks}; null if none does, even if a
     * {@link LockHandle} has it. Local.
     */
    public @Nullable Thread getOwner() {
        Owner owner = client.queries().localOwner(sync.keys());
        return owner == null ? null : owner.thread();
    }

    /**
     * Whether threads of this JVM wait for the lock. A thread counts from before its first request is sent until it
     * returns. Local; for all JVMs there is {@link RedisLocks#inspect(String)}.
     */
    public boolean hasQueuedThreads() {
        return !client.queuedThreads(sync.keys()).isEmpty();
    }

    /** Whether this thread waits for the lock, as {@link #hasQueuedThreads()} counts. Local. */
    public boolean hasQueuedThread(Thread thread) {
        Objects.requireNonNull(thread, "thread");
        return client.queuedThreads(sync.keys()).contains(thread);
    }

    /** How many threads of this JVM wait for the lock, as {@link #hasQueuedThreads()} counts. Local. */
    public int getQueueLength() {
        return client.queuedThreads(sync.keys()).size();
    }

    /** The threads of this JVM that wait for the lock, in no order, as {@link #hasQueuedThreads()} counts. Local. */
    public Collection<Thread> getQueuedThreads() {
        return client.queuedThreads(sync.keys());
    }

    /** Names the lock, and the thread or handle of this JVM that holds it, if there is one. Asks no server. */
    @Override
    public String toString() {
        Owner owner = client.queries().localOwner(sync.keys());
        return "RedisReentrantLock " + Shown.of(getName())
                + (owner == null ? "[Unlocked]" : "[Locked by " + owner.description() + "]");
    }
}
