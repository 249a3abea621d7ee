package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Monitor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import redis.clients.jedis.Jedis;

/**
 * The requests and commands of one operation. They are counted in a separate run without timing, since counting slows
 * the server.
 */
final class Requests {

    private Requests() {}

    /**
     * Puts the figures into a row.
     *
     * @param run does several operations, and returns their number
     */
    static void count(Bench bench, Map<String, Figure> row, LongSupplier run) {
        List<Jedis> markers = bench.server().connections();
        List<Jedis> connections = bench.server().connections();
        List<Monitor> monitors = new ArrayList<>();
        try {
            for (int i = 0; i < markers.size(); i++) {
                monitors.add(new Monitor(markers.get(i), connections.get(i)));
            }
            double ops = run.getAsLong();
            List<Monitor.Count> counts = monitors.stream().map(Monitor::end).toList();
            row.put("requests/op", sum(counts, Monitor.Count::requests, ops));
            row.put("scripts/op", sum(counts, Monitor.Count::scripts, ops));
            row.put("commands/op", sum(counts, Monitor.Count::commands, ops));
        } finally {
            monitors.forEach(Monitor::close);
        }
    }

    private static Figure sum(List<Monitor.Count> counts, ToLongFunction<Monitor.Count> what, double ops) {
        return Figure.of(counts.stream().mapToLong(what).sum() / ops);
    }
}
