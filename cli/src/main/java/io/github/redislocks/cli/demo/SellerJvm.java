package io.github.redislocks.cli.demo;

import io.github.redislocks.cli.demo.StockWorker.Orders;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A {@link StockWorker} in a separate process, with the same Java and class path. It ends when this process ends. */
final class SellerJvm implements AutoCloseable {

    /**
     * The environment variable with the URL of Redis. Not an argument, since other users can read the arguments of a
     * process.
     */
    static final String URL = "REDIS_LOCKS_DEMO_URL";

    private static final String END = "";

    private final Process process;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final Thread atExit;

    private SellerJvm(Process process) {
        this.process = process;
        atExit = new Thread(process::destroyForcibly, "end of " + process.pid());
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /**
     * Starts a process.
     *
     * @param options the options of its JVM
     */
    static SellerJvm start(String url, List<String> options, Orders orders) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), StockWorker.class.getName()));
        command.addAll(orders.args());
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().put(URL, url);
        try {
            SellerJvm seller = new SellerJvm(builder.start());
            Thread reader = new Thread(seller::read, "output of " + seller.pid());
            reader.setDaemon(true);
            reader.start();
            return seller;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void read() {
        try (BufferedReader in =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            in.lines().forEach(lines::add);
        } catch (IOException | UncheckedIOException e) {
            // Ignored: the process was killed.
        } finally {
            lines.add(END);
        }
    }

    /**
     * Waits until the process writes the given line.
     *
     * @throws AssertionError if the process does not write it in time, or ends
     */
    void awaitLine(String line, Duration timeout) throws InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        for (String said = null; !line.equals(said); ) {
            said = lines.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (said == null || said.equals(END)) {
                throw new AssertionError(
                        said == null
                                ? "a process did not say \"" + line + "\" in " + timeout.toSeconds() + " s"
                                : "a process ended before it said \"" + line + "\"");
            }
        }
    }

    long pid() {
        return process.pid();
    }

    /**
     * Waits for the end of the process, and returns its exit code.
     *
     * @throws AssertionError if the process does not end in time
     */
    int awaitExit(Duration timeout) throws InterruptedException {
        if (!process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new AssertionError("a process still runs after " + timeout.toSeconds() + " s");
        }
        return process.exitValue();
    }

    void kill9() {
        process.destroyForcibly();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException alreadyEnding) {
            // Ignored: this JVM is ending, and already runs the hook.
        }
    }
}
