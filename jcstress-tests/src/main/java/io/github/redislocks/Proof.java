package io.github.redislocks;

import io.github.redislocks.fixture.OwnServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.openjdk.jcstress.JCStress;
import org.openjdk.jcstress.Main;
import org.openjdk.jcstress.Options;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.infra.Status;
import org.openjdk.jcstress.infra.collectors.DiskReadCollector;
import org.openjdk.jcstress.infra.collectors.InProcessCollector;
import org.openjdk.jcstress.infra.collectors.TestResult;
import org.openjdk.jcstress.infra.grading.GradingResult;
import org.openjdk.jcstress.infra.grading.ReportUtils;

/**
 * Runs all tests: the claims, which must hold, and their broken twins, which must be caught. Prints a table, and ends
 * with status 1 if a test did not go as it must. Arguments: {@code --long} and, optionally, a part of the tests' names.
 */
public final class Proof {

    /** Tests whose actors share a processor need others to run: without it, a spinning actor starves the other. */
    private static final List<String> COMMON = List.of(
            "-m",
            "quick",
            "-f",
            "1",
            "-fsm",
            "1",
            "-sc",
            "false",
            "-c",
            "2",
            "-af",
            "NONE",
            "-spinStyle",
            "THREAD_YIELD",
            "-strideCount",
            "1",
            "-v");

    /**
     * Tests that run together in one run of jcstress.
     *
     * @param names a regular expression of their names
     * @param stride how many states are made at a time: few if an actor takes long
     * @param iterations how often each test runs in each configuration of the JVM
     * @param millis how long each of these runs takes
     */
    private record Part(String title, String names, int stride, int iterations, int millis) {

        Part longer(int times) {
            return new Part(title, names, stride, iterations * times, millis);
        }
    }

    private static final int LONGER = 20;

    private static final List<Part> PARTS = List.of(
            new Part("single steps", "Core((?!Lucky).)*", 1_000, 1, 500),
            new Part("on the twin", "Twin((?!Broken|Lucky).)*", 10, 1, 1_000),
            new Part("broken, on the twin", "Twin((?!Lucky).)*Broken((?!Lucky).)*", 4, 1, 500),
            new Part("on Redis", "Redis((?!Broken|Lucky).)*", 10, 1, 4_000),
            new Part("broken, on Redis", "Redis((?!Lucky).)*Broken((?!Lucky).)*", 4, 1, 1_000));

    private static final Part LUCK = new Part("broken, caught by luck", "[A-Za-z]*Lucky", 100, 10, 5_000);

    private final List<String> table = new ArrayList<>();
    private final String filter;
    private final String redis;
    private final Path folder;
    private boolean failed;

    private Proof(String filter, String redis, Path folder) {
        this.filter = filter;
        this.redis = redis;
        this.folder = folder;
    }

    /** Runs the tests. */
    public static void main(String[] args) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(args));
        boolean isLong = words.remove("--long");
        if (words.size() > 1 || words.stream().anyMatch(word -> word.startsWith("-"))) {
            System.err.println("Usage: run [--long] [part of a test's name]");
            System.exit(2);
        }
        Path folder = Files.createDirectories(Path.of("target", "jcstress")).toAbsolutePath();
        String given = OwnServer.given();
        OwnServer own = given == null ? OwnServer.start() : null;
        Proof proof = new Proof(words.isEmpty() ? "" : words.get(0), own == null ? given : own.uri(), folder);
        try {
            for (Part part : PARTS) {
                proof.run(isLong ? part.longer(LONGER) : part);
            }
            if (isLong) {
                proof.run(LUCK);
            }
        } finally {
            if (own != null) {
                own.close();
            }
        }
        System.out.println();
        proof.table.forEach(System.out::println);
        System.exit(proof.verdict());
    }

    private int verdict() {
        if (table.isEmpty()) {
            System.out.println("No test has \"" + filter + "\" in its name.");
            return 2;
        }
        System.out.println(
                failed ? "FAILED: see above, and " + folder : "All claims held, all broken twins were caught.");
        return failed ? 1 : 0;
    }

    private void run(Part part) throws IOException, InterruptedException {
        Options options = new Options(arguments(part));
        options.parse();
        Set<String> missing = new TreeSet<>(new JCStress(options).getTests());
        if (missing.isEmpty()) {
            return;
        }
        System.out.println(missing.size() + " tests " + part.title + " ...");
        long begin = System.nanoTime();
        Collection<TestResult> results = results(part);
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
        table.add(String.format(Locale.ROOT, "%n%s (%d s)", part.title, seconds));
        boolean right = true;
        for (TestResult result : results) {
            missing.remove(result.getName());
            right &= judge(result);
        }
        for (String name : missing) {
            right = false;
            table.add("  NOT RUN  " + name);
        }
        if (!right) {
            failed = true;
            System.out.println(Files.readString(output(part)));
        }
    }

    private String[] arguments(Part part) {
        List<String> arguments = new ArrayList<>(COMMON);
        arguments.addAll(List.of("-t", "^(?=.*\\Q" + filter + "\\E).*\\." + part.names + "$", "-r", "report"));
        arguments.addAll(List.of("-strideSize", Integer.toString(part.stride)));
        arguments.addAll(List.of("-iters", Integer.toString(part.iterations), "-time", Integer.toString(part.millis)));
        arguments.addAll(List.of("-jvmArgs", "-Xmx256m", "-jvmArgs", "-D" + OnRedis.PROPERTY + "=" + redis));
        return arguments.toArray(String[]::new);
    }

    /** Runs jcstress in a separate JVM: a second run in the same JVM would take every configuration twice. */
    private Collection<TestResult> results(Part part) throws IOException, InterruptedException {
        Path work = Files.createDirectories(output(part).getParent());
        for (Path old : blobs(work)) {
            Files.delete(old);
        }
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                Path.of(System.getProperty("java.class.path")).toAbsolutePath().toString(),
                Main.class.getName()));
        command.addAll(List.of(arguments(part)));
        Process jcstress = new ProcessBuilder(command)
                .directory(work.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output(part).toFile())
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(jcstress::destroy));
        try {
            // Ignore the exit status: the broken twins always fail.
            jcstress.waitFor();
        } finally {
            jcstress.destroy();
        }
        InProcessCollector collector = new InProcessCollector();
        for (Path blob : blobs(work)) {
            DiskReadCollector reader = new DiskReadCollector(blob.toString(), collector);
            try {
                reader.dump();
            } catch (ClassNotFoundException e) {
                throw new IOException(blob + " is of another jcstress", e);
            } finally {
                reader.close();
            }
        }
        return ReportUtils.mergedByName(collector.getTestResults());
    }

    private Path output(Part part) {
        return folder.resolve(part.title.replaceAll("[^A-Za-z]+", "-")).resolve("output.txt");
    }

    private static List<Path> blobs(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".bin.gz")).toList();
        }
    }

    /** Writes the line of a test. Returns whether the test went as it must. */
    private boolean judge(TestResult result) {
        long all = 0;
        long forbidden = 0;
        for (GradingResult outcome : result.grading().gradingResults.values()) {
            all += outcome.count;
            forbidden += outcome.expect == Expect.FORBIDDEN ? outcome.count : 0;
        }
        boolean sound = result.status() == Status.NORMAL && all > 0;
        boolean mustFail = result.getName().matches(".*(Broken|Lucky).*");
        boolean right = sound && (mustFail ? forbidden > 0 : result.grading().isPassed);
        String word = !sound ? "ERROR" : mustFail ? (right ? "caught" : "MISSED") : right ? "held" : "BROKEN";
        String name = result.getName().substring(Proof.class.getPackageName().length() + 1);
        table.add(String.format(
                Locale.ROOT,
                "  %-8s %-44s %,12d states%s",
                word,
                name,
                all,
                forbidden == 0 ? "" : String.format(Locale.ROOT, ", %,d forbidden", forbidden)));
        return right;
    }
}
