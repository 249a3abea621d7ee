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
 * A command with all processes that it starts. If the machine has {@code setsid}, as Linux does, the command leads its
 * own process group: then a signal reaches all processes, even those whose parent has ended. Otherwise a signal reaches
 * the descendants that are known at that moment, or were known when an earlier signal was sent.
 */
final class ChildGroup {

    private static final String SYSTEM_PATH = "/usr/bin:/bin";

    private final Process process;
    /** The process group that the command leads; null if it leads none. */
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
     * @param inForeground whether the command stays in the process group of this process, so that it can read from the
     *     terminal
     * @throws IOException if the command cannot be started
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

    /** The path of a program in the directories of PATH; null if there is none. */
    static Path find(String program) {
        if (program.contains("/")) {
            Path path = Path.of(program);
            return Files.isRegularFile(path) ? path : null;
        }
        return find(program, System.getenv().getOrDefault("PATH", SYSTEM_PATH));
    }

    /**
     * The path of setsid; null if there is none. Also looks in /usr/bin and /bin, since the user may have set a PATH
     * with only what the command needs.
     */
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

    /** Sends SIGTERM to all processes, and SIGCONT, so that stopped processes end as well. */
    void terminate() {
        asked = true;
        if (group == null || !group.signal("TERM", "CONT")) {
            known().forEach(ProcessHandle::destroy);
            process.destroy();
        }
    }

    /** Sends SIGKILL to all processes. */
    void kill() {
        if (group != null) {
            group.kill();
        }
        known().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    /** Whether the command was asked to end, by {@link #terminate} or {@link #kill}. */
    boolean isAsked() {
        return asked;
    }

    /** Whether one of the processes is alive. */
    boolean isAlive() {
        return process.isAlive() || (group == null ? known.stream().anyMatch(ProcessHandle::isAlive) : group.isAlive());
    }

    /** Completes when the command itself has ended. */
    CompletableFuture<?> onExit() {
        return process.onExit();
    }

    /** Waits until the command itself has ended, for {@code millis} at most. Returns whether it has ended. */
    boolean waitFor(long millis) throws InterruptedException {
        return process.waitFor(millis, TimeUnit.MILLISECONDS);
    }

    /** The exit code of the command; if a signal ended the command, 128 plus the number of the signal. */
    int exitCode() {
        return process.exitValue();
    }

    /**
     * Returns all descendants seen so far. The system no longer lists a process as a descendant once its parent has
     * ended.
     */
    private Set<ProcessHandle> known() {
        process.descendants().forEach(known::add);
        return known;
    }
}
