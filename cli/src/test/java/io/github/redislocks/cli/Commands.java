package io.github.redislocks.cli;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Shell scripts as commands under supervision, each in a folder in which its files are: a test tells it to go on by the
 * file {@code go}, and it says how far it is by other ones. None of them outlives its test.
 */
final class Commands implements AutoCloseable {

    /** A script that outlived its test would else keep the outputs of the JVM of the tests open. */
    private static final String QUIETLY = "exec </dev/null >/dev/null 2>&1; ";

    private final Path folder;
    private final List<ChildGroup> started = new ArrayList<>();

    Commands(Path folder) {
        this.folder = folder;
    }

    ChildGroup start(String script) throws IOException {
        return start(script, false);
    }

    ChildGroup start(String script, boolean inForeground) throws IOException {
        ChildGroup child =
                ChildGroup.start(List.of("sh", "-c", QUIETLY + "cd " + folder + "; " + script), Map.of(), inForeground);
        started.add(child);
        return child;
    }

    /** Lets a script go on that waits for it. */
    void go() throws IOException {
        Files.createFile(folder.resolve("go"));
    }

    boolean has(String file) {
        return Files.exists(folder.resolve(file));
    }

    void awaitFile(String file) {
        await().until(() -> has(file));
    }

    /** The lines that a script has written. */
    List<String> lines(String file) {
        try {
            return Files.readAllLines(folder.resolve(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether a process lives whose number is the only line of that file. */
    boolean isAlive(String file) {
        return isAlive(Long.parseLong(lines(file).get(0)));
    }

    /** Whether a process lives; a zombie does not. */
    static boolean isAlive(long pid) {
        return !"ZXx".contains(state(pid));
    }

    /** Of what it runs, as Linux shows it: empty for one that is not there. */
    static String name(long pid) {
        try {
            return Files.readString(Path.of("/proc/" + pid + "/comm")).strip();
        } catch (IOException noSuchFile) {
            return "";
        }
    }

    /** As Linux shows it: T for one that stands still, Z for a zombie, X for one that is not there. */
    static String state(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            int state = stat.lastIndexOf(')') + 2;
            return stat.substring(state, state + 1);
        } catch (IOException noSuchFile) {
            return "X";
        }
    }

    @Override
    public void close() {
        started.forEach(ChildGroup::kill);
    }
}
