package io.github.redislocks.cli;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures locks on the user's own Redis. */
@Command(
        name = "bench",
        description = {
            "Measures how many locks and unlocks a second this machine gets from that Redis, and how long one takes.",
            "It keeps that Redis busy, and leaves one key for each lock, which expires by itself. The program"
                    + " benchmarks/run in the sources of the library compares it with other libraries."
        },
        footer = {"", "Example:", "  redis-locks bench --threads 16 --time 10s --url redis://redis.example:6379"})
final class BenchCommand extends CliCommand {

    private static final int MOST_THREADS = 1_000;
    private static final Duration WARM_UP = Duration.ofSeconds(1);
    private static final Duration SHORTEST = Duration.ofMillis(100);
    private static final Duration LONGEST = Duration.ofMinutes(10);
    private static final int DIGITS = 3;

    @Option(
            names = {"-t", "--threads"},
            paramLabel = "N",
            defaultValue = "8",
            description = "The number of threads in the measurements with several threads. Default: ${DEFAULT-VALUE}.")
    private int threads;

    @Option(
            names = "--time",
            paramLabel = "TIME",
            defaultValue = "3s",
            description = "How long each measurement takes, after one second of warm-up. Default: ${DEFAULT-VALUE}.")
    private Duration time;

    private final Table table = new Table("WORK", "LOCKS/S", "P50", "P99", "P99.9", "LONGEST");

    @Override
    void check() {
        if (threads < 1 || threads > MOST_THREADS) {
            throw wrong("--threads is " + threads + ": name 1 to " + MOST_THREADS);
        }
        if (time.compareTo(SHORTEST) < 0 || time.compareTo(LONGEST) > 0) {
            throw wrong("--time is " + Times.show(time) + ": name 100ms to 10m");
        }
    }

    @Override
    int run(RedisLocks locks, PrintWriter out) throws InterruptedException {
        String name = "redis-locks-bench:" + UUID.randomUUID();
        measure("1 thread", 1, thread -> locks.reentrantLock(name));
        if (threads > 1) {
            measure(threads + " threads, a lock each", threads, thread -> locks.reentrantLock(name + ':' + thread));
            measure(threads + " threads, one lock", threads, thread -> locks.reentrantLock(name));
            try {
                FencedLock fair =
                        locks.reentrantLock(name, LockOptions.defaults().fair(true));
                measure(threads + " threads, one fair lock", threads, thread -> fair);
            } catch (UnsupportedOperationException onAQuorum) {
                table.add(threads + " threads, one fair lock", "not on a quorum", "", "", "", "");
            }
        }
        out.println(table);
        return ExitCodes.OK;
    }

    private void measure(String work, int workers, IntFunction<? extends FencedLock> lock) throws InterruptedException {
        round(workers, lock, WARM_UP);
        long began = System.nanoTime();
        Histogram nanos = round(workers, lock, time);
        double seconds = (System.nanoTime() - began) / 1e9;
        table.add(
                work,
                String.format(Locale.ROOT, "%,.0f", nanos.getTotalCount() / seconds),
                millis(nanos.getValueAtPercentile(50)),
                millis(nanos.getValueAtPercentile(99)),
                millis(nanos.getValueAtPercentile(99.9)),
                millis(nanos.getMaxValue()));
    }

    private static String millis(long nanos) {
        return String.format(Locale.ROOT, "%.2f ms", nanos / 1e6);
    }

    private static Histogram round(int workers, IntFunction<? extends FencedLock> lock, Duration time)
            throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(workers);
        try {
            List<Callable<Histogram>> loops = new ArrayList<>();
            for (int i = 0; i < workers; i++) {
                FencedLock mine = lock.apply(i);
                loops.add(() -> loop(mine, time));
            }
            Histogram all = new Histogram(DIGITS);
            for (Future<Histogram> one : threads.invokeAll(loops)) {
                all.add(one.get());
            }
            return all;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    @SuppressWarnings("LockNotBeforeTry") // No call that may throw stands between lock() and try.
    private static Histogram loop(FencedLock lock, Duration time) {
        Histogram nanos = new Histogram(DIGITS);
        long end = System.nanoTime() + time.toNanos();
        long begin = System.nanoTime();
        while (begin - end < 0) {
            lock.lock();
            lock.unlock();
            long now = System.nanoTime();
            nanos.recordValue(now - begin);
            begin = now;
        }
        return nanos;
    }
}
