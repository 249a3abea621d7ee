package io.github.redislocks.bench.crew;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.LockClient;
import io.github.redislocks.bench.contender.Mutex;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.contender.Stock;
import io.github.redislocks.bench.contender.Use;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Several threads lock and unlock in a loop, for a given time.
 *
 * @param use what the threads lock
 * @param how what one iteration does
 * @param keys a lock for each thread
 * @param cell the file of the cell that the threads of all JVMs share; empty if each lock has one thread
 */
public record Loop(
        Contender contender,
        Setting setting,
        Use use,
        How how,
        Clients clients,
        List<String> keys,
        String cell,
        long nanos)
        implements Task<Tally> {

    /** The client that the threads use. */
    public enum Clients {
        /** All threads share one client. */
        ONE,
        /** Each thread has a client, as if each were a process. */
        EACH
    }

    /** The action of one iteration. */
    public enum How {
        LOCK,
        /** Re-enters a held lock. */
        REENTER,
        /** Locks and unlocks a name that nobody has used before. */
        FRESH,
        /** Increases a number in Redis between lock and unlock. */
        WORK,
        /** Stays for 1 ms between lock and unlock. */
        STAY_1,
        /** Stays for 10 ms between lock and unlock. */
        STAY_10,
        /** Waits for 1 ms after each unlock. */
        APART
    }

    @Override
    public Tally run(Worker worker) throws InterruptedException, ExecutionException {
        try (Stock stock = how == How.WORK ? new Stock(setting, keys.get(0)) : null) {
            return run(worker, inside(stock));
        }
    }

    /** The work of a thread between lock and unlock. */
    private Runnable inside(Stock stock) {
        return switch (how) {
            case WORK -> stock::raise;
            case STAY_1 -> () -> stay(TimeUnit.MILLISECONDS.toNanos(1));
            case STAY_10 -> () -> stay(TimeUnit.MILLISECONDS.toNanos(10));
            default -> () -> {};
        };
    }

    /** Parks for some time, and returns the present time. */
    private static long stay(long nanos) {
        long now = System.nanoTime();
        for (long end = now + nanos; now < end; now = System.nanoTime()) {
            LockSupport.parkNanos(end - now);
        }
        return now;
    }

    private Tally run(Worker worker, Runnable inside) throws InterruptedException, ExecutionException {
        CountDownLatch ready = new CountDownLatch(keys.size());
        CountDownLatch go = new CountDownLatch(1);
        List<Future<Tally>> threads = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            String key = keys.get(i);
            LockClient client = worker.client(contender, clients == Clients.ONE ? setting : setting.ofClient(i));
            threads.add(worker.threads().submit(() -> {
                Mutex mutex = use.of(client, key);
                Tally tally = new Tally();
                ready.countDown();
                go.await();
                long cpu = threadCpuNanos();
                turns(client, mutex, inside, tally, key);
                tally.threadCpuNanos = threadCpuNanos() - cpu;
                return tally;
            }));
        }
        ready.await();
        return measured(go, threads);
    }

    /** Starts the threads, which are ready, and adds up the results of the threads and of the JVM. */
    static Tally measured(CountDownLatch go, List<Future<Tally>> threads)
            throws InterruptedException, ExecutionException {
        long allocated = allocatedBytes();
        long cpu = processCpuNanos();
        long start = System.nanoTime();
        go.countDown();
        Tally all = new Tally();
        for (Future<Tally> thread : threads) {
            all.add(thread.get());
        }
        all.elapsedNanos = System.nanoTime() - start;
        all.cpuNanos = processCpuNanos() - cpu;
        all.allocatedBytes = allocatedBytes() - allocated;
        return all;
    }

    private void turns(LockClient client, Mutex mutex, Runnable inside, Tally tally, String key) {
        if (how == How.REENTER) {
            mutex.lock();
            try {
                alone(mutex, tally);
            } finally {
                mutex.unlock();
            }
        } else if (how == How.FRESH) {
            afresh(client, key + ":" + System.nanoTime() + ":", tally);
        } else if (cell.isEmpty()) {
            alone(mutex, tally);
        } else {
            together(mutex, inside, tally);
        }
    }

    /** Reads the clock once in each iteration, since the fastest contenders take little longer than that. */
    private void alone(Mutex mutex, Tally tally) {
        long now = System.nanoTime();
        long end = now + nanos;
        long ops = 0;
        while (now < end) {
            mutex.lock();
            mutex.unlock();
            ops++;
            long then = System.nanoTime();
            tally.latency.recordValue(then - now);
            now = then;
            if (how == How.APART) {
                now = stay(TimeUnit.MILLISECONDS.toNanos(1));
            }
        }
        tally.opsOfThreads.add(ops);
    }

    /** Uses each name once. */
    private void afresh(LockClient client, String prefix, Tally tally) {
        long now = System.nanoTime();
        long end = now + nanos;
        long ops = 0;
        while (now < end) {
            Mutex mutex = client.mutex(prefix + ops);
            mutex.lock();
            mutex.unlock();
            ops++;
            long then = System.nanoTime();
            tally.latency.recordValue(then - now);
            now = then;
        }
        tally.opsOfThreads.add(ops);
    }

    private void together(Mutex mutex, Runnable inside, Tally tally) {
        Cell place = Cell.of(cell);
        long ops = 0;
        long called = System.nanoTime();
        long end = called + nanos;
        while (called < end) {
            mutex.lock();
            long entered = System.nanoTime();
            long part = mutex.part();
            tally.violations += place.enter(part);
            inside.run();
            tally.violations += place.leave(part);
            mutex.unlock();
            long left = System.nanoTime();
            ops++;
            tally.waits.recordValue(entered - called);
            if (part == Mutex.ROOM) {
                tally.writerWaits.recordValue(entered - called);
            }
            tally.latency.recordValue(left - called);
            called = left;
        }
        tally.opsOfThreads.add(ops);
    }

    static long processCpuNanos() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    /** The bytes that all live threads have allocated. */
    private static long allocatedBytes() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        return Arrays.stream(threads.getThreadAllocatedBytes(threads.getAllThreadIds()))
                .filter(bytes -> bytes > 0)
                .sum();
    }

    static long threadCpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }
}
