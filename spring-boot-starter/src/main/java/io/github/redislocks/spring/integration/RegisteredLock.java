package io.github.redislocks.spring.integration;

import io.github.redislocks.FencedLock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.springframework.integration.support.locks.DistributedLock;

/** A lock of Spring Integration. Its methods with a time to live call the methods with a lease. */
final class RegisteredLock implements DistributedLock {

    private final FencedLock fenced;

    RegisteredLock(FencedLock fenced) {
        this.fenced = fenced;
    }

    @Override
    public void lock() {
        fenced.lock();
    }

    @Override
    public void lock(Duration ttl) {
        fenced.lock(ttl);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        fenced.lockInterruptibly();
    }

    @Override
    public boolean tryLock() {
        return fenced.tryLock();
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return fenced.tryLock(time, unit);
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
        return fenced.tryLock(waitTime, ttl);
    }

    @Override
    public void unlock() {
        fenced.unlock();
    }

    @Override
    public Condition newCondition() {
        return fenced.newCondition();
    }

    @Override
    public String toString() {
        return fenced.toString();
    }
}
