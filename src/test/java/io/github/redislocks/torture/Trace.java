package io.github.redislocks.torture;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Replays a history by the rules of {@code docs/model/Lease.tla}: an owner-aware, re-entrant, fenced mutex. Every call
 * took effect at one moment between its begin and its end, and Redis went from one state of the model to the next:
 *
 * <ul>
 *   <li>{@code Acquire}: from no owner to one, with a greater token. So the order of the holds is that of their tokens,
 *       and moments for all of them are found by taking for each the first that is left.
 *   <li>{@code Acquire} answers {@code BUSY} only while there is an owner.
 *   <li>{@code Reenter}, {@code Exit}: the count goes up and down by one; a Condition gives it back as it was.
 *   <li>{@code Release}, {@code Leave}, {@code Tick}: a hold that was lost leaves its mark, and {@code Told}: the next
 *       who really holds is told, and nobody without a reason.
 * </ul>
 *
 * <p>A call that timed out, or whose process was killed, may have had its effect or not, at any time from its begin.
 */
final class Trace {

    private static final long LEASE = TestLocks.LEASE.toNanos();

    /** How long a waiter that gives up may still have what it was granted, if nothing is wrong. */
    private static final long LEAVING = TimeUnit.MILLISECONDS.toNanos(200);

    /** A process that stands still for longer than this may have lost a claim or a lease by it. */
    private static final long LONG_STALL = TimeUnit.MILLISECONDS.toNanos(500);

    private final History history;
    private final Report report;

    private Trace(History history, Report report) {
        this.history = history;
        this.report = report;
    }

    static void check(History history, Report report) {
        Trace trace = new Trace(history, report);
        Map<String, List<History.Hold>> holds = history.holds.stream()
                .filter(History.Hold::isExclusive)
                .sorted(Comparator.comparingLong(hold -> hold.in.number()))
                .collect(Collectors.groupingBy(hold -> hold.in.lock(), TreeMap::new, Collectors.toList()));
        holds.values().forEach(trace::order);
        holds.values().forEach(trace::marks);
        trace.refusals();
        trace.counts();
    }

    private void order(List<History.Hold> holds) {
        long now = Long.MIN_VALUE;
        History.Hold before = null;
        for (History.Hold hold : holds) {
            if (before != null && before.in.number() == hold.in.number()) {
                violation(hold, "has the token of", before);
            }
            if (before != null && history.dataLostBetween(before, hold)) {
                now = Long.MIN_VALUE;
            }
            long taken = Math.max(now, hold.askedNanos);
            if (taken > hold.in.nanos()) {
                violation(hold, "has no moment to begin after", before);
            }
            long ended = hold.ending == History.Ending.FREED ? hold.outNanos : hold.believedNanos;
            now = Math.max(Math.min(taken, hold.in.nanos()), ended);
            before = hold;
        }
    }

    private void marks(List<History.Hold> holds) {
        History.Hold before = null;
        for (History.Hold hold : holds) {
            if (before != null && !history.dataLostBetween(before, hold)) {
                if (wasNotReleased(before) && !hold.alarmed) {
                    violation(hold, "was not told of the loss of", before);
                }
                if (before.ending == History.Ending.FREED
                        && hold.alarmed
                        && isQuiet(before.askedNanos, hold.in.nanos())) {
                    violation(hold, "learned of a loss after the release of", before);
                }
            }
            before = hold;
        }
    }

    private void violation(History.Hold hold, String what, History.Hold before) {
        report.violation(hold.in.nanos(), "%s %s %s", hold.in, what, before.in);
    }

    /** Whether the caller never began to release the hold, or learned that it could not. */
    private static boolean wasNotReleased(History.Hold hold) {
        boolean killed = hold.ending == History.Ending.KILLED && hold.outNanos == 0;
        return killed || (hold.ending == History.Ending.LOST && !hold.releaseUnknown);
    }

    /** Whether every outcome in a time is known: no request went unanswered, no claim or lease ran out. */
    private boolean isQuiet(long from, long to) {
        return history.strikes.stream()
                        .noneMatch(strike -> !strike.fault().isQuiet && strike.touches(from - 2 * LEASE, to))
                && history.stallNanos(from - LEASE, to) < LONG_STALL;
    }

    private void refusals() {
        Map<String, List<History.Wait>> refused = history.waits.stream()
                .filter(wait -> wait.ending == History.Ending.REFUSED)
                .filter(wait -> isQuiet(wait.ask.nanos(), wait.endNanos))
                .collect(Collectors.groupingBy(wait -> wait.ask.lock()));
        refused.forEach((lock, waits) -> waits.stream()
                .filter(wait -> !mayBeHeld(lock, wait) && !mayFindKept(lock, wait))
                .forEach(wait -> report.violation(
                        wait.endNanos, "%s was refused though nobody had %s", wait.ask.actor(), wait.ask)));
    }

    /** Whether another may have had the lock at a moment of a try that was refused. */
    private boolean mayBeHeld(String lock, History.Wait refused) {
        long from = refused.ask.nanos();
        long to = refused.endNanos;
        boolean held = history.holds.stream()
                .anyMatch(
                        hold -> hold.in.lock().equals(lock) && hold.askedNanos <= to && hold.takenUntilNanos() >= from);
        return held
                || history.waits.stream()
                        .filter(wait -> wait.ending != History.Ending.ACQUIRED && wait.ask.number() != 0)
                        .anyMatch(wait -> wait != refused
                                && wait.ask.lock().equals(lock)
                                && wait.ask.nanos() <= to
                                && wait.endNanos >= from - LEAVING);
    }

    /** Whether it may have found the lock kept: a handle's try for no time does not ask who keeps it. */
    private boolean mayFindKept(String lock, History.Wait refused) {
        return refused.ask.text().endsWith(Event.BY_HANDLE)
                && history.mayBeKept(lock, refused.ask.nanos(), refused.endNanos);
    }

    private void counts() {
        Map<String, Long> kept = new HashMap<>();
        for (History.Hold hold : history.holds) {
            long count = 1;
            for (Event event : hold.counts) {
                long wanted =
                        switch (event.text()) {
                            case Event.REENTER -> count + 1;
                            case Event.EXIT -> count - 1;
                            case Event.AWAIT -> kept.get(event.actor());
                            default -> count;
                        };
                boolean lost = event.number() == 0 && hold.ending == History.Ending.LOST;
                if (event.number() != wanted && !lost) {
                    report.violation(
                            event.nanos(),
                            "%s counts %d after %s, not %d: %s",
                            event.actor(),
                            event.number(),
                            event.text(),
                            wanted,
                            hold.in);
                }
                count = wanted;
            }
            kept.put(hold.in.actor(), count);
        }
    }
}
