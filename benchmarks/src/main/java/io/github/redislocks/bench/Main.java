package io.github.redislocks.bench;

import io.github.redislocks.bench.contender.EarlierVersion;
import io.github.redislocks.bench.work.Work;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command line of the benchmarks. */
@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Measures redis-locks beside others, on a Redis.",
        subcommands = {Jmh.class, Draw.class},
        footer = "%nStatus 1: more threads had a lock at once than may, or a work did not come to its end.")
final class Main implements Callable<Integer> {

    /** The names of all works. */
    private static final class Works implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return Work.all().stream().map(Work::name).iterator();
        }
    }

    @Spec
    private CommandSpec spec;

    @Option(names = "--quick", description = "All works in about 7 minutes, and less exactly.")
    private boolean quick;

    @Option(
            names = "--work",
            split = ",",
            completionCandidates = Works.class,
            description = "Only these: ${COMPLETION-CANDIDATES}.",
            paramLabel = "WORK")
    private List<String> works = List.of();

    @Option(
            names = "--only",
            split = ",",
            description = "Only contenders whose names contain one of these, and the floor: ours, redisson ...",
            paramLabel = "NAME")
    private List<String> only = List.of();

    @Option(names = "--rounds", description = "Rounds of each contender that count (10; 3 if quick).")
    private int rounds;

    @Option(names = "--locks", description = "How many locks w6 holds (100,000; 10,000 if quick).")
    private int locks;

    @Option(
            names = "--out",
            description = "Where the results go (${DEFAULT-VALUE}).",
            defaultValue = "${sys:results:-target/results}",
            paramLabel = "FOLDER")
    private Path out;

    @Option(
            names = "--redis",
            description = "A server of yours (REDIS_URL); without one, an embedded one is started.",
            defaultValue = "${env:REDIS_URL}",
            paramLabel = "URI")
    private String redis;

    @Option(names = "--jvm-arg", description = "An argument for the JVMs that work.", paramLabel = "ARGUMENT")
    private List<String> jvmArguments = List.of();

    @Option(
            names = "--before",
            description = "Another jar of redis-locks, measured beside this one as ours-before.",
            paramLabel = "JAR")
    private Path before;

    public static void main(String[] args) {
        System.exit(new CommandLine(new Main()).execute(args));
    }

    @Override
    public Integer call() {
        int counted = rounds > 0 ? rounds : quick ? 3 : 10;
        int held = locks > 0 ? locks : quick ? 10_000 : 100_000;
        Settings settings = new Settings(quick, counted, only, held, argumentsOfChildren());
        List<Work> chosen = chosen();
        try (Server server = new Server(redis == null || redis.isBlank() ? null : redis)) {
            Map<String, String> environment = Environment.of(server, settings);
            System.out.println(Tables.environment(environment));
            Results results = new Results(out, environment);
            Bench bench = new Bench(settings, server, results);
            for (Work work : chosen) {
                perform(work, bench);
            }
            results.failures().forEach(failure -> System.out.println("FAILED: " + failure));
            System.out.println("Saved in " + out.toAbsolutePath().normalize());
            return results.failures().isEmpty() ? 0 : 1;
        }
    }

    private static void perform(Work work, Bench bench) {
        long begin = System.nanoTime();
        System.out.println(work.name() + " ...");
        try {
            work.run(bench);
        } catch (RuntimeException e) {
            bench.results().fail(work.name() + ": " + e);
            e.printStackTrace();
        }
        System.out.printf("%s took %.0f s%n%n", work.name(), (System.nanoTime() - begin) / 1e9);
    }

    private List<String> argumentsOfChildren() {
        if (before == null) {
            return jvmArguments;
        }
        if (!Files.isRegularFile(before)) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(), "--before names no jar: " + before + " is not a file");
        }
        String jar = before.toAbsolutePath().normalize().toString();
        System.setProperty(EarlierVersion.JAR, jar);
        List<String> arguments = new ArrayList<>(jvmArguments);
        arguments.add("-D" + EarlierVersion.JAR + "=" + jar);
        return arguments;
    }

    private List<Work> chosen() {
        List<Work> all = Work.all();
        List<String> names = all.stream().map(Work::name).toList();
        List<String> wrong = new ArrayList<>(works);
        wrong.removeAll(names);
        if (!wrong.isEmpty()) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(), "No work is called " + wrong + ": there are " + names);
        }
        return all.stream()
                .filter(work -> works.isEmpty() || works.contains(work.name()))
                .toList();
    }
}
