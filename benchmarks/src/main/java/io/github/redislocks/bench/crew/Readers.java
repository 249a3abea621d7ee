package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.LockClient;
import io.github.redislocks.bench.contender.Mutex;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.contender.Use;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/** All threads of the setting read. The task returns when all are inside; {@link Leave} lets them unlock. */
public record Readers(Contender contender, Setting setting, String key) implements Task<Integer> {

    @Override
    public Integer run(Worker worker) throws InterruptedException {
        LockClient client = worker.client(contender, setting);
        CountDownLatch inside = new CountDownLatch(setting.threads());
        CountDownLatch leave = new CountDownLatch(1);
        List<Future<Long>> left = new ArrayList<>();
        for (int i = 0; i < setting.threads(); i++) {
            left.add(worker.threads().submit(() -> {
                Mutex mutex = Use.READ.of(client, key);
                try {
                    mutex.lock();
                } finally {
                    // Leave reports a failure.
                    inside.countDown();
                }
                leave.await();
                long called = System.nanoTime();
                mutex.unlock();
                return called;
            }));
        }
        inside.await();
        worker.left = new Reading(leave, left);
        return setting.threads();
    }

    private record Reading(CountDownLatch leave, List<Future<Long>> left) {}

    /** Lets all readers unlock. Returns when the last one called unlock, by the common clock of all JVMs. */
    public record Leave() implements Task<Long> {

        @Override
        public Long run(Worker worker) throws InterruptedException, ExecutionException {
            Reading reading = (Reading) worker.left;
            worker.left = null;
            long begin = System.nanoTime();
            reading.leave().countDown();
            long after = 0;
            for (Future<Long> left : reading.left()) {
                after = Math.max(after, left.get() - begin);
            }
            return begin + after;
        }
    }
}
