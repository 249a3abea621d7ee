package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Results;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Pick;
import io.github.redislocks.bench.crew.Tally;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Threads of one JVM that lock and unlock several locks at once, as often as they can. */
record Several() implements Work {

    /**
     * A part of this work.
     *
     * @param threads the number of threads
     * @param some the number of locks that a thread takes at once
     * @param most the number of locks
     * @param floor the contender with which all are compared
     */
    private record Part(String name, String title, int threads, int some, int most, Contender floor, Trait... traits) {}

    private static final List<Part> PARTS = List.of(
            new Part("multi", "8 locks at once, uncontended, 1 thread", 1, 8, 8, Contender.FLOOR_EVAL, Trait.SEVERAL),
            // This contender is not a floor: no floor waits for several locks.
            new Part(
                    "multi-contended",
                    "any 3 of 10 locks at once, 4 threads of one JVM",
                    4,
                    3,
                    10,
                    Contender.REDISSON,
                    Trait.SEVERAL,
                    Trait.WAITS));

    @Override
    public String name() {
        return "multi";
    }

    @Override
    public void run(Bench bench) {
        PARTS.forEach(part -> run(bench, part));
    }

    private static void run(Bench bench, Part part) {
        try (Crew crew = bench.crew(1)) {
            List<Contender> contenders = bench.settings().contenders(part.floor, part.traits);
            Rounds<Round> rounds = Rounds.of(
                    bench,
                    part.name,
                    crew,
                    contenders,
                    (contender, round) ->
                            Round.of(bench, part.name, contender, () -> pick(bench, crew, part, contender)));
            Map<String, Map<String, Figure>> rows = new LinkedHashMap<>();
            for (Contender contender : rounds.contenders()) {
                Map<String, Figure> row = Round.row(rounds, contender);
                if (part.threads > 1) {
                    Round.putWaits(row, rounds, contender);
                }
                Requests.count(
                        bench, row, () -> pick(bench, crew, part, contender).ops());
                rows.put(contender.label(), row);
            }
            bench.results().add(new Results.Section(part.name, part.title, rows));
        }
    }

    private static Tally pick(Bench bench, Crew crew, Part part, Contender contender) {
        Setting setting = new Setting(bench.server().uri(), part.threads);
        long nanos = TimeUnit.MILLISECONDS.toNanos(bench.settings().roundMillis());
        String prefix = part.name + ":" + contender.label();
        return crew.children().get(0).call(new Pick(contender, setting, prefix, part.most, part.some, nanos));
    }
}
