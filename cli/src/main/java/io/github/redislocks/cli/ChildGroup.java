package io.github.redislocks.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A command and all that it starts. Where there is {@code setsid}, as on Linux, it leads a process group of its own, so
 * that a signal reaches all of them, also those whose parent has ended. Elsewhere a signal reaches the descendants that
 * are known at that moment.
 */
final class ChildGroup {

    private static final String SIGNAL = "kill -s \"$1\" -- \"-$2\" 2>/dev/null";

    private final Process process;
    private final boolean leads;

    private ChildGroup(Process process, boolean leads) {
        this.process = process;
        this.leads = leads;
    }

    /**
     * Starts a command, with the input and the outputs of this process.
     *
     * @param inForeground whether it stays in the process group of this process, so that it can read from the terminal
     * @throws IOException if it cannot be started
     */
    static ChildGroup start(List<String> command, Map<String, String> environment, boolean inForeground)
            throws IOException {
        Path setsid = inForeground ? null : find("setsid");
        List<String> line = new ArrayList<>(command);
        if (setsid != null) {
            line.add(0, setsid.toString());
        }
        ProcessBuilder builder = new ProcessBuilder(line).inheritIO();
        builder.environment().putAll(environment);
        return new ChildGroup(builder.start(), setsid != null);
    }

    /** The program of that name on the path, or null. */
    static Path find(String program) {
        if (program.contains("/")) {
            Path path = Path.of(program);
            return Files.isRegularFile(path) ? path : null;
        }
        return Stream.of(System.getenv().getOrDefault("PATH", "/usr/bin:/bin").split(":", -1))
                .map(folder -> Path.of(folder.isEmpty() ? "." : folder, program))
                .filter(Files::isExecutable)
                .filter(Files::isRegularFile)
                .findFirst()
                .orElse(null);
    }

    /** Asks all of them to end. */
    void terminate() {
        if (!signal("TERM")) {
            descendants().forEach(ProcessHandle::destroy);
            process.destroy();
        }
    }

    /** Ends all of them. */
    void kill() {
        if (!signal("KILL")) {
            descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    /** Whether any of them lives. */
    boolean isAlive() {
        return process.isAlive() || (leads && signal("0"));
    }

    /** Waits until the command itself has ended; whether it has. */
    boolean waitFor(long millis) throws InterruptedException {
        return process.waitFor(millis, TimeUnit.MILLISECONDS);
    }

    /** What the command ended with; 128 and the number of the signal if by a signal. */
    int exitCode() {
        return process.exitValue();
    }

    private Stream<ProcessHandle> descendants() {
        return process.descendants();
    }

    /** Sends a signal to the group; false if there is none, or if nothing of it lives. */
    private boolean signal(String name) {
        if (!leads) {
            return false;
        }
        try {
            Process sent = new ProcessBuilder("sh", "-c", SIGNAL, "sh", name, Long.toString(process.pid()))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            boolean interrupted = false;
            while (true) {
                try {
                    return sent.waitFor() == 0;
                } catch (InterruptedException e) {
                    interrupted = true;
                } finally {
                    if (interrupted) {
                        Thread.currentThread().interrupt();
                    }
                }
            }
        } catch (IOException e) {
            return false;
        }
    }
}
