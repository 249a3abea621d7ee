package io.github.redislocks.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A command and all that it starts. Where there is {@code setsid}, as on Linux, it leads a process group of its own, so
 * that a signal reaches all of them, also those whose parent has ended. Elsewhere a signal reaches the descendants that
 * are known at that moment, or were when an earlier one was sent.
 */
final class ChildGroup {

    private static final String SYSTEM_PATH = "/usr/bin:/bin";

    private final Process process;
    /** Null if it leads none. */
    private final ProcessGroup group;

    private final Set<ProcessHandle> known = ConcurrentHashMap.newKeySet();
    private volatile boolean asked;

    private ChildGroup(Process process, ProcessGroup group) {
        this.process = process;
        this.group = group;
    }

    /**
     * Starts a command, with the input and the outputs of this process.
     *
     * @param inForeground whether it stays in the process group of this process, so that it can read from the terminal
     * @throws IOException if it cannot be started
     */
    static ChildGroup start(List<String> command, Map<String, String> environment, boolean inForeground)
            throws IOException {
        Path setsid = inForeground ? null : setsid();
        List<String> line = new ArrayList<>(command);
        if (setsid != null) {
            line.add(0, setsid.toString());
        }
        ProcessBuilder builder = new ProcessBuilder(line).inheritIO();
        Typed.restoreLocale(builder.environment());
        builder.environment().putAll(environment);
        Process process = builder.start();
        return new ChildGroup(process, setsid == null ? null : new ProcessGroup(process.pid()));
    }

    /** The program of that name on the path, or null. */
    static Path find(String program) {
        if (program.contains("/")) {
            Path path = Path.of(program);
            return Files.isRegularFile(path) ? path : null;
        }
        return find(program, System.getenv().getOrDefault("PATH", SYSTEM_PATH));
    }

    /** Also if the path of the command has only the programs that it needs. */
    private static Path setsid() {
        Path onPath = find("setsid");
        return onPath == null ? find("setsid", SYSTEM_PATH) : onPath;
    }

    private static Path find(String program, String path) {
        return Stream.of(path.split(":", -1))
                .map(folder -> Path.of(folder.isEmpty() ? "." : folder, program))
                .filter(Files::isExecutable)
                .filter(Files::isRegularFile)
                .findFirst()
                .orElse(null);
    }

    /** Asks all of them to end, also those that stand still. */
    void terminate() {
        asked = true;
        if (group == null || !group.signal("TERM", "CONT")) {
            known().forEach(ProcessHandle::destroy);
            process.destroy();
        }
    }

    /** Ends all of them. */
    void kill() {
        if (group != null) {
            group.kill();
        }
        known().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    /** Whether they were asked to end. */
    boolean isAsked() {
        return asked;
    }

    /** Whether any of them lives. */
    boolean isAlive() {
        return process.isAlive() || (group == null ? known.stream().anyMatch(ProcessHandle::isAlive) : group.isAlive());
    }

    /** Completes when the command itself has ended. */
    CompletableFuture<?> onExit() {
        return process.onExit();
    }

    /** Waits until the command itself has ended; whether it has. */
    boolean waitFor(long millis) throws InterruptedException {
        return process.waitFor(millis, TimeUnit.MILLISECONDS);
    }

    /** The exit code of the command; 128 and the number of the signal if a signal ended it. */
    int exitCode() {
        return process.exitValue();
    }

    /** Returns the descendants so far, since a process whose parent has ended is no descendant any more. */
    private Set<ProcessHandle> known() {
        process.descendants().forEach(known::add);
        return known;
    }
}
