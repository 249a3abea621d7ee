package io.github.redislocks.cli;

import io.github.redislocks.cli.Recorded.Loss;
import io.github.redislocks.cli.Recorded.Outage;
import io.github.redislocks.cli.Recorded.Renewal;
import io.github.redislocks.cli.Recorded.Source;
import io.github.redislocks.cli.Recorded.Span;
import io.github.redislocks.cli.Recorded.Who;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** Reads recordings of Java Flight Recorder, event by event. */
final class RecordingReader {

    private static final String OURS = "io.github.redislocks.";
    /** The classes of stack frames between the lock and the application's code. */
    private static final Pattern BETWEEN = Pattern.compile("(?:java|javax|jdk|sun)\\..*"
            + "|io\\.github\\.redislocks\\.(?:[A-Z].*|(?:actions|client|concurrent|engine|events|handles|health"
            + "|inspection|jfr|lease|micrometer|quorum|redis|residency|script|several|shedlock|spring|state|testkit|waiting"
            + "|watchdog)\\..*)");

    private static final long LONGEST_NANOS = 100L * 365 * 24 * 3_600 * 1_000_000_000;

    private final Recorded recorded;
    private final TortureLog torture;
    /** Maps equal texts of different events to one object, to save memory. */
    private final Map<String, String> texts = new HashMap<>();

    RecordingReader(Recorded recorded) {
        this.recorded = recorded;
        this.torture = new TortureLog(recorded);
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if the file cannot be read
     */
    void read(Path file) {
        if (!Files.exists(file)) {
            throw new IllegalArgumentException(file + " is not there: name recordings of Java Flight Recorder");
        }
        if (Files.isDirectory(file)) {
            throw new IllegalArgumentException(
                    file + " is a folder: name the recordings in it, such as " + file.resolve("locks.jfr"));
        }
        if (!Files.isReadable(file)) {
            throw new IllegalArgumentException(file + " may not be read by this user: change its rights");
        }
        try {
            Source source = TortureLog.isOne(file) ? torture.read(file) : recording(file);
            recorded.sources.add(source);
        } catch (IOException | RuntimeException e) {
            throw new IllegalArgumentException(
                    file + " is no whole recording of Java Flight Recorder (" + e.getMessage()
                            + "): take one with jcmd PID JFR.dump filename=locks.jfr, or with"
                            + " -XX:StartFlightRecording=filename=locks.jfr of a JVM that ends in order",
                    e);
        }
    }

    /** Finishes the reading. Call this when all files were read. */
    void end() {
        torture.addStrikes();
    }

    private Source recording(Path file) throws IOException {
        Source source = new Source(file);
        try (RecordingFile events = new RecordingFile(file)) {
            while (events.hasMoreEvents()) {
                add(source, events.readEvent());
            }
        }
        return source;
    }

    private void add(Source source, RecordedEvent event) {
        String type = event.getEventType().getName();
        if (type.equals("jdk.JVMInformation")) {
            describe(source, event);
        } else if (type.startsWith(OURS) && addOurs(source, event, type.substring(OURS.length()))) {
            source.events++;
        }
    }

    private static void describe(Source source, RecordedEvent event) {
        if (event.hasField("pid")) {
            source.pid = event.getLong("pid");
        }
        source.startedMillis = event.getInstant("jvmStartTime").toEpochMilli();
        String line = event.getString("javaArguments");
        if (line != null) {
            // Keep only the main class or jar: the arguments of the program may be secret.
            String program = line.strip().split("\\s", 2)[0];
            source.program = program.substring(program.lastIndexOf('/') + 1);
        }
    }

    /** Adds the event to what was recorded. Returns false if its type is unknown, so that the event is ignored. */
    private boolean addOurs(Source source, RecordedEvent event, String type) {
        switch (type) {
            case "LockWait" ->
                recorded.spans.add(span(
                        source, event, event.getString("outcome").toLowerCase(Locale.ROOT), event.getLong("waited")));
            case "LockHold" -> recorded.spans.add(span(source, event, Recorded.HOLD, event.getLong("held")));
            case "LockLost" ->
                recorded.losses.add(new Loss(
                        source,
                        micros(event),
                        text(event.getString("lock")),
                        event.getLong("token"),
                        text(event.getString("owner")),
                        text(event.getString("reason"))));
            case "RedisOutage" ->
                recorded.outages.add(new Outage(
                        source,
                        micros(event),
                        length(event.getLong("lasted")),
                        text(event.getString("server")),
                        text(event.getString("failure")),
                        event.getBoolean("ended")));
            case "Renewal" -> recorded.renewals.add(new Renewal(source, micros(event), event.getLong("count")));
            default -> {
                // Ignore an event of a later version of the library.
                return false;
            }
        }
        return true;
    }

    private Span span(Source source, RecordedEvent event, String kind, long nanos) {
        return new Span(
                source,
                who(event.getThread()),
                text(event.getString("lock")),
                text(kind),
                event.getLong("token"),
                micros(event),
                length(nanos),
                event.hasField("previousHolderLost") && event.getBoolean("previousHolderLost"),
                site(event.getStackTrace()));
    }

    private Who who(RecordedThread thread) {
        if (thread == null) {
            return new Who(0, "");
        }
        String name = thread.getJavaName();
        return new Who(thread.getJavaThreadId(), name == null ? "" : text(name));
    }

    /** The first frame of the application's code; empty if there is none. */
    private String site(RecordedStackTrace stack) {
        if (stack != null) {
            for (RecordedFrame frame : stack.getFrames()) {
                RecordedMethod method = frame.getMethod();
                String type = method == null ? null : method.getType().getName();
                if (type != null && !BETWEEN.matcher(type).matches()) {
                    return text(type + '.' + method.getName() + ':' + frame.getLineNumber());
                }
            }
        }
        return "";
    }

    private String text(String text) {
        return text == null ? "" : texts.computeIfAbsent(text, first -> first);
    }

    /** The time of an event: the end of the wait, hold or outage, at which the library makes the event. */
    private static long micros(RecordedEvent event) {
        Instant at = event.getEndTime();
        return at.getEpochSecond() * 1_000_000 + at.getNano() / 1_000;
    }

    private static long length(long nanos) {
        return Math.max(0, Math.min(nanos, LONGEST_NANOS)) / 1_000;
    }
}
