package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** The command line in a process of its own, as users run it, with its outputs in files. */
final class CliJvm implements AutoCloseable {

    private static final long LIMIT_SECONDS = 60;

    final Process process;
    private final Path out;
    private final Path err;

    private CliJvm(Process process, Path out, Path err) {
        this.process = process;
        this.out = out;
        this.err = err;
    }

    static CliJvm start(Path folder, String url, String... args) throws IOException {
        return start(folder, Map.of("REDIS_URL", url), args);
    }

    static CliJvm start(Path folder, Map<String, String> environment, String... args) throws IOException {
        return start(folder, environment, line(args));
    }

    /** Starts it with its output piped to a command of a shell; it has ended when both have. */
    static CliJvm startInto(String reader, Path folder, String url, String... args) throws IOException {
        List<String> line = new ArrayList<>(List.of("sh", "-c", "\"$@\" | " + reader, "sh"));
        line.addAll(line(args));
        return start(folder, Map.of("REDIS_URL", url), line);
    }

    /** The folder with the jars, as it is archived. */
    static Path lib() {
        return Path.of(System.getProperty("cli.lib"));
    }

    private static List<String> line(String... args) {
        List<String> line = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1"));
        line.addAll(List.of("-cp", lib() + "/*", Main.class.getName()));
        line.addAll(List.of(args));
        return line;
    }

    private static CliJvm start(Path folder, Map<String, String> environment, List<String> line) throws IOException {
        Path out = Files.createTempFile(folder, "out", "");
        Path err = Files.createTempFile(folder, "err", "");
        ProcessBuilder builder = new ProcessBuilder(line)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().putAll(environment);
        return new CliJvm(builder.start(), out, err);
    }

    String out() throws IOException {
        return Files.readString(out);
    }

    String err() throws IOException {
        return Files.readString(err);
    }

    /** Returns the exit code. */
    int await() throws InterruptedException {
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("It has not ended");
        }
        return process.exitValue();
    }

    /** Waits until so many lines have been printed, and returns them. */
    List<String> awaitLines(int count) throws IOException {
        Awaitility.await()
                .atMost(LIMIT_SECONDS, TimeUnit.SECONDS)
                .until(() -> lines(out()) >= count || !process.isAlive());
        List<String> lines = out().lines().toList();
        assertThat(lines).as("what it printed: " + err()).hasSizeGreaterThanOrEqualTo(count);
        return lines;
    }

    private static long lines(String text) {
        return text.chars().filter(c -> c == '\n').count();
    }

    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }
}
