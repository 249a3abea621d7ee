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

    /** The kind of a span that is no wait; waits have their outcome. */
    static final String HOLD = "hold";

    static final String ACQUIRED = "acquired";

    final List<Source> sources = new ArrayList<>();
    /** The longest of them. */
    final Kept<Span> spans;
    /** The first of them. */
    final Kept<Loss> losses =
            new Kept<>(MOST_LOSSES, Comparator.comparingLong(Loss::at).reversed());
    /** The longest of them; of one that ended both events. */
    final Kept<Outage> outages = new Kept<>(MOST_OUTAGES, Comparator.comparingLong(Outage::lasted));

    final Kept<Renewal> renewals = new Kept<>(MOST_RENEWALS, Comparator.comparingLong(Renewal::count));

    Recorded(int mostSpans) {
        this.spans = new Kept<>(mostSpans, Comparator.comparingLong(Span::length));
    }

    /** A recording, with what it says of its JVM. */
    static final class Source {

        final Path file;
        /** Of the JVM; 0 if the recording does not say. */
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

        /** By which two recordings of one JVM are known. */
        Object jvm() {
            return pid == 0 ? whole : List.of(pid, startedMillis);
        }
    }

    /** A thread, by what its JVM calls it; 0 and an empty name: the recording does not say which. */
    record Who(long id, String name) {}

    /**
     * A wait or a hold.
     *
     * @param kind {@link #HOLD}, or what a wait ended with, in lower case
     * @param token 0 if a wait ended without the lock
     * @param site where the application called; empty if that was not recorded
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
