package io.github.redislocks.torture;

import static io.github.redislocks.FixedLease.fixed;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockOptions;
import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.Permits;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReadLock;
import io.github.redislocks.RedisReentrantLock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Makes the locks of one worker. */
interface TestLocks extends AutoCloseable {

    /** The kinds of locks that workers can use. */
    enum Brand {
        LIBRARY,
        /** Excludes within one JVM only. */
        LOCAL,
        /** Wakes nobody up. */
        DEAF,
        /** Gives the same token to many holds. */
        REPEATING,
        /** Never tells a holder that it has lost. */
        SILENT,
        /** Never tells a holder that the one before it has lost. */
        DISCREET,
        /** Forgets how often it is held. */
        COUNTLESS,
        /** Refuses a try at times though it is free. */
        GRUDGING,
        /** Of several locks it takes the first only. */
        PARTIAL,
        /** Readers do not lock, and all permits have one number. */
        LENIENT;

        TestLocks connect(
                String uri, int maxConnections, boolean watches, Duration residency, Consumer<LockLost> listener) {
            TestLocks library = new Library(RedisLocks.builder()
                    .uri(uri)
                    .lease(LEASE)
                    .maxConnections(maxConnections)
                    .watchDeletions(watches)
                    .residency(residency)
                    .onLockLost(listener)
                    .build());
            return this == LIBRARY ? library : new BrokenLocks(library, this);
        }
    }

    /** The default lease of the workload. */
    Duration LEASE = Duration.ofSeconds(3);

    /** The lease of holds that name one. */
    Duration FIXED_LEASE = Duration.ofSeconds(2);

    TestLock lock(String name, boolean fair);

    /** A lock that is acquired by handles; has neither re-entry nor Conditions. */
    default TestLock handles(String name, boolean fair) {
        return lock(name, fair);
    }

    /** Whether it can take several at once. */
    default boolean hasSeveral() {
        return false;
    }

    /** Takes several at once. */
    default MultiLockHandle acquireAll(List<String> names) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** Takes several at once, if that can be in a time. */
    default Optional<MultiLockHandle> tryAcquireAll(List<String> names, Duration wait) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** Whether it has locks with readers, and permits. */
    default boolean hasShared() {
        return false;
    }

    /** The write lock of a read-write lock. */
    default TestLock writeLock(String name) {
        throw new UnsupportedOperationException();
    }

    /** The read lock of a read-write lock. */
    default TestLock readLock(String name) {
        throw new UnsupportedOperationException();
    }

    /** Begins an optimistic read; 0 if there is a writer. */
    default long stamp(String name) {
        throw new UnsupportedOperationException();
    }

    /** Whether there was no writer since the stamp. */
    default boolean validate(String name, long stamp) {
        throw new UnsupportedOperationException();
    }

    default Permits permits(String name, int size) {
        throw new UnsupportedOperationException();
    }

    @Override
    void close();

    /** The locks of this library. */
    record Library(RedisLocks locks) implements TestLocks {

        @Override
        public TestLock lock(String name, boolean fair) {
            return new Lock(
                    fair ? locks.reentrantLock(name, LockOptions.defaults().fair(true)) : locks.reentrantLock(name));
        }

        @Override
        public boolean hasSeveral() {
            return true;
        }

        @Override
        public MultiLockHandle acquireAll(List<String> names) throws InterruptedException {
            return locks.multiLock(names).acquire();
        }

        @Override
        public Optional<MultiLockHandle> tryAcquireAll(List<String> names, Duration wait) throws InterruptedException {
            return locks.multiLock(names).tryAcquire(wait);
        }

        @Override
        public TestLock handles(String name, boolean fair) {
            return new HandleLock(locks, name, fair);
        }

        @Override
        public boolean hasShared() {
            return true;
        }

        @Override
        public TestLock writeLock(String name) {
            return new Lock(locks.readWriteLock(name).writeLock());
        }

        @Override
        public TestLock readLock(String name) {
            return new ReadLock(locks.readWriteLock(name).readLock());
        }

        @Override
        public long stamp(String name) {
            return locks.readWriteLock(name).tryOptimisticRead();
        }

        @Override
        public boolean validate(String name, long stamp) {
            return locks.readWriteLock(name).validate(stamp);
        }

        @Override
        public Permits permits(String name, int size) {
            return locks.permits(name, size);
        }

        @Override
        public void close() {
            locks.close();
        }

        private record ReadLock(RedisReadLock lock) implements TestLock {

            @Override
            public boolean acquire(Way way) throws InterruptedException {
                switch (way) {
                    case INTERRUPTIBLY -> lock.lockInterruptibly();
                    case TIMED -> {
                        return lock.tryLock(way.limit, TimeUnit.NANOSECONDS);
                    }
                    case TRY -> {
                        return lock.tryLock();
                    }
                    default -> lock.lock();
                }
                return true;
            }

            @Override
            public long token() {
                return lock.version();
            }

            @Override
            public boolean isHeld() {
                return lock.isHeldByCurrentThread();
            }

            @Override
            public void release() {
                lock.unlock();
            }

            @Override
            public int holdCount() {
                return lock.isHeldByCurrentThread() ? 1 : 0;
            }

            @Override
            public boolean previousHolderLost() {
                return false;
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

        private record Lock(RedisReentrantLock lock) implements TestLock {

            @Override
            public boolean acquire(Way way) throws InterruptedException {
                switch (way) {
                    case LOCK -> lock.lock();
                    case INTERRUPTIBLY -> lock.lockInterruptibly();
                    case LEASED -> fixed(lock, FIXED_LEASE).lock();
                    case TIMED -> {
                        return lock.tryLock(way.limit, TimeUnit.NANOSECONDS);
                    }
                    case LEASED_TIMED -> {
                        return fixed(lock, FIXED_LEASE).tryLock(Duration.ofNanos(way.limit));
                    }
                    case TRY -> {
                        return lock.tryLock();
                    }
                }
                return true;
            }

            @Override
            public long token() {
                return lock.fencingToken();
            }

            @Override
            public boolean isHeld() {
                return lock.isHeldByCurrentThread();
            }

            @Override
            public void release() {
                lock.unlock();
            }

            @Override
            public int holdCount() {
                return lock.getHoldCount();
            }

            @Override
            public boolean previousHolderLost() {
                return lock.previousHolderLost();
            }

            @Override
            public void await(long nanos) throws InterruptedException {
                lock.newCondition("torture").await(nanos, TimeUnit.NANOSECONDS);
            }

            @Override
            public void signal() {
                lock.newCondition("torture").signal();
            }
        }
    }
}
