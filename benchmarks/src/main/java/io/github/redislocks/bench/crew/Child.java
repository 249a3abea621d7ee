package io.github.redislocks.bench.crew;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The handle of a {@link Worker} in a child JVM. The child JVM ends when this object is closed, or when this JVM ends.
 */
public final class Child implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final String END = "";

    private final Process process;
    private final PrintStream commands;
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

    private Child(Process process) {
        this.process = process;
        this.commands = new PrintStream(process.getOutputStream(), true, StandardCharsets.US_ASCII);
        Thread reader = new Thread(this::read, "child-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    /** Starts a child JVM with the arguments of this JVM and the given ones. */
    public static Child start(List<String> jvmArguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmArguments);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Worker.class.getName()));
        try {
            return new Child(new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Makes the worker do a task, and waits for the answer. */
    public <R extends Serializable> R call(Task<R> task) {
        begin(task);
        return end(task);
    }

    /** Makes the worker do a task. The caller asks for its messages and its answer later. */
    public void begin(Task<?> task) {
        commands.println(Wire.encode(task));
        if (commands.checkError()) {
            throw new IllegalStateException("Child " + process.pid() + " has gone");
        }
    }

    /** Waits for the answer to a task that was begun. */
    @SuppressWarnings("unchecked") // A worker answers a task with what the task returns.
    public <R extends Serializable> R end(Task<R> task) {
        return (R) hear();
    }

    /** Waits for the next message of the worker. */
    public Object hear() {
        String line;
        try {
            line = answers.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted while a child works", e);
        }
        if (line == null || line.equals(END)) {
            throw new IllegalStateException(
                    "Child " + process.pid() + (line == null ? " says nothing for " + PATIENCE : " has ended"));
        }
        Object word = Wire.decode(line);
        if (word instanceof Failure failure) {
            throw new IllegalStateException(failure.cause());
        }
        return word;
    }

    private void read() {
        try (BufferedReader in =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.startsWith(Wire.WORD)) {
                    answers.add(line.substring(Wire.WORD.length()));
                } else {
                    System.err.println(line);
                }
            }
        } catch (IOException gone) {
            // Ignored: the child JVM has ended.
        }
        answers.add(END);
    }

    @Override
    public void close() {
        commands.close();
        try {
            if (!process.waitFor(5, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor(5, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
