package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.LockClient;
import io.github.redislocks.bench.contender.Mutex;
import io.github.redislocks.bench.contender.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;

/**
 * All threads of the setting lock and unlock several locks at once in a loop, for a given time. Each iteration takes a
 * random choice of the locks.
 *
 * @param most the number of locks
 * @param some the number of locks in one iteration
 */
public record Pick(Contender contender, Setting setting, String prefix, int most, int some, long nanos)
        implements Task<Tally> {

    /** The number of choices that a thread makes in advance: choosing is not to be measured. */
    private static final int CHOICES = 256;

    /** A choice of the locks, with their cells. */
    private record Choice(Mutex mutex, List<Cell> cells) {}

    @Override
    public Tally run(Worker worker) throws Exception {
        LockClient client = worker.client(contender, setting);
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < most; i++) {
            cells.add(Cell.own());
        }
        CountDownLatch ready = new CountDownLatch(setting.threads());
        CountDownLatch go = new CountDownLatch(1);
        List<Future<Tally>> threads = new ArrayList<>();
        for (int i = 0; i < setting.threads(); i++) {
            int seed = 1 + i;
            threads.add(worker.threads().submit(() -> {
                List<Choice> choices = choices(client, cells, new Random(seed));
                ready.countDown();
                go.await();
                return turn(choices);
            }));
        }
        ready.await();
        return Loop.measured(go, threads);
    }

    private List<Choice> choices(LockClient client, List<Cell> cells, Random random) {
        List<Choice> choices = new ArrayList<>();
        for (int i = 0; i < CHOICES; i++) {
            int[] chosen = random.ints(0, most).distinct().limit(some).toArray();
            List<String> keys = new ArrayList<>();
            List<Cell> own = new ArrayList<>();
            for (int each : chosen) {
                keys.add(prefix + ":" + each);
                own.add(cells.get(each));
            }
            choices.add(new Choice(client.mutex(keys), own));
        }
        return choices;
    }

    private Tally turn(List<Choice> choices) {
        Tally tally = new Tally();
        long cpu = Loop.threadCpuNanos();
        long ops = 0;
        long called = System.nanoTime();
        long end = called + nanos;
        while (called < end) {
            Choice choice = choices.get((int) (ops % CHOICES));
            choice.mutex().lock();
            long entered = System.nanoTime();
            for (Cell cell : choice.cells()) {
                tally.violations += cell.visit();
            }
            choice.mutex().unlock();
            long left = System.nanoTime();
            ops++;
            tally.waits.recordValue(entered - called);
            tally.latency.recordValue(left - called);
            called = left;
        }
        tally.opsOfThreads.add(ops);
        tally.threadCpuNanos = Loop.threadCpuNanos() - cpu;
        return tally;
    }
}
