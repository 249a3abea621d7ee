package io.github.redislocks.torture;

import java.util.ArrayList;
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
 *   <li>{@code Release}, {@code Leave}, {@code Tick}: a hold that was not released in good order leaves its mark, and
 *       {@code Told}: the next who really holds is told, and nobody without a reason.
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

    /** A hold in the model: from a new token to its end, with what a Condition could not take of it. */
    private static final class Span {
        final History.Hold first;
        History.Hold last;

        Span(History.Hold first) {
            this.first = first;
            this.last = first;
        }

        long inNanos() {
            return first.in.nanos();
        }

        long token() {
            return first.in.number();
        }

        /** Whether its caller never began to release it, or was told that it could not. */
        boolean wasNotReleased() {
            boolean killed = last.ending == History.Ending.KILLED && last.outNanos == 0;
            return killed || last.ending == History.Ending.LOST;
        }

        /** The first moment at which it may have ended. */
        long endNanos() {
            return last.ending == History.Ending.FREED ? last.outNanos : last.believedNanos;
        }

        @Override
        public String toString() {
            return "hold " + token() + " of " + first.in.actor() + " on " + first.in.lock();
        }
    }

    static void check(History history, Report report) {
        Trace trace = new Trace(history, report);
        Map<String, List<Span>> spans = trace.spans();
        spans.values().forEach(trace::order);
        spans.values().forEach(trace::marks);
        trace.refusals();
        trace.counts();
    }

    private Map<String, List<Span>> spans() {
        Map<String, Span> current = new HashMap<>();
        List<Span> all = new ArrayList<>();
        for (History.Hold hold : history.holds) {
            Span span = current.get(hold.in.actor());
            if (span != null && hold.in.text().equals(Event.STILL) && hold.in.number() == span.token()) {
                span.last = hold;
            } else {
                span = new Span(hold);
                current.put(hold.in.actor(), span);
                all.add(span);
            }
        }
        return all.stream()
                .sorted(Comparator.comparingLong(Span::token))
                .collect(Collectors.groupingBy(span -> span.first.in.lock(), TreeMap::new, Collectors.toList()));
    }

    private void order(List<Span> spans) {
        long now = Long.MIN_VALUE;
        Span before = null;
        for (Span span : spans) {
            if (before != null && before.token() == span.token()) {
                report.violation(span.inNanos(), "%s has the token of %s", span, before);
            }
            if (before != null && history.dataLostBetween(before.inNanos(), span.inNanos())) {
                now = Long.MIN_VALUE;
            }
            long taken = Math.max(now, span.first.askedNanos);
            if (taken > span.inNanos()) {
                report.violation(span.inNanos(), "%s has no moment to begin after %s", span, before);
            }
            now = Math.max(Math.min(taken, span.inNanos()), span.endNanos());
            before = span;
        }
    }

    private void marks(List<Span> spans) {
        Span before = null;
        for (Span span : spans) {
            if (before != null && !history.dataLostBetween(before.inNanos(), span.inNanos())) {
                if (before.wasNotReleased() && !span.first.alarmed) {
                    report.violation(span.inNanos(), "%s was not told that the hold before was lost: %s", span, before);
                }
                if (before.last.ending == History.Ending.FREED
                        && span.first.alarmed
                        && isQuiet(before.first.askedNanos, span.inNanos())) {
                    report.violation(
                            span.inNanos(), "%s was told of a loss after %s, which was released", span, before);
                }
            }
            before = span;
        }
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
                .filter(wait -> !mayBeHeld(lock, wait))
                .forEach(wait -> report.violation(
                        wait.endNanos, "%s was refused though nobody had %s", wait.ask.actor(), wait.ask)));
    }

    /** Whether another may have had the lock at a moment of a try that was refused. */
    private boolean mayBeHeld(String lock, History.Wait refused) {
        long from = refused.ask.nanos();
        long to = refused.endNanos;
        boolean held = history.holds.stream()
                .anyMatch(hold -> hold.in.lock().equals(lock) && hold.askedNanos <= to && hold.endNanos >= from);
        return held
                || history.waits.stream()
                        .filter(wait -> wait.ending != History.Ending.ACQUIRED && wait.ask.number() != 0)
                        .anyMatch(wait -> wait != refused
                                && wait.ask.lock().equals(lock)
                                && wait.ask.nanos() <= to
                                && wait.endNanos >= from - LEAVING);
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
