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
 * The processes with one process group. Java knows of no groups: a shell sends them signals, and the files of Linux
 * tell who belongs to one.
 */
record ProcessGroup(Path shell, long id) {

    /** Not searched for, since a command may be given a path that has none. */
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
     * Sends signals to all of them at one moment, whatever they start meanwhile.
     *
     * @return whether a process got the signal; false if there is none, and if no shell can be started
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

    /** Ends all processes of the group, even if the machine allows no further process. */
    void kill() {
        if (!signal("KILL")) {
            members().ifPresent(members -> members.forEach(ProcessHandle::destroyForcibly));
        }
    }

    /**
     * Whether a process of the group lives. A process that has ended does not, even if nobody has read its exit code.
     */
    boolean isAlive() {
        return members().map(members -> !members.isEmpty()).orElseGet(() -> signal("0"));
    }

    /** The processes that live; empty where there is no {@code /proc}. */
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

    /** Reads {@code pid (name) state parent group ...}, where the name may have blanks and brackets. */
    private boolean isMember(String stat) {
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).split(" ", -1);
        if (fields.length <= THREADS || Long.parseLong(fields[GROUP]) != id) {
            return false;
        }
        // A zombie whose first thread has ended by itself may have others that work.
        return !fields[STATE].matches("[ZXx]") || (fields[STATE].equals("Z") && Long.parseLong(fields[THREADS]) > 1);
    }

    /** Through interrupts, which are kept. */
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
