package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Pinger;
import io.github.redislocks.bench.Results;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The parts of the time of an uncontended lock and unlock, and of a hand-off, from the results of w1 and w5. */
record Breakdown() implements Work {

    @Override
    public String name() {
        return "breakdown";
    }

    @Override
    public void run(Bench bench) {
        long nanos = TimeUnit.MILLISECONDS.toNanos(bench.settings().roundMillis());
        double roundTrip = Pinger.pingAtOnce(bench.server(), nanos).getValueAtPercentile(50) / 1e3;
        Map<String, Map<String, Figure>> one = new LinkedHashMap<>();
        Work.measured(bench, "w1").rows().forEach((contender, row) -> {
            double total = row.get("p50 µs").median();
            double scripts = row.get("Redis scripts µs/op").median();
            double calling = row.get("calling threads CPU µs/op").median();
            double others = Math.max(0, row.get("client CPU µs/op").median() - calling);
            Map<String, Figure> parts = parts(total, scripts, calling);
            parts.put("other client CPU µs", Figure.of(others));
            parts.put("bare round trips µs", Figure.of(row.get("requests/op").median() * roundTrip));
            one.put(contender, parts);
        });
        bench.results().add(new Results.Section("breakdown-lock", "one uncontended lock and unlock", one));
        Map<String, Map<String, Figure>> handoff = new LinkedHashMap<>();
        Work.measured(bench, "w5").rows().forEach((contender, row) -> {
            double total = row.get("p50 µs").median();
            Map<String, Figure> parts = parts(
                    total,
                    row.get("Redis scripts µs").median(),
                    row.get("unlocking thread CPU µs").median());
            parts.put("a bare round trip µs", Figure.of(roundTrip));
            handoff.put(contender, parts);
        });
        bench.results().add(new Results.Section("breakdown-handoff", "one hand-off between two JVMs", handoff));
    }

    private static Map<String, Figure> parts(double total, double scripts, double calling) {
        Map<String, Figure> parts = new LinkedHashMap<>();
        parts.put("p50 µs", Figure.of(total));
        parts.put("in Redis' scripts µs", Figure.of(scripts));
        parts.put("calling thread CPU µs", Figure.of(calling));
        parts.put("the rest: sockets, kernel, wake-ups µs", Figure.of(total - scripts - calling));
        return parts;
    }
}
