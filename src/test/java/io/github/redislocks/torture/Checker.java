package io.github.redislocks.torture;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Reads a history and says what was wrong in it. Pure: it knows the logs and nothing else. What is about locks and the
 * resource is here, what is about time in {@link Promptness}.
 */
final class Checker {

    private static final long TOLD_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A worker that has ended its work uses about a quarter of this. */
    private static final long MOST_HEAP = 32L << 20;

    private final History history;
    private final Report report;

    private Checker(History history, Report report) {
        this.history = history;
        this.report = report;
    }

    static Report check(String name, List<Event> events) {
        History history = new History(events);
        Report report = new Report(name, history.beginNanos);
        Checker checker = new Checker(history, report);
        report.acquisitions = history.holds.size();
        checker.overlaps();
        checker.numbers();
        Updates.check(history, report);
        Readings.check(history, report);
        checker.tokens();
        Trace.check(history, report);
        checker.losses();
        checker.others();
        Promptness.check(history, report);
        return report;
    }

    private Map<String, List<History.Hold>> byLock() {
        return history.holds.stream()
                .sorted(Comparator.comparingLong(hold -> hold.in.nanos()))
                .collect(Collectors.groupingBy(hold -> hold.in.lock(), TreeMap::new, Collectors.toList()));
    }

    /** Of some holds, the one that was believed in for longest, and the one whose thread was inside for longest. */
    private static final class Longest {
        History.Hold believed;
        History.Hold inside;

        void add(History.Hold hold) {
            believed = believed == null || hold.believedNanos > believed.believedNanos ? hold : believed;
            inside = inside == null || hold.leftNanos() > inside.leftNanos() ? hold : inside;
        }
    }

    /** Two that the library called holders at one time; and apart from them, one that was inside without being it. */
    private void overlaps() {
        Map<String, List<History.Hold>> byThing = new TreeMap<>();
        byLock().values().stream()
                .flatMap(List::stream)
                .forEach(hold -> hold.things()
                        .forEach(thing -> byThing.computeIfAbsent(thing, any -> new ArrayList<>())
                                .add(hold)));
        byThing.forEach((thing, holds) -> {
            Longest readers = new Longest();
            Longest others = new Longest();
            for (History.Hold hold : holds) {
                overlap(thing, others, hold);
                if (!hold.isRead()) {
                    overlap(thing, readers, hold);
                }
                (hold.isRead() ? readers : others).add(hold);
            }
        });
    }

    private void overlap(String thing, Longest earlier, History.Hold hold) {
        History.Hold longest = earlier.believed;
        if (longest == null || isSameThread(longest, hold)) {
            return;
        }
        if (hold.in.nanos() < longest.believedNanos) {
            if (history.dataLostBetween(longest, hold)) {
                report.overlapsByDataLoss++;
            } else {
                report.overlaps++;
                report.violation(
                        hold.in.nanos(),
                        "overlap on %s: %s entered, %s was still holder %.1f ms later",
                        thing,
                        hold.in.actor(),
                        longest.in.actor(),
                        (longest.believedNanos - hold.in.nanos()) / 1e6);
            }
        } else if (hold.in.nanos() < earlier.inside.leftNanos()) {
            report.lateLeavers++;
        }
    }

    /** A thread reads inside its own write hold, which it ends first. */
    private static boolean isSameThread(History.Hold one, History.Hold other) {
        return SeveralHammer.thread(one.in.actor()).equals(SeveralHammer.thread(other.in.actor()));
    }

    /** A permit has a number of the pool. */
    private void numbers() {
        Set<String> all = IntStream.range(0, PermitUsers.SIZE)
                .mapToObj(number -> " " + number)
                .collect(Collectors.toSet());
        history.holds.stream()
                .filter(hold -> hold.hasPermits()
                        && !hold.things().stream()
                                .allMatch(thing -> all.contains(
                                        thing.substring(hold.in.lock().length()))))
                .forEach(hold -> report.violation(hold.in.nanos(), "no such permit: %s", hold.in));
    }

    /** A token is greater than those of all holds that had begun before this one was asked for. */
    private void tokens() {
        byLock().forEach((lock, holds) -> {
            List<History.Hold> asked = new ArrayList<>(holds);
            asked.sort(Comparator.comparingLong(hold -> hold.askedNanos));
            int entered = 0;
            History.Hold greatest = null;
            Map<Long, History.Hold> seen = new HashMap<>();
            for (History.Hold hold : asked) {
                while (entered < holds.size() && holds.get(entered).in.nanos() < hold.askedNanos) {
                    History.Hold earlier = holds.get(entered++);
                    greatest = greatest == null || earlier.in.number() > greatest.in.number() ? earlier : greatest;
                }
                History.Hold same = hold.isRead() ? null : seen.put(hold.in.number(), hold);
                // A reader has the token of the last writer.
                long least = greatest == null ? Long.MIN_VALUE : greatest.in.number() + (hold.isRead() ? 0 : 1);
                History.Hold before = same == null && hold.in.number() < least ? greatest : same;
                if (before != null && (before == same || !isForgotten(before, hold))) {
                    report.badTokens++;
                    report.violation(
                            hold.in.nanos(),
                            "token %d of %s on %s after %d of %s",
                            hold.in.number(),
                            hold.in.actor(),
                            lock,
                            before.in.number(),
                            before.in.actor());
                }
            }
        });
    }

    /**
     * Whether it is of a client that kept the lock while the server forgot it, and had not been told. To a reader the
     * server gives the token of the last writer that it has not forgotten.
     */
    private boolean isForgotten(History.Hold before, History.Hold hold) {
        if (hold.isRead()) {
            return history.dataLostBetween(before, hold);
        }
        return hold.first != hold && history.dataLostBetween(hold.leaseBegunNanos(), hold.in.nanos());
    }

    /** Every loss is told to the listener too. */
    private void losses() {
        Set<String> told = history.others.stream()
                .filter(event -> event.kind() == Event.Kind.TOLD)
                .map(event -> event.worker() + " " + event.lock() + " " + event.number())
                .collect(Collectors.toSet());
        for (History.Hold hold : history.holds) {
            if (hold.ending == History.Ending.LOST) {
                report.losses++;
                boolean wasTold = told.contains(hold.in.worker() + " " + hold.in.lock() + " " + hold.in.number());
                boolean couldTell = history.strikes.stream()
                        .noneMatch(strike -> strike.victim().equals(hold.in.worker())
                                && strike.touches(hold.endNanos, hold.endNanos + TOLD_NANOS));
                if (!wasTold && couldTell && history.endNanos > hold.endNanos + TOLD_NANOS) {
                    report.violation(hold.endNanos, "no listener heard of the loss of %s", hold.in);
                }
            }
        }
    }

    private void others() {
        for (Event event : history.others) {
            switch (event.kind()) {
                case FAIL -> report.exceptions.merge(event.text(), 1, Integer::sum);
                case REFUSED -> report.refused++;
                case BUG -> report.violation(event.nanos(), "%s %s", event.actor(), event.text());
                case END -> {
                    if (event.lock().equals("threads") && event.number() > 0) {
                        report.violation(event.nanos(), "%s left threads: %s", event.actor(), event.text());
                    }
                    if (event.lock().equals("heap") && event.number() > MOST_HEAP) {
                        report.violation(event.nanos(), "%s left %d bytes", event.actor(), event.number());
                    }
                }
                default -> {}
            }
        }
    }
}
