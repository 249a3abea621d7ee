package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Results;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.contender.Use;
import io.github.redislocks.bench.crew.Child;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Readers;
import io.github.redislocks.bench.crew.Step;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * A writer waits behind 100 readers of four JVMs. Measures the time from the last reader's call of unlock to the return
 * of the writer's lock.
 */
record LastReader() implements Work {

    private static final int JVMS = 4;
    private static final int THREADS = 25;
    private static final long PARKED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    @Override
    public String name() {
        return "last-reader";
    }

    @Override
    public void run(Bench bench) {
        int times = bench.settings().quick() ? 3 : 10;
        List<Contender> contenders = bench.settings().contenders(Contender.REDISSON, Trait.SHARES, Trait.CROSSES_JVMS);
        try (Crew readers = bench.crew(JVMS);
                Crew writers = bench.crew(1)) {
            Child writer = writers.children().get(0);
            Rounds<Histogram> rounds = Rounds.of(
                    bench,
                    name(),
                    readers,
                    contenders,
                    (contender, round) -> writes(bench, readers, writer, contender, times));
            Map<String, Map<String, Figure>> rows = new LinkedHashMap<>();
            for (Contender contender : rounds.contenders()) {
                Map<String, Figure> row = new LinkedHashMap<>();
                row.put(
                        "p50 over " + rounds.base(),
                        rounds.overFloor(contender, nanos -> nanos.getValueAtPercentile(50)));
                Histogram all = new Histogram(3);
                rounds.of(contender).forEach(all::add);
                Percentiles.put(row, all);
                Requests.count(
                        bench,
                        row,
                        () -> writes(bench, readers, writer, contender, times).getTotalCount());
                rows.put(contender.label(), row);
            }
            bench.results()
                    .add(new Results.Section(
                            name(), "from the unlock of the last of 100 readers in 4 JVMs to the writer", rows));
        }
    }

    private Histogram writes(Bench bench, Crew readers, Child writer, Contender contender, int times) {
        String key = name() + ":" + contender.label();
        Setting setting = new Setting(bench.server().uri(), THREADS);
        Step lock = new Step(contender, setting, Use.WRITE, key, Step.Call.LOCK);
        Step unlock = new Step(contender, setting, Use.WRITE, key, Step.Call.UNLOCK);
        Histogram nanos = new Histogram(3);
        for (int i = 0; i < times; i++) {
            readers.call(new Readers(contender, setting, key));
            writer.begin(lock);
            if (!Step.CALLING.equals(writer.hear())) {
                throw new IllegalStateException("The writer does not say that it calls");
            }
            // Wait long enough for each contender to be waiting and asleep.
            LockSupport.parkNanos(PARKED_NANOS);
            long left = Collections.max(readers.call(new Readers.Leave()));
            Step.Answer had = writer.end(lock);
            writer.call(unlock);
            if (had.returned() < left) {
                bench.results().fail(name() + ", " + contender.label() + ": a writer had the lock beside a reader");
            }
            nanos.recordValue(Math.max(0, had.returned() - left));
        }
        return nanos;
    }
}
