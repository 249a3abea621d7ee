package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Pinger;
import io.github.redislocks.bench.Server;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.crew.Child;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Hold;
import io.github.redislocks.bench.crew.Vitals;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import redis.clients.jedis.Jedis;

/**
 * The cost of holding many locks for some leases, in a JVM that does nothing else. CPU is a share of one core.
 *
 * @param lost the number of lost locks: the greatest of the losses that the client reported, of the sampled locks that
 *     it did not hold, and of the locks that were not in Redis
 */
record Holding(
        int locks,
        long lost,
        double scriptsPerSecond,
        double commandsPerSecond,
        double redisCpu,
        double clientCpu,
        double heapBytes,
        double libraryBytes,
        double lockSeconds,
        Histogram idlePings,
        Histogram pings) {

    private static final int SAMPLE = 1_000;
    private static final int BATCH = 1_000;

    /**
     * How many locks to hold, and for how long.
     *
     * @param quiet whether the times of the other client are measured before, too
     */
    record Plan(int locks, long leaseMillis, int leases, boolean quiet) {}

    static Holding of(Bench bench, Contender contender, Plan plan) {
        int locks = plan.locks();
        long leaseMillis = plan.leaseMillis();
        Server server = bench.server();
        server.clear();
        Setting setting = new Setting(server.uri(), leaseMillis, 1, locks, 0);
        long nanos = TimeUnit.MILLISECONDS.toNanos(leaseMillis * plan.leases());
        try (Crew crew = bench.crew(1)) {
            Child child = crew.children().get(0);
            // Connect and load classes before measuring.
            child.call(new Hold(contender, setting, "first:", 1));
            Histogram idlePings = Pinger.ping(server, plan.quiet() ? nanos : 0);
            Vitals before = child.call(new Vitals.Look(contender, setting));
            Hold hold = new Hold(contender, setting, "w6:" + contender.label() + ":", locks);
            double lockSeconds = child.call(hold) / 1e9;

            Server.Scripts scripts = server.scripts();
            double commands = server.commands();
            double redis = server.cpuMicros();
            long cpu = child.call(new Vitals.Cpu());
            long begin = System.nanoTime();
            Histogram pings = Pinger.ping(server, nanos);
            double seconds = (System.nanoTime() - begin) / 1e9;
            double clientCpu = (child.call(new Vitals.Cpu()) - cpu) / 1e9 / seconds;
            double redisCpu = (server.cpuMicros() - redis) / 1e6 / seconds;
            double commandsPerSecond = (server.commands() - commands - pings.getTotalCount()) / seconds;
            double scriptsPerSecond = (server.scripts().calls() - scripts.calls()) / seconds;

            Hold.State state = child.call(new Hold.Ask(hold, SAMPLE));
            long lost = Math.max(Math.max(state.losses(), state.notHeld()), missing(server, state.keys()));
            Vitals after = child.call(new Vitals.Look(contender, setting));
            return new Holding(
                    locks,
                    lost,
                    scriptsPerSecond,
                    commandsPerSecond,
                    redisCpu,
                    clientCpu,
                    (double) (after.heapBytes() - before.heapBytes()) / locks,
                    (double) (after.libraryBytes() - before.libraryBytes()) / locks,
                    lockSeconds,
                    idlePings,
                    pings);
        } finally {
            server.clear();
        }
    }

    private static long missing(Server server, List<String> keys) {
        long found = 0;
        try (Jedis jedis = server.connection()) {
            for (int from = 0; from < keys.size(); from += BATCH) {
                List<String> batch = keys.subList(from, Math.min(keys.size(), from + BATCH));
                found += jedis.exists(batch.toArray(String[]::new));
            }
        }
        return keys.size() - found;
    }
}
