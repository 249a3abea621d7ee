package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.crew.Tally;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/** The result of a round: what the JVMs did, and the time that Redis needed for it. */
record Round(Tally tally, double redisMicros, double scriptMicros) {

    /** Measures a round. Fails the run if two threads had a lock at once. */
    static Round of(Bench bench, String work, Contender contender, Supplier<Tally> turns) {
        double scripts = bench.server().scripts().micros();
        double before = bench.server().cpuMicros();
        Tally tally = turns.get();
        double micros = bench.server().cpuMicros() - before;
        if (tally.violations > 0) {
            bench.results()
                    .fail(work + ", " + contender.label() + ": " + tally.violations
                            + " times more threads had the lock than may");
        }
        if (tally.ops() == 0) {
            throw new IllegalStateException("nothing was done");
        }
        return new Round(tally, micros, bench.server().scripts().micros() - scripts);
    }

    private double opsPerSecond() {
        return tally.opsPerSecond();
    }

    private double redisMicrosPerOp() {
        return redisMicros / tally.ops();
    }

    private double scriptMicrosPerOp() {
        return scriptMicros / tally.ops();
    }

    private double callingMicrosPerOp() {
        return tally.threadCpuNanos / 1e3 / tally.ops();
    }

    private double clientMicrosPerOp() {
        return tally.cpuNanos / 1e3 / tally.ops();
    }

    private double allocatedPerOp() {
        return (double) tally.allocatedBytes / tally.ops();
    }

    /** The figures of a contender. */
    static Map<String, Figure> row(Rounds<Round> rounds, Contender contender) {
        Map<String, Figure> row = new LinkedHashMap<>();
        row.put("over " + rounds.base(), rounds.overFloor(contender, Round::opsPerSecond));
        row.put("ops/s", rounds.figure(contender, Round::opsPerSecond));
        Percentiles.put(row, all(rounds, contender).latency);
        row.put("Redis CPU µs/op", rounds.figure(contender, Round::redisMicrosPerOp));
        row.put("Redis scripts µs/op", rounds.figure(contender, Round::scriptMicrosPerOp));
        row.put("calling threads CPU µs/op", rounds.figure(contender, Round::callingMicrosPerOp));
        row.put("client CPU µs/op", rounds.figure(contender, Round::clientMicrosPerOp));
        row.put("allocated B/op", rounds.figure(contender, Round::allocatedPerOp));
        return row;
    }

    /** Adds the figures of the waits. */
    static void putWaits(Map<String, Figure> row, Rounds<Round> rounds, Contender contender) {
        row.put("Jain", rounds.figure(contender, round -> round.tally.jain()));
        row.put("slowest/fastest", rounds.figure(contender, round -> round.tally.slowestShare()));
        Tally all = all(rounds, contender);
        row.put("longest wait ms", Figure.of(all.waits.getMaxValue() / 1e6));
        long alone = all.writerWaits.getTotalCount();
        if (alone > 0 && alone < all.waits.getTotalCount()) {
            row.put("writer's wait p50 µs", Figure.of(all.writerWaits.getValueAtPercentile(50) / 1e3));
            row.put("writer's wait p99 µs", Figure.of(all.writerWaits.getValueAtPercentile(99) / 1e3));
        }
    }

    private static Tally all(Rounds<Round> rounds, Contender contender) {
        return Tally.of(rounds.of(contender).stream().map(Round::tally).toList());
    }
}
