package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.engine.RedisCondition;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.handles.AcquireFuture;
import io.github.redislocks.handles.RedisLockHandle;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
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
 * <p><b>How a hold ends.</b> A hold ends by {@link #unlock()}, or when its lease in Redis ends. A hold is renewed in
 * the background while its thread and process live, until its {@link RedisLocksBuilder#maxHold maxHold} at most. A hold
 * with a {@link LockOptions#fixedLease fixedLease} is not renewed, and ends with this lease at the latest. A hold is
 * <em>lost</em> if its lease ran out, Redis did not confirm it in time, or it was removed from Redis. Then
 * {@link #isHeldByCurrentThread()} turns false, the {@link LockListener} is notified, and the owner's next
 * {@link #unlock()} or {@link #ensureHeld()} throws {@link LockLostException}. A process that is paused for longer than
 * its lease cannot learn of the loss in time; so a resource that must never see two writers has to check the
 * {@link #fencingToken()}.
 *
 * <p><b>Locking again after a loss.</b> {@code lock()} and {@code tryLock()} never fail because of an earlier loss. A
 * thread that has lost its hold gets a new hold, with a hold count of 1 and a greater token. Its next {@code unlock()}
 * releases the new hold, and the unlocks of the lost hold still throw. So a thread holds the lock whenever
 * {@code lock()} has returned, and code that skips {@code unlock()} when {@link #isHeldByCurrentThread()} is false can
 * lock again. But a re-entry that returns does not prove that the outer hold still lasts: call {@link #ensureHeld()}
 * before the re-entry, or set {@link LockOptions#relockAfterLoss relockAfterLoss(false)}.
 *
 * <p><b>Order.</b> A lock with {@link LockOptions#fair fair(true)} serves threads of all JVMs in the order of their
 * arrival at Redis. Any other lock serves the threads of one JVM in order of arrival, and one JVM after the other,
 * which costs fewer requests. {@link #tryLock()} takes a free lock of either kind, even if others wait for it.
 *
 * <p><b>While Redis is away.</b> {@code lock()} goes on trying for the {@link RedisLocksBuilder#retryFor retryFor}, and
 * a timed try until its time is over; then both throw {@link LockUnavailableException}. Methods that ask Redis throw
 * {@link IllegalStateException} once the {@code RedisLocks} is closed.
 *
 * <p><b>Memory.</b> As {@link Lock} demands, what a thread does before it unlocks <em>happens before</em> what the next
 * holder in the same JVM does after it has acquired the lock.
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

    final LockClient client;
    private final Sync sync;
    private final AtomicInteger conditions = new AtomicInteger();

    RedisReentrantLock(LockClient client, Sync sync) {
        this.client = client;
        this.sync = sync;
    }

    /**
     * Acquires the lock, and waits for it as long as necessary. An interrupt does not end the wait; the interrupt flag
     * stays set. The hold is renewed until {@link #unlock()}, unless it has a {@link LockOptions#fixedLease
     * fixedLease}.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    public void lock() {
        sync.lock();
    }

    /**
     * Acquires the lock as {@link #lock()} does, but an interrupt ends the wait. After an interrupt, nothing of this
     * call is left in Redis.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis stays away for longer than {@code retryFor}
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        sync.lockInterruptibly();
    }

    /**
     * Acquires the lock if it is free now, even if others wait for it. Blocks only until Redis answers, for one command
     * timeout at most.
     *
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis did not answer or refused, so that it is unknown whether the lock is
     *     free
     */
    @Override
    public boolean tryLock() {
        return sync.tryLock();
    }

    /**
     * Acquires the lock if it becomes free within the given time. Never returns false early, and ends within 200 ms
     * after that time even if Redis hangs. With a time of zero or less, takes only a free lock, as {@link #tryLock()}
     * does, but leaves a fair lock to the threads that wait for it.
     *
     * @throws InterruptedException if the thread is interrupted on entry or while it waits
     * @throws IllegalStateException if the {@link RedisLocks} is closed
     * @throws LockUnavailableException if Redis did not answer this client at all in that time, or refused to give it
     *     locks, so that nobody knows whether the lock is busy
     */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return sync.tryLock(unit.toNanos(time));
    }

    @Override
    public LockHandle acquire() throws InterruptedException {
        return newHandle()
                .acquire(WaitLimit.interruptible(sync.retryForNanos()))
                .orElseThrow();
    }

    @Override
    public Optional<LockHandle> tryAcquire(Duration wait) throws InterruptedException {
        return newHandle().acquire(limit(wait));
    }

    @Override
    public CompletableFuture<LockHandle> acquireAsync() {
        return newHandle().acquireAsync(WaitLimit.endless(sync.retryForNanos()), AcquireFuture.waiting());
    }

    @Override
    public CompletableFuture<Optional<LockHandle>> tryAcquireAsync(Duration wait) {
        return newHandle().acquireAsync(limit(wait), AcquireFuture.trying());
    }

    private RedisLockHandle newHandle() {
        client.attempts.checkOpen();
        return new RedisLockHandle(client, sync);
    }

    private WaitLimit limit(Duration wait) {
        return sync.limit(TimeUnit.NANOSECONDS.convert(Objects.requireNonNull(wait, "wait")));
    }

    /**
     * Undoes the latest {@code lock()} of the calling thread; the outermost {@code unlock()} releases the lock and
     * hands it to the next waiter. Blocks for at most one command timeout: if Redis does not answer, the hold ends in
     * this client, and its release continues in the background.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if the calling thread held the lock and has lost it
     */
    @Override
    public void unlock() {
        sync.unlock();
    }

    /**
     * Returns a new Condition of this lock. This object numbers its Conditions in the order of their creation, and
     * Conditions with the same number are one Condition in all JVMs. So code that makes its Conditions in the same
     * order in two JVMs gets the same Conditions in both.
     *
     * <p>If two JVMs make their Conditions in a different order, the Conditions are confused: a thread waits for "not
     * empty" and is woken by a signal for "not full". This may happen in a rolling deployment if the new version makes
     * one more Condition before the others, or swaps two fields. Use {@link #newCondition(String)} if several JVMs use
     * the Condition.
     *
     * <p>The Condition behaves as the JDK's, with these differences. {@code await} releases the hold and returns with a
     * new hold, which has a new token. Spurious wake-ups are possible. They are frequent after a holder has lost the
     * lock: waiters are woken, since that holder may have been about to signal. While Redis is away, {@code await} goes
     * on waiting. If Redis stays away for longer than {@code retryFor} when {@code await} has to begin or to return, or
     * if Redis refuses permanently, {@code await} throws {@link LockUnavailableException}. If the {@link RedisLocks} is
     * closed meanwhile, it throws {@link IllegalStateException}. If the calling thread does not hold the lock,
     * {@code await} and {@code signal} throw {@link IllegalMonitorStateException}; if the thread has lost the lock,
     * they throw {@link LockLostException}. After an {@link InterruptedException} the lock is held again; after any
     * other exception of {@code await} it is <em>not</em> held, so do not unlock it.
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
     * Whether threads of this client wait in a Condition of this lock. Asks no server:
     * {@link RedisLocks#inspect(String)} shows the waiters of all JVMs.
     *
     * @throws IllegalArgumentException if the Condition belongs to another lock
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if the calling thread held the lock and has lost it
     */
    public boolean hasWaiters(Condition condition) {
        return !getWaitingThreads(condition).isEmpty();
    }

    /**
     * The number of threads of this client that wait in a Condition of this lock. Asks no server.
     *
     * @throws IllegalArgumentException if the Condition belongs to another lock
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if the calling thread held the lock and has lost it
     */
    public int getWaitQueueLength(Condition condition) {
        return getWaitingThreads(condition).size();
    }

    /**
     * The threads of this client that wait in a Condition of this lock. Asks no server.
     *
     * @throws IllegalArgumentException if the Condition belongs to another lock
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws LockLostException if the calling thread held the lock and has lost it
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
     * <p>Right after another client has handed the lock to this thread, the remaining lease is short, until the first
     * renewal.
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
     * The thread that holds the lock through this {@code RedisLocks}; null if no thread does, for instance because a
     * {@link LockHandle} or another client has the lock. Asks no server.
     */
    public @Nullable Thread getOwner() {
        Owner owner = client.queries().localOwner(sync.keys());
        return owner == null ? null : owner.thread();
    }

    /**
     * Whether threads of this client wait for the lock. A thread counts from before it sends its first request until
     * its call returns. Asks no server; {@link RedisLocks#inspect(String)} shows the waiters of all JVMs.
     */
    public boolean hasQueuedThreads() {
        return !client.queuedThreads(sync.keys()).isEmpty();
    }

    /** Whether the given thread waits for the lock, in the sense of {@link #hasQueuedThreads()}. Asks no server. */
    public boolean hasQueuedThread(Thread thread) {
        Objects.requireNonNull(thread, "thread");
        return client.queuedThreads(sync.keys()).contains(thread);
    }

    /** The number of threads that wait for the lock, in the sense of {@link #hasQueuedThreads()}. Asks no server. */
    public int getQueueLength() {
        return client.queuedThreads(sync.keys()).size();
    }

    /** The threads that wait for the lock, in no particular order: see {@link #hasQueuedThreads()}. Asks no server. */
    public Collection<Thread> getQueuedThreads() {
        return client.queuedThreads(sync.keys());
    }

    /**
     * Describes the lock: its name, and the thread or handle of this client that holds it, if there is one. Asks no
     * server.
     */
    @Override
    public String toString() {
        Owner owner = client.queries().localOwner(sync.keys());
        return "RedisReentrantLock " + Shown.of(getName())
                + (owner == null ? "[Unlocked]" : "[Locked by " + owner.description() + "]");
    }
}
