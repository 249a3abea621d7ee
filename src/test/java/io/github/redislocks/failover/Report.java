package io.github.redislocks.failover;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.LongStream;

/** The outcomes of many failovers with one protection, as lines of a table. */
record Report(Protection protection, List<Failover.Outcome> outcomes) {

    static final List<String> HEAD = List.of(
            "| protection | the holder's client | failovers | had the lock | next acquisition, p50 / max | reported `TAKEN` |"
                    + " reported `UNCONFIRMED` | reported after, p50 / max | double holds | for, p50 / max |",
            "|---|---|---|---|---|---|---|---|---|---|");

    /** A line for holders that can learn of the failover, and one for those that cannot. */
    List<String> lines() {
        return List.of(line("sees the Sentinels", false), line("is cut off from them", true));
    }

    private String line(String view, boolean blind) {
        List<Failover.Outcome> some = outcomes.stream()
                .filter(outcome -> outcome.of().isBlind() == blind)
                .toList();
        List<String> cells = new ArrayList<>();
        cells.add(protection.toString());
        cells.add(view);
        cells.add(Integer.toString(some.size()));
        cells.add(count(some, Failover.Outcome::acquired));
        cells.add(spread(some.stream().mapToLong(Failover.Outcome::nextNanos)));
        cells.add(count(some, outcome -> outcome.lost().equals("TAKEN")));
        cells.add(count(some, outcome -> outcome.lost().equals("UNCONFIRMED")));
        cells.add(spread(
                some.stream().filter(outcome -> !outcome.lost().isEmpty()).mapToLong(Failover.Outcome::endNanos)));
        cells.add(count(some, Failover.Outcome::isDouble));
        cells.add(spread(some.stream().filter(Failover.Outcome::isDouble).mapToLong(Failover.Outcome::doubleNanos)));
        return "| " + String.join(" | ", cells) + " |";
    }

    /** The number of failovers in which two clients held the lock at once. */
    long doubles() {
        return outcomes.stream().filter(Failover.Outcome::isDouble).count();
    }

    private static String count(List<Failover.Outcome> some, Predicate<Failover.Outcome> which) {
        return Long.toString(some.stream().filter(which).count());
    }

    private static String spread(LongStream nanos) {
        long[] sorted = nanos.map(TimeUnit.NANOSECONDS::toMillis).sorted().toArray();
        return sorted.length == 0 ? "-" : sorted[sorted.length / 2] + " / " + sorted[sorted.length - 1] + " ms";
    }
}
