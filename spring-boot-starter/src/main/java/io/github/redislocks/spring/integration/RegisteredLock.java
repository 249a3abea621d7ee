package io.github.redislocks.spring.integration;

import io.github.redislocks.FencedLock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.Function;
import org.springframework.integration.support.locks.DistributedLock;

/** A lock of Spring Integration. A call with a time to live is made on a lock object with that fixed lease. */
final class RegisteredLock implements DistributedLock {

    private final FencedLock fenced;
    private final Function<Duration, FencedLock> withTtl;

    RegisteredLock(FencedLock fenced, Function<Duration, FencedLock> withTtl) {
        this.fenced = fenced;
        this.withTtl = withTtl;
    }

    @Override
    public void lock() {
        fenced.lock();
    }

    @Override
    public void lock(Duration ttl) {
        withTtl.apply(ttl).lock();
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
        return withTtl.apply(ttl).tryLock(waitTime);
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
