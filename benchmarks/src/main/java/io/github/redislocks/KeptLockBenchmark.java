package io.github.redislocks;

import io.github.redislocks.fixture.OwnServer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
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
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of a lock and unlock of locks that the thread's client keeps. Unlike the works, this benchmark has no clock
 * and no histogram in its loop. It uses several locks, one after the other, since a lock has one token for each
 * microsecond.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
@Fork(2)
@State(Scope.Thread)
public class KeptLockBenchmark {

    private static final int LOCKS = 16;

    private final RedisReentrantLock[] kept = new RedisReentrantLock[LOCKS];
    private OwnServer server;
    private RedisLocks locks;
    private int next;

    @Setup
    public void keep() {
        server = OwnServer.start();
        locks = RedisLocks.builder()
                .uri(server.uri())
                .residency(Duration.ofSeconds(1))
                .build();
        for (int i = 0; i < LOCKS; i++) {
            kept[i] = locks.reentrantLock("kept-" + i);
        }
    }

    @TearDown
    public void close() {
        locks.close();
        server.close();
    }

    @Benchmark
    public RedisReentrantLock lockAndUnlock() {
        next = (next + 1) % LOCKS;
        RedisReentrantLock lock = kept[next];
        lock.lock();
        lock.unlock();
        return lock;
    }
}
