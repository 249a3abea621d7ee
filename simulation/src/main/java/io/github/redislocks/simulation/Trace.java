package io.github.redislocks.simulation;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * The trace of one schedule: a folder with all events in their order, in {@code trace.txt}, and, for each process, a
 * log of the calls in the form of the torture suite. docs/TORTURE.md says how to draw these logs.
 */
final class Trace implements AutoCloseable {

    private final Path folder;
    private final PrintWriter text;
    private final Map<String, StringBuilder> logs = new TreeMap<>();

    Trace(Path folder) {
        this.folder = folder;
        try {
            Files.createDirectories(folder);
            text = new PrintWriter(folder.resolve("trace.txt").toFile(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void event(long nanos, String thread, String what) {
        text.printf("%,14.3f ms  %-18s %s%n", nanos / 1e6, thread, what);
    }

    /** Adds a line to the log of a process. */
    void log(String process, long nanos, String actor, String kind, String lock, long number, String what) {
        logs.computeIfAbsent(process, first -> new StringBuilder())
                .append(String.join("\t", Long.toString(nanos), actor, kind, lock, Long.toString(number), what))
                .append('\n');
    }

    @Override
    public void close() {
        text.close();
        logs.forEach((process, lines) -> {
            try {
                Files.writeString(folder.resolve(process + ".log"), lines);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @Override
    public String toString() {
        return folder.toString();
    }
}
