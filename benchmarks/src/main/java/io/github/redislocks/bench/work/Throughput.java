package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Results;
import io.github.redislocks.bench.Server;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.contender.Stock;
import io.github.redislocks.bench.contender.Use;
import io.github.redislocks.bench.crew.Cell;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Loop;
import io.github.redislocks.bench.crew.Loop.How;
import io.github.redislocks.bench.crew.Seed;
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

/** Threads that lock and unlock as often as they can. */
record Throughput(
        String name,
        String title,
        Use use,
        How how,
        int jvms,
        int threads,
        LockKeys keys,
        Contender floor,
        Trait... traits)
        implements Work {

    /** Whether each thread has its own lock, or all threads have one lock. */
    private enum LockKeys {
        OWN,
        COMMON
    }

    private static final int MASTERS = 5;
    private static final Path CELL = newCell();

    /**
     * Makes the work on a quorum in which each thread of one JVM has its own lock. The masters are started for the
     * work.
     */
    static Throughput votes(String name, String title, int threads) {
        return new Throughput(
                name, title, Use.LOCK, How.LOCK, 1, threads, LockKeys.OWN, Contender.FLOOR_REDLOCK, Trait.VOTES);
    }

    /** Makes the work on such a quorum in which all threads want one lock. */
    static Throughput votesTogether(String name, String title, int jvms, int threads) {
        return new Throughput(
                name, title, Use.LOCK, How.LOCK, jvms, threads, LockKeys.COMMON, Contender.FLOOR_REDLOCK, Trait.VOTES);
    }

    /** Makes the work in which each thread of one JVM has its own lock. */
    static Throughput alone(String name, String title, How how, int threads, Trait... traits) {
        return new Throughput(name, title, Use.LOCK, how, 1, threads, LockKeys.OWN, Contender.FLOOR_EVAL, traits);
    }

    /** Makes the work in which all threads of all JVMs want one lock. */
    static Throughput together(String name, String title, How how, int jvms, int threads, Trait... traits) {
        return new Throughput(
                name, title, Use.LOCK, how, jvms, threads, LockKeys.COMMON, Contender.FLOOR_HANDOFF, traits);
    }

    /** Makes the work in which all threads of all JVMs use a read-write lock or permits. No floor does the same. */
    static Throughput used(String name, String title, Use use, How how, int jvms, int threads, Trait... traits) {
        return new Throughput(name, title, use, how, jvms, threads, LockKeys.COMMON, Contender.REDISSON, traits);
    }

    @Override
    public void run(Bench shared) {
        if (floor == Contender.FLOOR_REDLOCK) {
            try (Server masters = Server.masters(MASTERS)) {
                measure(new Bench(shared.settings(), masters, shared.results()));
            }
        } else {
            measure(shared);
        }
    }

    private void measure(Bench bench) {
        try (Crew crew = bench.crew(jvms)) {
            List<Contender> contenders = bench.settings().contenders(floor, traits);
            Rounds<Round> rounds =
                    Rounds.of(bench, name, crew, contenders, (contender, round) -> round(bench, crew, contender));
            Map<String, Map<String, Figure>> rows = new LinkedHashMap<>();
            for (Contender contender : rounds.contenders()) {
                Map<String, Figure> row = Round.row(rounds, contender);
                if (!cell().isEmpty()) {
                    Round.putWaits(row, rounds, contender);
                }
                Requests.count(bench, row, () -> loop(bench, crew, contender).ops());
                rows.put(contender.label(), row);
            }
            bench.results().add(new Results.Section(name, title, rows));
        }
    }

    private Round round(Bench bench, Crew crew, Contender contender) {
        Round round = Round.of(bench, name, contender, () -> loop(bench, crew, contender));
        if (round.tally().opsOfThreads.size() != jvms * threads) {
            throw new IllegalStateException("not all threads took part");
        }
        return round;
    }

    private Tally loop(Bench bench, Crew crew, Contender contender) {
        Setting setting = new Setting(bench.server().uri(), threads);
        long nanos = TimeUnit.MILLISECONDS.toNanos(bench.settings().roundMillis());
        if (keys == LockKeys.COMMON) {
            crew.children().get(0).call(new Seed(contender, setting, key(contender)));
        }
        List<Loop> tasks = new ArrayList<>();
        for (int jvm = 0; jvm < jvms; jvm++) {
            int first = 1 + jvm * threads;
            List<String> names = IntStream.range(first, first + threads)
                    .mapToObj(thread -> key(contender) + (keys == LockKeys.OWN ? ":" + thread : ""))
                    .toList();
            // A floor cannot re-enter: let it lock and unlock instead.
            How turn = how == How.REENTER && !contender.can(Trait.REENTERS) ? How.LOCK : how;
            tasks.add(new Loop(contender, setting, use, turn, Loop.Clients.ONE, names, cell(), nanos));
        }
        return how == How.WORK ? checked(bench, contender, setting, tasks, crew) : Tally.of(crew.call(tasks));
    }

    /** Runs the loops. Fails the run if a thread has overwritten the number that another wrote under the lock. */
    private Tally checked(Bench bench, Contender contender, Setting setting, List<Loop> tasks, Crew crew) {
        try (Stock stock = new Stock(setting, key(contender))) {
            long before = stock.read();
            Tally tally = Tally.of(crew.call(tasks));
            long lost = before + tally.ops() - stock.read();
            if (lost != 0) {
                bench.results()
                        .fail(name + ", " + contender.label() + ": " + lost + " updates under the lock were lost");
            }
            return tally;
        }
    }

    private String key(Contender contender) {
        return name + ":" + contender.label();
    }

    /** The file of the cell that the threads of one lock share. Those who only read exclude nobody. */
    private String cell() {
        if (keys == LockKeys.OWN || use == Use.READ) {
            return "";
        }
        return jvms == 1 ? Cell.OWN : CELL.toString();
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
}
