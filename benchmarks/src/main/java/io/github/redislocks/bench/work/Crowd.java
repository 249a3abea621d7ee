package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Monitor;
import io.github.redislocks.bench.Results;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.crew.Child;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Line;
import io.github.redislocks.bench.crew.Seed;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** 200 threads of one JVM wait for one lock, and then get it one after the other. */
record Crowd() implements Work {

    private static final int THREADS = 200;
    private static final long SETTLE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    @Override
    public String name() {
        return "w7";
    }

    @Override
    public void run(Bench bench) {
        List<Contender> contenders =
                bench.settings().contenders(Contender.FLOOR_HANDOFF, Trait.WAITS, Trait.CROSSES_JVMS);
        Rounds<Line.Drained> rounds;
        try (Crew crew = bench.crew(1)) {
            contenders.forEach(contender -> Warmth.give(bench, crew, contender, setting(bench), key(contender)));
            rounds = Rounds.of(bench, name(), crew, contenders, (contender, round) -> {
                begin(bench, crew, contender);
                settle(bench);
                return drain(bench, crew, contender);
            });
        }
        Map<String, Map<String, Figure>> rows = new LinkedHashMap<>();
        for (Contender contender : rounds.contenders()) {
            Map<String, Figure> row = new LinkedHashMap<>();
            row.put("drain over floor", rounds.overFloor(contender, Line.Drained::nanos));
            row.put("drain ms", rounds.figure(contender, drained -> drained.nanos() / 1e6));
            row.put("requests/s while waiting", Figure.of(requestsPerSecond(bench, contender)));
            rows.put(contender.label(), row);
        }
        bench.results().add(new Results.Section(name(), THREADS + " threads of one JVM wait for one lock", rows));
    }

    /** The requests of a waiting client, less the requests of the same client when it is idle. */
    private double requestsPerSecond(Bench bench, Contender contender) {
        int seconds = bench.settings().quick() ? 1 : 10;
        try (Crew crew = bench.crew(1)) {
            // Connect, and wait once before counting: a client may keep what it opens for a wait.
            begin(bench, crew, contender);
            settle(bench);
            drain(bench, crew, contender);
            double idle = requests(bench, seconds);
            begin(bench, crew, contender);
            settle(bench);
            double waiting = requests(bench, seconds);
            drain(bench, crew, contender);
            return (waiting - idle) / seconds;
        }
    }

    /** Gives the threads time to wait. A fixed time, since the contenders have no common sign of waiting. */
    private static void settle(Bench bench) {
        LockSupport.parkNanos(bench.settings().quick() ? SETTLE_NANOS / 2 : SETTLE_NANOS);
    }

    private static long requests(Bench bench, int seconds) {
        try (Monitor monitor = new Monitor(bench.server())) {
            LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(seconds));
            return monitor.end().requests();
        }
    }

    private static Setting setting(Bench bench) {
        // Add one for the thread that holds the lock.
        return new Setting(bench.server().uri(), THREADS + 1);
    }

    private String key(Contender contender) {
        return name() + ":" + contender.label();
    }

    private void begin(Bench bench, Crew crew, Contender contender) {
        Child child = crew.children().get(0);
        child.call(new Seed(contender, setting(bench), key(contender)));
        child.call(new Line(contender, setting(bench), key(contender), THREADS));
    }

    private Line.Drained drain(Bench bench, Crew crew, Contender contender) {
        Line.Drained drained = crew.children().get(0).call(new Line.Drain());
        if (drained.violations() > 0) {
            bench.results()
                    .fail(name() + ", " + contender.label() + ": " + drained.violations()
                            + " times two threads had the lock");
        }
        return drained;
    }
}
