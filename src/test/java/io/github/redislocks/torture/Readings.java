package io.github.redislocks.torture;

import java.util.List;

/**
 * Looks for torn reads: a reader saw two values that no single writer wrote. A writer that stood still past its
 * deadline, was killed, or was forgotten by the server may leave the values torn until the next sound change.
 */
final class Readings {

    private final History history;
    private final Report report;

    private Readings(History history, Report report) {
        this.history = history;
        this.report = report;
    }

    static void check(History history, Report report) {
        Readings readings = new Readings(history, report);
        history.readings.forEach(readings::look);
    }

    private void look(History.Reading reading) {
        Event saw = reading.saw();
        report.reads++;
        if (saw.number() == reading.copy()) {
            return;
        }
        if (isExcused(reading)) {
            report.tornExcused++;
            return;
        }
        report.torn++;
        report.violation(
                saw.nanos(),
                "torn read: %s saw %d and %d of %s",
                saw.actor(),
                saw.number(),
                reading.copy(),
                saw.lock());
    }

    private boolean isExcused(History.Reading reading) {
        long now = reading.saw().nanos();
        String lock = reading.saw().lock();
        if (history.dataLostBetween(reading.fromNanos(), now)) {
            return true;
        }
        List<History.Write> writes = history.writes.stream()
                .filter(write -> write.event().lock().equals(lock)
                        && write.event().text().equals(Event.PLAIN))
                .filter(write -> write.event().nanos() <= now)
                .toList();
        long since = writes.stream()
                .filter(write -> write.hold().ending == History.Ending.FREED && !isForgotten(write))
                .mapToLong(write -> write.hold().in.nanos())
                .max()
                .orElse(history.beginNanos);
        return writes.stream().anyMatch(write -> write.event().nanos() >= since && isForgotten(write))
                || history.holds.stream()
                        .filter(hold -> hold.in.lock().equals(lock) && !hold.isRead())
                        .filter(hold -> hold.ending != History.Ending.FREED)
                        .anyMatch(hold -> hold.in.nanos() <= now && hold.endNanos >= since);
    }

    private boolean isForgotten(History.Write write) {
        return history.dataLostBetween(
                write.hold().leaseBegunNanos(), write.event().nanos());
    }
}
