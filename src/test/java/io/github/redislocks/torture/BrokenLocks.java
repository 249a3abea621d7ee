package io.github.redislocks.torture;

import io.github.redislocks.LockLost;
import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.UnaryOperator;

/** Locks that are wrong, each in one way, so that the checker can be seen to catch it. */
record BrokenLocks(TestLocks library, TestLocks.Brand brand, ConcurrentMap<String, Counted> locals)
        implements TestLocks {

    /** How often a waiter that nobody wakes looks again. */
    private static final long DEAF_NANOS = TimeUnit.SECONDS.toNanos(4);
    /** So many µs share a token. */
    private static final long REPEATED = TimeUnit.SECONDS.toMicros(1);

    /** A lock of the JDK whose holds have tokens. */
    private static final class Counted extends ReentrantLock {

        private static final long serialVersionUID = 1L;

        private long token;
    }

    BrokenLocks(TestLocks library, TestLocks.Brand brand) {
        this(library, brand, new ConcurrentHashMap<>());
    }

    @Override
    public TestLock lock(String name, boolean fair) {
        TestLock right = library.lock(name, fair);
        return switch (brand) {
            case LIBRARY, PARTIAL, LENIENT -> right;
            case LOCAL -> new Local(locals.computeIfAbsent(name, any -> new Counted()));
            default -> new Wrong(right, brand);
        };
    }

    @Override
    public boolean hasSeveral() {
        return brand == TestLocks.Brand.PARTIAL;
    }

    @Override
    public MultiLockHandle acquireAll(List<String> names) throws InterruptedException {
        return new Partial(library.acquireAll(names.subList(0, 1)), names);
    }

    @Override
    public Optional<MultiLockHandle> tryAcquireAll(List<String> names, Duration wait) throws InterruptedException {
        return library.tryAcquireAll(names.subList(0, 1), wait).map(first -> new Partial(first, names));
    }

    @Override
    public boolean hasShared() {
        return brand == TestLocks.Brand.LENIENT;
    }

    @Override
    public TestLock writeLock(String name) {
        return library.writeLock(name);
    }

    @Override
    public TestLock readLock(String name) {
        return new Local(locals.computeIfAbsent(name + Thread.currentThread().getName(), any -> new Counted()));
    }

    @Override
    public long stamp(String name) {
        return library.stamp(name);
    }

    @Override
    public boolean validate(String name, long stamp) {
        return true;
    }

    @Override
    public Permits permits(String name, int size) {
        Permits right = library.permits(name, size);
        return replacing(
                Permits.class,
                right,
                result -> result instanceof PermitHandle handle
                        ? replacing(PermitHandle.class, handle, value -> value instanceof List ? List.of(0) : value)
                        : result);
    }

    /** The same object with its results replaced. */
    private static <T> T replacing(Class<T> type, T right, UnaryOperator<Object> result) {
        Object proxy = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (any, method, args) -> {
            try {
                return result.apply(method.invoke(right, args));
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
        return type.cast(proxy);
    }

    @Override
    public void close() {
        library.close();
    }

    /** Says that it has all, and has the first. */
    private record Partial(MultiLockHandle first, List<String> names) implements MultiLockHandle {

        @Override
        public String owner() {
            return first.owner();
        }

        @Override
        public long fencingToken(String name) {
            return names.indexOf(name) == 0 ? first.fencingToken(name) : System.nanoTime();
        }

        @Override
        public boolean isHeld() {
            return first.isHeld();
        }

        @Override
        public void ensureHeld() {
            first.ensureHeld();
        }

        @Override
        public Duration remainingLease() {
            return first.remainingLease();
        }

        @Override
        public boolean previousHolderLost() {
            return first.previousHolderLost();
        }

        @Override
        public CompletionStage<LockLost> lost() {
            return first.lost();
        }

        @Override
        public void close() {
            first.close();
        }

        @Override
        public boolean release() {
            return first.release();
        }

        @Override
        public CompletionStage<Boolean> releaseAsync() {
            return first.releaseAsync();
        }

        @Override
        public boolean releaseAfter(Duration sinceAcquired) {
            return first.releaseAfter(sinceAcquired);
        }

        @Override
        public CompletionStage<Boolean> releaseAfterAsync(Duration sinceAcquired) {
            return first.releaseAfterAsync(sinceAcquired);
        }
    }

    private record Local(Counted lock) implements TestLock {

        @Override
        public boolean acquire(Way way) throws InterruptedException {
            if (way.limit < 0) {
                lock.lock();
            } else if (!lock.tryLock(way.limit, TimeUnit.NANOSECONDS)) {
                return false;
            }
            lock.token = lock.getHoldCount() == 1 ? System.nanoTime() : lock.token;
            return true;
        }

        @Override
        public long token() {
            return lock.token;
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
            return false;
        }

        @Override
        public void await(long nanos) throws InterruptedException {
            lock.newCondition().await(nanos, TimeUnit.NANOSECONDS);
            lock.token = System.nanoTime();
        }

        @Override
        public void signal() {}
    }

    /** The library's lock, with one answer or wait of it replaced. */
    private record Wrong(TestLock right, TestLocks.Brand brand) implements TestLock {

        @Override
        public boolean acquire(Way way) throws InterruptedException {
            if (brand == TestLocks.Brand.GRUDGING
                    && way == Way.TRY
                    && ThreadLocalRandom.current().nextBoolean()) {
                return false;
            }
            if (brand != TestLocks.Brand.DEAF) {
                return right.acquire(way);
            }
            boolean got = right.acquire(Way.TRY);
            while (!got && way.limit != 0) {
                LockSupport.parkNanos(way.limit < 0 ? DEAF_NANOS : way.limit);
                got = right.acquire(Way.TRY);
                if (way.limit > 0) {
                    break;
                }
            }
            return got;
        }

        @Override
        public long token() {
            return brand == TestLocks.Brand.REPEATING ? right.token() / REPEATED : right.token();
        }

        @Override
        public boolean isHeld() {
            return brand == TestLocks.Brand.SILENT || right.isHeld();
        }

        @Override
        public void release() {
            if (brand != TestLocks.Brand.SILENT || right.isHeld()) {
                right.release();
            }
        }

        @Override
        public int holdCount() {
            return brand == TestLocks.Brand.COUNTLESS ? Math.min(1, right.holdCount()) : right.holdCount();
        }

        @Override
        public boolean previousHolderLost() {
            return brand != TestLocks.Brand.DISCREET && right.previousHolderLost();
        }

        @Override
        public void await(long nanos) throws InterruptedException {
            right.await(nanos);
        }

        @Override
        public void signal() {
            right.signal();
        }
    }
}
