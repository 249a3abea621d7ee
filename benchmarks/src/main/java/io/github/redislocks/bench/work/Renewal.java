package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Results;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** One JVM holds many locks for several leases, and does nothing else. Another client sends PINGs meanwhile. */
record Renewal() implements Work {

    private static final long LEASE_MILLIS = 9_000;
    private static final long QUICK_LEASE_MILLIS = 3_000;
    private static final int LEASES = 4;
    private static final int QUICK_LEASES = 2;

    @Override
    public String name() {
        return "w6";
    }

    @Override
    public void run(Bench bench) {
        boolean quick = bench.settings().quick();
        long lease = quick ? QUICK_LEASE_MILLIS : LEASE_MILLIS;
        int leases = quick ? QUICK_LEASES : LEASES;
        Holding.Plan plan = new Holding.Plan(bench.settings().locks(), lease, leases, true);
        Map<String, Map<String, Figure>> rows = new LinkedHashMap<>();
        for (Contender contender : bench.settings().contenders(Trait.RENEWS)) {
            Holding holding = Holding.of(bench, contender, plan);
            rows.put(contender.label(), row(holding));
        }
        String title = String.format(
                Locale.ROOT,
                "%,d locks held for %d leases of %d s",
                bench.settings().locks(),
                leases,
                lease / 1_000);
        bench.results().add(new Results.Section(name(), title, rows));
    }

    private static Map<String, Figure> row(Holding holding) {
        Map<String, Figure> row = new LinkedHashMap<>();
        put(row, "lost", holding.lost());
        put(row, "scripts/s", holding.scriptsPerSecond());
        put(row, "commands/s", holding.commandsPerSecond());
        put(row, "heap B/lock", holding.heapBytes());
        put(row, "of it library's B", holding.libraryBytes());
        put(row, "client CPU %", holding.clientCpu() * 100);
        put(row, "Redis CPU %", holding.redisCpu() * 100);
        double idle99 = holding.idlePings().getValueAtPercentile(99) / 1e3;
        double ping99 = holding.pings().getValueAtPercentile(99) / 1e3;
        put(row, "ping p50 idle µs", holding.idlePings().getValueAtPercentile(50) / 1e3);
        put(row, "ping p50 µs", holding.pings().getValueAtPercentile(50) / 1e3);
        put(row, "ping p99 idle µs", idle99);
        put(row, "ping p99 µs", ping99);
        put(row, "ping p99 over idle", ping99 / idle99);
        put(row, "time to lock all s", holding.lockSeconds());
        return row;
    }

    private static void put(Map<String, Figure> row, String column, double value) {
        row.put(column, Figure.of(value));
    }
}
