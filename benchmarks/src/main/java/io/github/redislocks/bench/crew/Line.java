package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.LockClient;
import io.github.redislocks.bench.contender.Mutex;
import io.github.redislocks.bench.contender.Setting;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.HdrHistogram.Histogram;

/**
 * Many threads wait for one lock, which the worker's main thread holds. The task returns when all threads have called
 * lock; {@link Drain} releases the lock.
 */
public record Line(Contender contender, Setting setting, String key, int threads) implements Task<Integer> {

    @Override
    public Integer run(Worker worker) throws InterruptedException {
        LockClient client = worker.client(contender, setting);
        Mutex held = client.mutex(key);
        held.lock();
        CountDownLatch calling = new CountDownLatch(threads);
        List<Future<Visit>> visits = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            visits.add(worker.threads().submit(() -> {
                Mutex mutex = client.mutex(key);
                calling.countDown();
                mutex.lock();
                long had = System.nanoTime();
                int violations = Cell.of(Cell.OWN).visit();
                long left = System.nanoTime();
                mutex.unlock();
                return new Visit(had, left, violations);
            }));
        }
        calling.await();
        worker.left = new Waiting(held, visits);
        return threads;
    }

    private record Visit(long had, long left, int violations) {}

    private record Waiting(Mutex held, List<Future<Visit>> visits) {}

    /**
     * The result.
     *
     * @param nanos the time from the first unlock to the last lock
     * @param handoffs the times from each unlock to the next thread's lock, in their order
     */
    public record Drained(long nanos, ArrayList<Long> handoffs, long violations) implements Serializable {

        /** The times of {@code count} hand-offs, after the first {@code after}. */
        public Histogram some(int after, int count) {
            Histogram nanosEach = new Histogram(3);
            handoffs.stream().skip(after).limit(count).forEach(nanosEach::recordValue);
            return nanosEach;
        }
    }

    /** Unlocks, and returns when all threads of the line have had the lock. */
    public record Drain() implements Task<Drained> {

        @Override
        public Drained run(Worker worker) throws InterruptedException, ExecutionException {
            Waiting waiting = (Waiting) worker.left;
            long begin = System.nanoTime();
            waiting.held().unlock();
            List<Visit> visits = new ArrayList<>();
            for (Future<Visit> visit : waiting.visits()) {
                visits.add(visit.get());
            }
            visits.sort((one, other) -> Long.compare(one.had() - begin, other.had() - begin));
            ArrayList<Long> handoffs = new ArrayList<>();
            long left = begin;
            long violations = 0;
            for (Visit visit : visits) {
                handoffs.add(visit.had() - left);
                violations += visit.violations() + (visit.had() < left ? 1 : 0);
                left = visit.left();
            }
            worker.left = null;
            return new Drained(visits.get(visits.size() - 1).had() - begin, handoffs, violations);
        }
    }
}
