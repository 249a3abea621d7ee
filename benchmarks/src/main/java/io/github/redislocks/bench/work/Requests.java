package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Monitor;
import java.util.Map;
import java.util.function.LongSupplier;

/** What Redis is asked for an operation: counted in a run of its own that is not timed, since counting slows. */
final class Requests {

    private Requests() {}

    /**
     * Puts the figures into a row.
     *
     * @param run does some operations, and says how many
     */
    static void count(Bench bench, Map<String, Figure> row, LongSupplier run) {
        try (Monitor monitor = new Monitor(bench.server())) {
            double ops = run.getAsLong();
            Monitor.Count count = monitor.end();
            row.put("requests/op", Figure.of(count.requests() / ops));
            row.put("scripts/op", Figure.of(count.scripts() / ops));
            row.put("commands/op", Figure.of(count.commands() / ops));
        }
    }
}
