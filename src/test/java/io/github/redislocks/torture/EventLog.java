package io.github.redislocks.torture;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * The log of one process: each event is one write of one line at the end of a file, so that a {@code kill -9} loses at
 * most the line that was being written.
 */
final class EventLog implements AutoCloseable {

    private static final String ENDING = ".log";

    private final FileOutputStream out;

    private EventLog(FileOutputStream out) {
        this.out = out;
    }

    static EventLog append(Path folder, String worker) {
        try {
            return new EventLog(
                    new FileOutputStream(folder.resolve(worker + ENDING).toFile(), true));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Logs an event of now. */
    void add(String actor, Event.Kind kind, String lock, long number, String text) {
        add(new Event(System.nanoTime(), actor, kind, lock, number, text));
    }

    void add(Event event) {
        try {
            out.write((event.line() + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            out.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All events of all processes, in the order of time. */
    static List<Event> readAll(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            List<Event> events = new ArrayList<>();
            files.filter(file -> file.toString().endsWith(ENDING)).forEach(file -> events.addAll(read(file)));
            // Stable: events of one thread at one time keep their order.
            events.sort(Comparator.comparingLong(Event::nanos));
            return events;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Event> read(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.map(Event::parse).filter(Objects::nonNull).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
