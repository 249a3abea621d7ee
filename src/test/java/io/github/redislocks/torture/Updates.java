package io.github.redislocks.torture;

import java.util.HashMap;
import java.util.Map;

/**
 * Looks for lost updates: two changes that began from the same value. One that is late by a fault sets the value back,
 * so that those after it go through the same values again: from there on they are counted anew.
 */
final class Updates {

    /** The changes of one value, since it was last set back. */
    private static final class Chain {
        long beginNanos = Long.MIN_VALUE;
        final Map<Long, History.Write> writes = new HashMap<>();
    }

    private final History history;
    private final Report report;
    private final Map<String, Chain> chains = new HashMap<>();

    private Updates(History history, Report report) {
        this.history = history;
        this.report = report;
    }

    static void check(History history, Report report) {
        Updates updates = new Updates(history, report);
        history.writes.forEach(updates::look);
    }

    private void look(History.Write write) {
        Event event = write.event();
        Chain chain = chains.computeIfAbsent(event.lock() + " " + event.text(), name -> new Chain());
        boolean fenced = event.text().equals(Event.FENCED);
        boolean old = write.hold().in.nanos() < chain.beginNanos;
        History.Write same = chain.writes.get(event.number());
        if (!fenced && (same != null || old) && (isExcused(write) || (same != null && isExcused(same)))) {
            report.lostExcused++;
            chain.writes.clear();
            chain.beginNanos = event.nanos();
            chain.writes.put(event.number(), write);
        } else if (same != null) {
            lost(same, write, fenced);
        } else if (!old) {
            // An update that was under way when the value was set back may have come before or after that.
            chain.writes.put(event.number(), write);
        }
    }

    private void lost(History.Write first, History.Write second, boolean fenced) {
        if (fenced) {
            report.lostWithTokens++;
        } else {
            report.lostWithoutTokens++;
        }
        Event event = second.event();
        report.violation(
                event.nanos(),
                "lost update: %s %s %d was read by %s and %s",
                event.lock(),
                event.text(),
                event.number(),
                first.event().actor(),
                event.actor());
    }

    /** Whether its thread stood still past its deadline, or the server forgot the hold. */
    private boolean isExcused(History.Write write) {
        History.Hold hold = write.hold();
        long written = write.event().nanos();
        boolean stoodStill = hold.ending == History.Ending.LOST
                && history.stallNanos(write.event().worker(), hold.believedNanos, written) > 0;
        // From when it was asked for: it may have been taken, and forgotten, before its caller heard of it.
        return stoodStill || history.dataLostBetween(hold.leaseBegunNanos(), written);
    }
}
