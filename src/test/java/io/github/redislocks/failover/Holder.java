package io.github.redislocks.failover;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisReentrantLock;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A thread that locks, and looks every half millisecond whether it still holds the lock, until it is to unlock. */
final class Holder extends Thread {

    private final RedisReentrantLock lock;
    private final CountDownLatch tried = new CountDownLatch(1);
    private volatile boolean acquired;
    private volatile boolean unlock;
    private volatile long heldUntilNanos;
    private volatile String lost = "";

    Holder(RedisReentrantLock lock) {
        super("holder");
        this.lock = lock;
        setDaemon(true);
    }

    @Override
    public void run() {
        try {
            acquired = lock.tryLock(1, TimeUnit.SECONDS);
        } catch (LockUnavailableException | InterruptedException refused) {
            // Then it is not held.
        }
        heldUntilNanos = System.nanoTime();
        tried.countDown();
        if (acquired) {
            hold();
        }
    }

    private void hold() {
        while (!unlock) {
            long now = System.nanoTime();
            if (!lock.isHeldByCurrentThread()) {
                break;
            }
            // Before the look: it held the lock at least until then.
            heldUntilNanos = now;
            LockSupport.parkNanos(500_000);
        }
        try {
            lock.unlock();
        } catch (LockLostException e) {
            lost = e.reason().name();
        }
    }

    /** Whether it got the lock. */
    boolean acquired() throws InterruptedException {
        tried.await();
        return acquired;
    }

    void end() {
        unlock = true;
    }

    /** The last moment at which it was told that it holds the lock. */
    long heldUntilNanos() {
        return heldUntilNanos;
    }

    /** Why it lost the lock; empty if it did not. */
    String lost() {
        return lost;
    }
}
