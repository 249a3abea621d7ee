package io.github.redislocks.torture;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The findings of the checker: figures, and the violations with the time at which to look into the logs. */
final class Report {

    private static final int MOST_SHOWN = 30;
    private static final String ROW = "%-20s %8s %8s %7s %8s %8s %7s %8s %7s %7s %9s %7s %7s %8s  %s";

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
    /** Looks of readers at two values that had to agree, and those of them that did not. */
    int reads;

    int torn;
    int tornExcused;
    int losses;
    int refused;
    long longestIdleNanos;
    /** Without the time of the fault itself, and without the lock that is held for long. */
    long longestWaitNanos;

    long recoveryNanos;
    long killToNextNanos;
    long toldNanos;
    /** How long holders whose client watches deletions still believed to hold what the server had forgotten. */
    final List<Long> watchersToldNanos = new ArrayList<>();

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
                "wait ms",
                "recov. ms",
                "kill ms",
                "told ms",
                "stall ms",
                "exceptions");
    }

    /** A line of the table. */
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
                longestWaitNanos / 1_000_000,
                recoveryNanos / 1_000_000,
                orNone(killToNextNanos),
                orNone(toldNanos),
                longestStallNanos / 1_000_000,
                thrown);
    }

    /** In one line: how soon those that watch were told; empty if nobody was. */
    String watchersLine() {
        if (watchersToldNanos.isEmpty()) {
            return "";
        }
        List<Long> sorted = watchersToldNanos.stream().sorted().toList();
        return String.format(
                Locale.ROOT,
                "%s: told while watching, of %d: p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, most %.1f ms",
                name,
                sorted.size(),
                percentile(sorted, 50),
                percentile(sorted, 90),
                percentile(sorted, 99),
                percentile(sorted, 100));
    }

    /** In one line: what readers saw. */
    String readersLine() {
        return String.format(Locale.ROOT, "%s: %d reads, %d torn, %d excused", name, reads, torn, tornExcused);
    }

    private static double percentile(List<Long> sorted, int percent) {
        return Math.max(0, sorted.get((sorted.size() * percent + 99) / 100 - 1)) / 1e6;
    }

    private static String orNone(long nanos) {
        return nanos <= 0 ? "-" : Long.toString(nanos / 1_000_000);
    }
}
