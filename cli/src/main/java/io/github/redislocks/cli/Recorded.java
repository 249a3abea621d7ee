package io.github.redislocks.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The events of locks in recordings. Times are microseconds since 1970, lengths are microseconds. */
final class Recorded {

    static final int MOST_LOSSES = 10_000;
    static final int MOST_OUTAGES = 1_000;
    static final int MOST_RENEWALS = 10_000;

    /** The kind of a span that is a hold. The kind of a wait is its outcome. */
    static final String HOLD = "hold";

    static final String ACQUIRED = "acquired";

    final List<Source> sources = new ArrayList<>();
    /** The longest waits and holds. */
    final Kept<Span> spans;
    /** The earliest losses. */
    final Kept<Loss> losses =
            new Kept<>(MOST_LOSSES, Comparator.comparingLong(Loss::at).reversed());
    /**
     * The events of the longest outages. An outage that has ended has two events: one of its beginning, one of its end.
     */
    final Kept<Outage> outages = new Kept<>(MOST_OUTAGES, Comparator.comparingLong(Outage::lasted));

    final Kept<Renewal> renewals = new Kept<>(MOST_RENEWALS, Comparator.comparingLong(Renewal::count));

    Recorded(int mostSpans) {
        this.spans = new Kept<>(mostSpans, Comparator.comparingLong(Span::length));
    }

    /** A recording, and what it says about its JVM. */
    static final class Source {

        final Path file;
        /** The process id of the JVM; 0 if the recording does not contain it. */
        long pid;

        long startedMillis;
        /** The main class or jar. */
        String program = "";

        long events;

        private final Path whole;

        Source(Path file) {
            this.file = file;
            this.whole = file.toAbsolutePath().normalize();
        }

        /** The identity of the JVM. Two recordings of one JVM have equal identities. */
        Object jvm() {
            return pid == 0 ? whole : List.of(pid, startedMillis);
        }
    }

    /**
     * A thread.
     *
     * @param id its id in the JVM; 0 if the recording does not contain it
     * @param name its name; empty if the recording does not contain it
     */
    record Who(long id, String name) {}

    /**
     * A wait or a hold.
     *
     * @param kind {@link #HOLD}, or the outcome of the wait in lower case
     * @param token the token of the hold; 0 if a wait ended without the lock
     * @param site the line of the application's code that made the call; empty if it was not recorded
     */
    record Span(
            Source source,
            Who who,
            String lock,
            String kind,
            long token,
            long end,
            long length,
            boolean previousLost,
            String site) {

        long begin() {
            return end - length;
        }

        Span endingAt(long time) {
            return new Span(source, who, lock, kind, token, time, length, previousLost, site);
        }

        boolean isHold() {
            return kind.equals(HOLD);
        }
    }

    record Loss(Source source, long at, String lock, long token, String owner, String reason) {}

    record Outage(Source source, long at, long lasted, String server, String failure, boolean ended) {}

    record Renewal(Source source, long at, long count) {}
}
