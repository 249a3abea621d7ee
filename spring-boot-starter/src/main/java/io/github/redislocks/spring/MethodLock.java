package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockEvent;
import io.github.redislocks.Locks;
import io.github.redislocks.RedisReadLock;
import io.github.redislocks.RedisReentrantReadWriteLock;
import java.util.concurrent.locks.Lock;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The lock that the thread of a locked method holds: the lock of that name, or its read lock.
 *
 * @param lock a {@link FencedLock} or a {@link RedisReadLock}
 * @param holds the number of unlocks that are due for the calling thread; 0 if the thread has lost the lock
 * @param token the token of the calling thread's hold; for a reader, the token of the last writer
 * @param check throws if the calling thread does not hold the lock
 */
record MethodLock(String name, Lock lock, IntSupplier holds, LongSupplier token, Runnable check) {

    /** Returns the lock of a method. A thread that writes already writes inside as well, whatever the method says. */
    static MethodLock of(Locks source, String name, LockedMethod method) {
        FencedLock lock = made(source.reentrantLock(name, method.options), source, method);
        if (!method.reads() || lock.isHeldByCurrentThread()) {
            return new MethodLock(name, lock, lock::getHoldCount, lock::fencingToken, lock::ensureHeld);
        }
        RedisReentrantReadWriteLock both = made(
                source.readWriteLock(name, method.options) instanceof RedisReentrantReadWriteLock ours ? ours : null,
                source,
                method);
        RedisReadLock read = both.readLock();
        return new MethodLock(name, read, both::getReadHoldCount, read::version, read::ensureHeld);
    }

    private static <T> T made(@Nullable T lock, Locks source, LockedMethod method) {
        if (lock == null) {
            throw new IllegalStateException("The Locks of @Locked on " + method + ", a "
                    + source.getClass().getName()
                    + ", returned no lock of redis-locks, as a mock does. Use locks that work"
                    + " without Redis in tests: a bean of InMemoryLocks.start().client().");
        }
        return lock;
    }

    LockEvent.Mode mode() {
        return lock instanceof RedisReadLock ? LockEvent.Mode.READ : LockEvent.Mode.WRITE;
    }

    boolean isHeld() {
        return holds.getAsInt() > 0;
    }
}
