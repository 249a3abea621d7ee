package io.github.redislocks.simulation;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.regex.Pattern;

/**
 * Runs schedules: {@code batch FIRST COUNT}, {@code hashes FIRST COUNT [down]}, {@code replay SEED [FOLDER]},
 * {@code shrink SEED}, {@code until MOST}.
 */
public final class Main {

    private static final int OPERATIONS = Integer.getInteger("simulation.operations", 6);
    private static final int CALLERS = Integer.getInteger("simulation.callers", 2);
    private static final long LIMIT_NANOS = 300_000_000_000L;
    private static final int[] PREEMPT_ONE_IN = {0, 200, 40, 10};
    /** The garbage is collected between schedules: a collection inside a schedule would clear weak references. */
    private static final long COLLECT_BYTES = 250_000_000;
    /** The number of failures that are printed completely. */
    private static final int PRINTED = 10;

    private static Coverage coverage;

    private record Result(Scenario.Input input, World world, Scenario scenario) {

        boolean failed() {
            return world.failure() != null;
        }

        /** The kind of the failure: its first line without numbers. */
        String kind() {
            return world.failure().lines().findFirst().orElse("").replaceAll("[0-9]+", "N");
        }

        String line() {
            return world.summary() + " acquired " + scenario.ledger.acquired() + " faults "
                    + scenario.plan().size() + (failed() ? " FAILED: " + world.failure() : " ok");
        }
    }

    private Main() {}

    public static void main(String[] args) throws IOException {
        loadLibrary();
        coverage = new Coverage();
        for (int i = 1; i <= 3; i++) {
            run(input(-i), null);
        }
        long first = Long.parseLong(args[1]);
        boolean failed =
                switch (args[0]) {
                    case "batch" -> batch(first, Integer.parseInt(args[2]));
                    case "hashes" -> hashes(first, Integer.parseInt(args[2]), args.length > 3);
                    case "replay" -> replay(first, args.length > 2 ? Path.of(args[2]) : folder(first));
                    case "shrink" -> shrink(input(first));
                    case "until" -> until(first);
                    default -> throw new IllegalArgumentException(args[0] + ": batch, hashes, replay, shrink or until");
                };
        System.exit(failed ? 1 : 0);
    }

    /** Loads all classes now: loading a class inside a schedule would pin its thread. */
    private static void loadLibrary() throws IOException {
        loadAll(RedisLocks.class, ".*");
        loadAll(InMemoryRedis.class, "testkit/.*");
    }

    /** Loads the classes with matching names from the jar of the given class. */
    private static void loadAll(Class<?> one, String names) throws IOException {
        String jar = one.getProtectionDomain().getCodeSource().getLocation().getPath();
        Pattern name = Pattern.compile("io/github/redislocks/" + names + "\\.class");
        try (JarFile file = new JarFile(jar)) {
            file.stream()
                    .map(entry -> entry.getName())
                    .filter(name.asMatchPredicate())
                    .map(found -> found.substring(0, found.length() - 6).replace('/', '.'))
                    .forEach(Main::load);
        }
    }

    private static void load(String name) {
        try {
            Class.forName(name);
        } catch (ClassNotFoundException | LinkageError optional) {
            // Ignored: the class needs JUnit, which is not on the class path.
        }
    }

    private static Scenario.Input input(long seed) {
        return new Scenario.Input(seed, Set.of(), OPERATIONS, CALLERS, -1);
    }

    private static Result run(Scenario.Input input, Trace trace) {
        Runtime runtime = Runtime.getRuntime();
        if (runtime.totalMemory() - runtime.freeMemory() > COLLECT_BYTES) {
            System.gc();
        }
        int preempt = input.preemptOneIn() >= 0 ? input.preemptOneIn() : PREEMPT_ONE_IN[Math.floorMod(input.seed(), 4)];
        boolean byPriority = Math.floorMod(input.seed(), 8) >= 4;
        World world = new World(input.seed(), byPriority, preempt, coverage, trace);
        Scenario scenario = new Scenario(world, input);
        world.event(
                "%s, preempted at one point in %d%s", scenario.options(), preempt, byPriority ? ", by priority" : "");
        world.thread(Network.NOBODY, "scenario", scenario::run).start();
        world.run(LIMIT_NANOS);
        return new Result(input, world, scenario);
    }

    private static boolean batch(long first, int count) {
        long began = System.nanoTime();
        Map<String, List<Long>> failures = new TreeMap<>();
        long steps = 0;
        long acquired = 0;
        long foreign = 0;
        for (long seed = first; seed < first + count; seed++) {
            Result result = run(input(seed), null);
            steps += result.world.steps();
            acquired += result.scenario.ledger.acquired();
            foreign += result.world.foreign();
            if (result.failed()) {
                List<Long> seeds = failures.computeIfAbsent(result.kind(), key -> new ArrayList<>());
                seeds.add(seed);
                if (seeds.size() == 1 && failures.size() <= PRINTED) {
                    System.out.println(result.line());
                }
            }
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        System.out.print(coverage.table());
        System.out.printf(
                "seeds %d to %d: %d schedules in %.1f s (%.0f a second), %d steps, %d acquisitions, %d foreign%n",
                first, first + count - 1, count, seconds, count / seconds, steps, acquired, foreign);
        failures.forEach((kind, seeds) -> System.out.printf(
                "%d failed: %s: seeds %s%n", seeds.size(), kind, seeds.subList(0, Math.min(PRINTED, seeds.size()))));
        System.out.println(failures.isEmpty() ? "none failed" : "some failed");
        return !failures.isEmpty() || foreign > 0;
    }

    /** Prints a line for each seed, to compare it with another JVM and another order of the seeds. */
    private static boolean hashes(long first, int count, boolean down) {
        for (int i = 0; i < count; i++) {
            long seed = first + (down ? count - 1 - i : i);
            System.out.printf("%d %016x%n", seed, run(input(seed), null).world.hash());
        }
        return false;
    }

    /** Runs one schedule after the other until one fails, up to the given seed. */
    private static boolean until(long most) {
        for (long seed = 1; seed <= most; seed++) {
            Result result = run(input(seed), null);
            if (result.failed()) {
                System.out.println(result.line());
                System.out.println("seed " + seed + ": " + result.kind());
                return true;
            }
        }
        System.out.println("not found by " + most);
        return false;
    }

    private static boolean replay(long seed, Path folder) {
        try (Trace trace = new Trace(folder)) {
            Result result = run(input(seed), trace);
            System.out.println(result.line());
            result.scenario.plan().forEach(fault -> System.out.println("  " + fault));
            System.out.println("its trace: " + trace);
            return result.failed();
        }
    }

    /**
     * Shrinks a failure: leaves out, one after the other, the faults, operations and callers that the failure does not
     * need.
     */
    private static boolean shrink(Scenario.Input whole) {
        Result smallest = run(whole, null);
        if (!smallest.failed()) {
            System.out.println("does not fail: " + smallest.line());
            return false;
        }
        String kind = smallest.kind();
        int runs = 0;
        boolean smaller = true;
        while (smaller) {
            smaller = false;
            for (Scenario.Input each : smaller(smallest)) {
                Result result = run(each, null);
                runs++;
                if (result.failed() && result.kind().equals(kind)) {
                    smallest = result;
                    smaller = true;
                    break;
                }
            }
        }
        Path folder = folder(whole.seed());
        try (Trace trace = new Trace(folder)) {
            run(smallest.input, trace);
        }
        System.out.println("after " + runs + " runs: " + smallest.input);
        smallest.scenario.plan().forEach(fault -> System.out.println("  " + fault));
        System.out.println(smallest.line());
        System.out.println("its trace: " + folder);
        return true;
    }

    private static Path folder(long seed) {
        return Path.of("target", "trace-" + seed);
    }

    private static List<Scenario.Input> smaller(Result result) {
        Scenario.Input input = result.input;
        List<Scenario.Input> all = new ArrayList<>();
        if (input.preemptOneIn() != 0) {
            all.add(new Scenario.Input(input.seed(), input.left(), input.operations(), input.callers(), 0));
        }
        for (Fault fault : result.scenario.plan()) {
            Set<Integer> left = new TreeSet<>(input.left());
            left.add(fault.number());
            all.add(new Scenario.Input(input.seed(), left, input.operations(), input.callers(), input.preemptOneIn()));
        }
        if (input.operations() > 1) {
            all.add(new Scenario.Input(
                    input.seed(), input.left(), input.operations() - 1, input.callers(), input.preemptOneIn()));
        }
        if (input.callers() > 1) {
            all.add(new Scenario.Input(
                    input.seed(), input.left(), input.operations(), input.callers() - 1, input.preemptOneIn()));
        }
        return all;
    }
}
