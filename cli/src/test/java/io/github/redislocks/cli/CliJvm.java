package io.github.redislocks.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The jar in a process of its own, as users run it, with its outputs in files. */
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
        Path out = Files.createTempFile(folder, "out", "");
        Path err = Files.createTempFile(folder, "err", "");
        List<String> line = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1"));
        line.addAll(List.of("-jar", System.getProperty("cli.jar")));
        line.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(line)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().put("REDIS_URL", url);
        return new CliJvm(builder.start(), out, err);
    }

    String out() throws IOException {
        return Files.readString(out);
    }

    String err() throws IOException {
        return Files.readString(err);
    }

    /** What it ends with. */
    int await() throws InterruptedException {
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("It has not ended");
        }
        return process.exitValue();
    }

    /** Waits until so many lines have been printed, and returns them. */
    List<String> awaitLines(int count) throws IOException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (System.nanoTime() < end) {
            List<String> lines = out().lines().toList();
            if (lines.size() >= count && out().endsWith("\n")) {
                return lines;
            }
            if (!process.isAlive()) {
                throw new AssertionError("It ended with " + process.exitValue() + ": " + err());
            }
            Thread.sleep(5);
        }
        throw new AssertionError("It printed " + out() + err());
    }

    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }
}
