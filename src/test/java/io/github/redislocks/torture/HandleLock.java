package io.github.redislocks.torture;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;

/** A lock, acquired by handles, which are used by the thread that has them. */
final class HandleLock implements TestLock {

    private final RedisLocks locks;
    private final String name;
    private final LockOptions options;
    private LockHandle held;

    HandleLock(RedisLocks locks, String name, boolean fair) {
        this.locks = locks;
        this.name = name;
        this.options = LockOptions.defaults().fair(fair);
    }

    @Override
    public boolean isReentrant() {
        return false;
    }

    @Override
    public boolean acquire(Way way) throws InterruptedException {
        LockOptions wanted = way.isRenewed() ? options : options.fixedLease(TestLocks.FIXED_LEASE);
        if (way.limit >= 0) {
            Optional<LockHandle> got = locks.reentrantLock(name, wanted).tryAcquire(Duration.ofNanos(way.limit));
            held = got.orElse(null);
            return got.isPresent();
        }
        held = way == Way.LOCK
                ? awaited(locks.reentrantLock(name, wanted).acquireAsync())
                : locks.reentrantLock(name, wanted).acquire();
        return true;
    }

    private static LockHandle awaited(CompletableFuture<LockHandle> acquired) throws InterruptedException {
        try {
            return acquired.get();
        } catch (ExecutionException e) {
            throw unavailable(e);
        }
    }

    /** Any other failure is a bug. */
    private static RuntimeException unavailable(Exception e) {
        return e.getCause() instanceof LockUnavailableException away ? away : new IllegalStateException(e);
    }

    @Override
    public boolean acquireOrCancel(long nanos) {
        CompletableFuture<LockHandle> acquired =
                locks.reentrantLock(name, options).acquireAsync();
        long until = System.nanoTime() + nanos;
        while (!acquired.isDone() && System.nanoTime() < until) {
            LockSupport.parkNanos(until - System.nanoTime());
        }
        acquired.cancel(false);
        try {
            held = acquired.join();
            return true;
        } catch (CancellationException e) {
            return false;
        } catch (CompletionException e) {
            throw unavailable(e);
        }
    }

    @Override
    public long token() {
        return held.fencingToken();
    }

    @Override
    public boolean isHeld() {
        return held.isHeld();
    }

    @Override
    public void release() {
        held.close();
    }

    @Override
    public void releaseAfter(Duration sinceAcquired) {
        if (!held.releaseAfter(sinceAcquired)) {
            held.ensureHeld();
            throw new IllegalStateException("Not released, and not lost");
        }
    }

    @Override
    public int holdCount() {
        return held.isHeld() ? 1 : 0;
    }

    @Override
    public boolean previousHolderLost() {
        return held.previousHolderLost();
    }

    @Override
    public void await(long nanos) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void signal() {
        throw new UnsupportedOperationException();
    }
}
