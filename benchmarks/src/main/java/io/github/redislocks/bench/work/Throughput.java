package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Monitor;
import io.github.redislocks.bench.Results;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.crew.Cell;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Loop;
import io.github.redislocks.bench.crew.Loop.How;
import io.github.redislocks.bench.crew.Tally;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;

/** Threads that lock and unlock as often as they can. */
record Throughput(
        String name, String title, How how, int jvms, int threads, Keys keys, Contender floor, Trait... traits)
        implements Work {

    /** Whose locks they are. */
    enum Keys {
        OWN,
        COMMON
    }

    private static final Path CELL = newCell();

    /** What came of a round: what the JVMs did, and what Redis needed for it. */
    private record Round(Tally tally, double redisMicros) {

        double opsPerSecond() {
            return tally.opsPerSecond();
        }

        double redisMicrosPerOp() {
            return redisMicros / tally.ops();
        }

        double clientMicrosPerOp() {
            return tally.cpuNanos / 1e3 / tally.ops();
        }
    }

    @Override
    public void run(Bench bench) {
        try (Crew crew = bench.crew(jvms)) {
            List<Contender> contenders = bench.settings().contenders(floor, traits);
            Rounds<Round> rounds =
                    Rounds.of(bench, name, crew, contenders, (contender, round) -> round(bench, crew, contender));
            Map<String, Map<String, Figure>> rows = new LinkedHashMap<>();
            for (Contender contender : rounds.contenders()) {
                Map<String, Figure> row = row(rounds, contender);
                count(bench, crew, contender, row);
                rows.put(contender.label(), row);
            }
            bench.results().add(new Results.Section(name, title, rows));
        }
    }

    private Round round(Bench bench, Crew crew, Contender contender) {
        double before = bench.server().cpuMicros();
        Tally tally = loop(bench, crew, contender);
        double micros = bench.server().cpuMicros() - before;
        if (tally.violations > 0) {
            bench.results()
                    .fail(name + ", " + contender.label() + ": " + tally.violations
                            + " times two threads had the lock");
        }
        if (tally.opsOfThreads.size() != jvms * threads || tally.ops() == 0) {
            throw new IllegalStateException("nothing was done");
        }
        return new Round(tally, micros);
    }

    private Tally loop(Bench bench, Crew crew, Contender contender) {
        String uri = bench.server().uri();
        long nanos = TimeUnit.MILLISECONDS.toNanos(bench.settings().roundMillis());
        List<Loop> tasks = new ArrayList<>();
        for (int jvm = 0; jvm < jvms; jvm++) {
            int first = 1 + jvm * threads;
            List<String> names = IntStream.range(first, first + threads)
                    .mapToObj(thread -> name + ":" + contender.label() + (keys == Keys.OWN ? ":" + thread : ""))
                    .toList();
            // A floor has no inner locks: it is compared with what is nearest.
            How turn = contender.can(Trait.REENTERS) ? how : How.LOCK;
            tasks.add(new Loop(contender, new Setting(uri, threads), turn, names, cell(), first, nanos));
        }
        return Tally.of(crew.call(tasks));
    }

    /** Where the threads of one lock meet. */
    private String cell() {
        if (keys == Keys.OWN) {
            return "";
        }
        return jvms == 1 ? Cell.OWN : CELL.toString();
    }

    private Map<String, Figure> row(Rounds<Round> rounds, Contender contender) {
        Map<String, Figure> row = new LinkedHashMap<>();
        row.put("over floor", rounds.overFloor(contender, Round::opsPerSecond));
        row.put("ops/s", rounds.figure(contender, Round::opsPerSecond));
        Tally all = Tally.of(rounds.of(contender).stream().map(Round::tally).toList());
        percentiles(row, all.latency);
        row.put("Redis CPU µs/op", rounds.figure(contender, Round::redisMicrosPerOp));
        row.put("client CPU µs/op", rounds.figure(contender, Round::clientMicrosPerOp));
        if (keys == Keys.COMMON) {
            row.put("Jain", rounds.figure(contender, round -> round.tally.jain()));
            row.put("slowest/fastest", rounds.figure(contender, round -> round.tally.slowestShare()));
            row.put("longest wait ms", Figure.of(all.waits.getMaxValue() / 1e6));
        }
        return row;
    }

    private static Path newCell() {
        try {
            Path file = Files.createTempFile("redis-locks-cell-", "");
            file.toFile().deleteOnExit();
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void percentiles(Map<String, Figure> row, Histogram latency) {
        row.put("p50 µs", Figure.of(latency.getValueAtPercentile(50) / 1e3));
        row.put("p99 µs", Figure.of(latency.getValueAtPercentile(99) / 1e3));
        row.put("p99.9 µs", Figure.of(latency.getValueAtPercentile(99.9) / 1e3));
        row.put("max µs", Figure.of(latency.getMaxValue() / 1e3));
    }

    /** One more round, which is counted and not timed. */
    private void count(Bench bench, Crew crew, Contender contender, Map<String, Figure> row) {
        try (Monitor monitor = new Monitor(bench.server())) {
            double ops = loop(bench, crew, contender).ops();
            Monitor.Count count = monitor.end();
            row.put("requests/op", Figure.of(count.requests() / ops));
            row.put("scripts/op", Figure.of(count.scripts() / ops));
            row.put("commands/op", Figure.of(count.commands() / ops));
        }
    }
}
