package io.github.redislocks;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.LocalQueue;
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
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** The local part of a lock and unlock: the local queue, and the map of the holds. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class LocalBenchmark {

    /** The client that the threads share. */
    @State(Scope.Benchmark)
    public static class Shared {
        final LocalQueue localQueue = new LocalQueue();
        final Holds holds = new Holds();
    }

    /** A lock that only one thread uses. */
    @State(Scope.Thread)
    public static class Own {
        Attempt attempt;
        Hold hold;

        @Setup
        public void take() {
            Thread thread = Thread.currentThread();
            LockKeys keys = LockKeys.of("redis-locks", "inventory:sku-" + thread.getName());
            String owner = "host:1:2:" + thread.getName();
            attempt = new Attempt(
                    1, keys, new Owner(owner), new Attempt.Request(30_000, true, false), WaitLimit.endless());
            hold = new Hold(attempt, new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true), 0, 0, null);
        }
    }

    /** Enters and leaves the local queue of a lock that nobody else wants. */
    @Benchmark
    public boolean localQueue(Shared shared, Own own) {
        boolean turn = shared.localQueue.enter(own.attempt);
        shared.localQueue.exit(own.attempt.keys, own.attempt.number);
        return turn;
    }

    /** Adds a hold to the map, looks it up as unlock does, and removes it. */
    @Benchmark
    public Hold holds(Shared shared, Own own) {
        shared.holds.put(own.hold);
        Hold found = shared.holds.get(own.attempt.keys, own.attempt.owner);
        shared.holds.remove(own.hold);
        return found;
    }

    /** Does the same as {@link #holds}, by 8 threads at once. */
    @Benchmark
    @Threads(8)
    public Hold holdsOfManyThreads(Shared shared, Own own) {
        return holds(shared, own);
    }
}
