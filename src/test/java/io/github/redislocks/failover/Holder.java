package io.github.redislocks.failover;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisReentrantLock;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A thread that locks, and checks every half millisecond whether it still holds the lock, until it has to unlock. */
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
            // The lock is not held.
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
            // Read before the check: the thread held the lock at least until then.
            heldUntilNanos = now;
            LockSupport.parkNanos(500_000);
        }
        try {
            lock.unlock();
        } catch (LockLostException e) {
            lost = e.reason().name();
        }
    }

    /** Whether the thread got the lock. */
    boolean acquired() throws InterruptedException {
        tried.await();
        return acquired;
    }

    void end() {
        unlock = true;
    }

    /** The last moment at which the thread held the lock by its own knowledge. */
    long heldUntilNanos() {
        return heldUntilNanos;
    }

    /** The reason of the loss; empty if the lock was not lost. */
    String lost() {
        return lost;
    }
}
