package io.github.redislocks.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The processes of one process group. Java does not know process groups, so a shell sends the signals, and the files in
 * {@code /proc} show which processes belong to the group.
 */
record ProcessGroup(Path shell, long id) {

    /** A fixed path, since the user's PATH may have no shell. */
    private static final Path SHELL = Path.of("/bin/sh");

    private static final Path PROCESSES = Path.of("/proc");
    private static final int STATE = 1;
    private static final int GROUP = 3;
    private static final int THREADS = 18;
    private static final String SEND = "for s in $1; do kill -s \"$s\" -- \"-$2\" || exit 1; done 2>/dev/null";

    ProcessGroup(long id) {
        this(SHELL, id);
    }

    /**
     * Sends signals to all processes of the group at one moment. So a process that is just being started gets them as
     * well.
     *
     * @return true if a process got the signals; false if the group has no process, or no shell can be started
     */
    boolean signal(String... names) {
        try {
            Process sent = new ProcessBuilder(
                            shell.toString(), "-c", SEND, "sh", String.join(" ", names), Long.toString(id))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return awaitExit(sent) == 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** Kills all processes of the group, even if the machine allows no further process. */
    void kill() {
        if (!signal("KILL")) {
            members().ifPresent(members -> members.forEach(ProcessHandle::destroyForcibly));
        }
    }

    /** Whether a process of the group is alive. A zombie, whose exit code nobody has read, is not alive. */
    boolean isAlive() {
        return members().map(members -> !members.isEmpty()).orElseGet(() -> signal("0"));
    }

    /** The live processes of the group; empty if there is no {@code /proc}. */
    private Optional<List<ProcessHandle>> members() {
        List<ProcessHandle> members = new ArrayList<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROCESSES, "[0-9]*")) {
            for (Path process : processes) {
                if (isMember(process.resolve("stat"))) {
                    ProcessHandle.of(Long.parseLong(process.getFileName().toString()))
                            .ifPresent(members::add);
                }
            }
            return Optional.of(members);
        } catch (IOException | DirectoryIteratorException e) {
            return Optional.empty();
        }
    }

    private boolean isMember(Path stat) {
        try {
            return isMember(Files.readString(stat, StandardCharsets.ISO_8859_1));
        } catch (IOException ended) {
            return false;
        }
    }

    /**
     * Whether a line of {@code /proc} shows a live member of the group.
     *
     * @param stat {@code pid (name) state parent group ...}; the name may have blanks and brackets
     */
    private boolean isMember(String stat) {
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).split(" ", -1);
        if (fields.length <= THREADS || Long.parseLong(fields[GROUP]) != id) {
            return false;
        }
        // A zombie with several threads is alive: only its first thread has ended.
        return !fields[STATE].matches("[ZXx]") || (fields[STATE].equals("Z") && Long.parseLong(fields[THREADS]) > 1);
    }

    /** Waits for the exit code of a process. An interrupt does not end the wait; the interrupt flag stays set. */
    static int awaitExit(Process process) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return process.waitFor();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
