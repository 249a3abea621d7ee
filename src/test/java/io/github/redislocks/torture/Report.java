package io.github.redislocks.torture;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What the checker found: figures, and the violations with the time at which to look into the logs. */
final class Report {

    private static final int MOST_SHOWN = 30;
    private static final String ROW = "%-18s %8s %8s %9s %8s %8s %8s %8s %7s %9s %8s %7s  %s";

    final String name;
    private final long beginNanos;
    private final List<String> violations = new ArrayList<>();

    int acquisitions;
    int overlaps;
    int overlapsByDataLoss;
    /** Threads that were inside when the next entered, but had been told or could not have been: they stood still. */
    int lateLeavers;

    int lostWithoutTokens;
    int lostExcused;
    int lostWithTokens;
    int badTokens;
    int losses;
    int refused;
    long longestIdleNanos;
    long recoveryNanos;
    long killToNextNanos;
    long toldNanos;
    long latestTryNanos;
    long longestStallNanos;
    final Map<String, Integer> exceptions = new TreeMap<>();

    Report(String name, long beginNanos) {
        this.name = name;
        this.beginNanos = beginNanos;
    }

    void violation(long nanos, String format, Object... args) {
        violations.add(String.format(
                Locale.ROOT,
                "%s at %.3f s: %s",
                name,
                (nanos - beginNanos) / 1e9,
                String.format(Locale.ROOT, format, args)));
    }

    List<String> violations() {
        return violations.size() <= MOST_SHOWN ? violations : violations.subList(0, MOST_SHOWN);
    }

    int violationCount() {
        return violations.size();
    }

    static String head() {
        return String.format(
                Locale.ROOT,
                ROW,
                "fault",
                "acquired",
                "overlaps",
                "by loss",
                "late out",
                "lost upd",
                "excused",
                "w/ token",
                "idle ms",
                "recov. ms",
                "kill ms",
                "stall",
                "exceptions");
    }

    /** One line of the table. */
    String line() {
        Map<String, Integer> thrown = new TreeMap<>(exceptions);
        if (losses > 0) {
            thrown.put("lost", losses);
        }
        if (refused > 0) {
            thrown.put("refused by token", refused);
        }
        return String.format(
                Locale.ROOT,
                ROW,
                name,
                acquisitions,
                overlaps,
                overlapsByDataLoss,
                lateLeavers,
                lostWithoutTokens,
                lostExcused,
                lostWithTokens,
                longestIdleNanos / 1_000_000,
                recoveryNanos / 1_000_000,
                killToNextNanos == 0 ? "-" : Long.toString(killToNextNanos / 1_000_000),
                longestStallNanos / 1_000_000,
                thrown);
    }
}
