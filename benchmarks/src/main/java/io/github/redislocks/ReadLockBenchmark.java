package io.github.redislocks;

import io.github.redislocks.fixture.OwnServer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of reading under a share that the client has: a read lock and its unlock, beside those of the JDK; and the
 * validation of an optimistic read, beside the look at the clock that a validation needs, and each call of a lock.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
@State(Scope.Benchmark)
public class ReadLockBenchmark {

    private final Lock ofJdk = new ReentrantReadWriteLock().readLock();
    private OwnServer server;
    private RedisLocks locks;
    private RedisReentrantReadWriteLock lock;

    @Setup
    public void connect() {
        server = OwnServer.start();
        locks = RedisLocks.connect(server.uri());
        lock = locks.readWriteLock("read");
    }

    @TearDown
    public void close() {
        locks.close();
        server.close();
    }

    @Benchmark
    public Lock readAndUnlock() {
        return used(lock.readLock());
    }

    @Benchmark
    @Threads(8)
    public Lock readAndUnlockOfManyThreads() {
        return used(lock.readLock());
    }

    @Benchmark
    public Lock readAndUnlockOfJdk() {
        return used(ofJdk);
    }

    @Benchmark
    @Threads(8)
    public Lock readAndUnlockOfJdkOfManyThreads() {
        return used(ofJdk);
    }

    private static Lock used(Lock read) {
        read.lock();
        read.unlock();
        return read;
    }

    @Benchmark
    public long nanoTime() {
        return System.nanoTime();
    }

    /** The read lock, which the thread holds, so that its client has the share. */
    @State(Scope.Thread)
    public static class Reading {
        RedisReentrantReadWriteLock lock;
        long stamp;

        @Setup
        public void read(ReadLockBenchmark all) {
            lock = all.lock;
            lock.readLock().lock();
            stamp = lock.tryOptimisticRead();
        }

        @TearDown
        public void unlock() {
            lock.readLock().unlock();
        }
    }

    @Benchmark
    public boolean validate(Reading reading) {
        return reading.lock.validate(reading.stamp);
    }
}
