package io.github.redislocks.bench.crew;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;

/** The result of a loop: of one thread, of one JVM, or of all. */
public final class Tally implements Serializable {

    private static final long serialVersionUID = 1L;

    /** The number of iterations of each thread. */
    public final ArrayList<Long> opsOfThreads = new ArrayList<>();

    /** The times from the call of lock to the return of unlock, in ns. */
    public final Histogram latency = new Histogram(3);

    /** The times from the call of lock to its return, in ns; empty in loops where no thread waits. */
    public final Histogram waits = new Histogram(3);

    /** The waits of those who then had the lock alone, in ns. */
    public final Histogram writerWaits = new Histogram(3);

    /** How often more threads had a lock at once than may. */
    public long violations;

    /** The longest time of all threads. */
    public long elapsedNanos;

    /** The processor time of the whole JVM. */
    public long cpuNanos;

    /** The bytes that all threads of the JVM allocated. */
    public long allocatedBytes;

    /** The processor time of the looping threads. */
    public long threadCpuNanos;

    public void add(Tally other) {
        opsOfThreads.addAll(other.opsOfThreads);
        latency.add(other.latency);
        waits.add(other.waits);
        writerWaits.add(other.writerWaits);
        violations += other.violations;
        elapsedNanos = Math.max(elapsedNanos, other.elapsedNanos);
        cpuNanos += other.cpuNanos;
        allocatedBytes += other.allocatedBytes;
        threadCpuNanos += other.threadCpuNanos;
    }

    public static Tally of(List<Tally> parts) {
        Tally all = new Tally();
        parts.forEach(all::add);
        return all;
    }

    public long ops() {
        return opsOfThreads.stream().mapToLong(Long::longValue).sum();
    }

    public double opsPerSecond() {
        return ops() * 1e9 / elapsedNanos;
    }

    /** Jain's index of fairness: 1 if all threads made as many iterations, 1/n if one thread made all. */
    public double jain() {
        double squares =
                opsOfThreads.stream().mapToDouble(ops -> (double) ops * ops).sum();
        return squares == 0 ? 0 : (double) ops() * ops() / (opsOfThreads.size() * squares);
    }

    /** The iterations of the slowest thread divided by those of the fastest. */
    public double slowestShare() {
        long most = opsOfThreads.stream().mapToLong(Long::longValue).max().orElse(0);
        long least = opsOfThreads.stream().mapToLong(Long::longValue).min().orElse(0);
        return most == 0 ? 0 : (double) least / most;
    }
}
