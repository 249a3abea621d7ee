package io.github.redislocks.torture;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The bounds in time. Each is missed if it is exceeded by more than the stall that a control thread saw meanwhile. */
final class Promptness {

    private static final long LEASE = TestLocks.LEASE.toNanos();
    private static final long SLACK = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long TRY = TimeUnit.SECONDS.toNanos(1);
    /** Data lost: told by the next renewal. */
    private static final long TOLD = LEASE / 3 + TimeUnit.MILLISECONDS.toNanos(500);

    /** The rest of a lease after a third, at which it is renewed, and the longest fault that keeps holds. */
    private static final long SPARE = LEASE - LEASE / 3 - TimeUnit.MILLISECONDS.toNanos(1_500);

    /** The rest of a grant that a heartbeat dated, after a third of it, at which it is confirmed. */
    private static final long CLAIM_SPARE = (LEASE - LEASE / 3) * 2 / 3 - SLACK;

    private final History history;
    private final Report report;
    /** Entries of each thread, in order. */
    private final Map<String, List<Long>> entries = new HashMap<>();

    private Promptness(History history, Report report) {
        this.history = history;
        this.report = report;
    }

    static void check(History history, Report report) {
        Promptness promptness = new Promptness(history, report);
        history.holds.forEach(hold -> promptness
                .entries
                .computeIfAbsent(SeveralHammer.thread(hold.in.actor()), any -> new ArrayList<>())
                .add(hold.in.nanos()));
        report.longestStallNanos = history.stallNanos(history.beginNanos, history.endNanos);
        promptness.waits();
        promptness.idle();
        promptness.tries();
        promptness.quiet();
        for (History.Strike strike : history.strikes) {
            promptness.recovery(strike);
            if (strike.fault() == Fault.KILL_WORKER) {
                promptness.nextAfterKill(strike);
            }
            if (strike.fault().losesData) {
                promptness.toldOfDataLoss(strike);
            }
        }
    }

    /** Reports a time that is longer than it may be, even if the machine's stall is taken off. */
    private void bound(long from, long to, long nanos, String what) {
        long stall = history.stallNanos(from, to);
        if (to - from > nanos + stall) {
            report.violation(
                    from,
                    "%s: %.0f ms, the bound is %.0f ms, the machine stalled %.0f ms",
                    what,
                    (to - from) / 1e6,
                    nanos / 1e6,
                    stall / 1e6);
        }
    }

    /** The longest wait for a lock that nobody holds for long, without the time in which a fault was being done. */
    private void waits() {
        for (History.Wait wait : history.waits) {
            if (wait.ending == History.Ending.ACQUIRED && !wait.ask.lock().equals(Hammer.LONG)) {
                long harmed = history.strikes.stream()
                        .mapToLong(strike -> Math.min(strike.endNanos(), wait.endNanos)
                                - Math.max(strike.beginNanos(), wait.ask.nanos()))
                        .filter(nanos -> nanos > 0)
                        .sum();
                report.longestWaitNanos = Math.max(report.longestWaitNanos, wait.endNanos - wait.ask.nanos() - harmed);
            }
        }
    }

    /**
     * How long a free lock was idle. Under a fault that says nothing of it, what counts is the time after its end: a
     * hold that nobody has would show up here.
     */
    private void idle() {
        for (Idle idle : Idle.of(history)) {
            report.longestIdleNanos = Math.max(report.longestIdleNanos, idle.nanos());
            List<History.Strike> near = history.strikes.stream()
                    .filter(strike -> strike.touches(idle.fromNanos() - 2 * LEASE, idle.toNanos()))
                    .toList();
            long from = idle.fromNanos();
            long millis = near.isEmpty() ? Fault.NOTHING.idleMillis : 0;
            if (near.stream().anyMatch(strike -> strike.fault().tellsNobody)) {
                from = Math.max(from, lastGivenUp(idle));
            }
            for (History.Strike strike : near) {
                boolean unbounded = strike.fault().idleMillis == Fault.Bounds.NONE;
                from = unbounded ? Math.max(from, strike.endNanos()) : from;
                millis = Math.max(millis, unbounded ? strike.fault().recoveryMillis : strike.fault().idleMillis);
            }
            String faults = near.stream().map(strike -> strike.fault().name()).collect(Collectors.joining(","));
            String what = idle.lock() + " was free while somebody waited (" + faults + ")";
            if (idle.toNanos() > from) {
                bound(from, idle.toNanos(), millis * 1_000_000, what);
            }
        }
    }

    /** When the last waiter gave up while the lock was idle; 0 if none did. */
    private long lastGivenUp(Idle idle) {
        return history.waits.stream()
                .filter(wait -> wait.ask.lock().equals(idle.lock()) && wait.ask.number() != 0)
                .filter(wait -> wait.ending == History.Ending.REFUSED
                        || wait.ending == History.Ending.FAILED
                        || wait.ending == History.Ending.CANCELLED)
                .mapToLong(wait -> wait.endNanos)
                .filter(nanos -> nanos > idle.fromNanos() && nanos < idle.toNanos())
                .max()
                .orElse(0);
    }

    /** A timed try never ends early with false, and never later than its time and a little. */
    private void tries() {
        for (History.Wait wait : history.waits) {
            if (wait.ending == History.Ending.OPEN) {
                report.violation(wait.ask.nanos(), "%s hangs in %s", wait.ask.actor(), wait.ask);
            }
            if (wait.ending == History.Ending.FAILED && wait.ask.number() < 0) {
                report.violation(wait.endNanos, "%s gave up %s", wait.ask.actor(), wait.ask);
            }
            long took = wait.endNanos - wait.ask.nanos();
            if (wait.ask.number() < 0 || wait.ending == History.Ending.KILLED || wait.ending == History.Ending.OPEN) {
                continue;
            }
            if (wait.ending == History.Ending.REFUSED && took < wait.ask.number()) {
                report.violation(wait.ask.nanos(), "false early, after %d us: %s", took / 1_000, wait.ask);
            }
            // A try without time has the time of one request.
            long late = took - Math.max(TRY, wait.ask.number());
            report.latestTryNanos = Math.max(report.latestTryNanos, late);
            long stall = Math.max(
                    history.stallNanos(wait.ask.worker(), wait.ask.nanos(), wait.endNanos),
                    history.stallNanos(wait.ask.nanos(), wait.endNanos));
            if (late > SLACK + stall) {
                report.violation(wait.ask.nanos(), "a try ended %.0f ms late: %s", late / 1e6, wait.ask);
            }
        }
    }

    /** Where nobody may notice anything, nobody gets an exception. */
    private void quiet() {
        if (history.strikes.stream().allMatch(strike -> strike.fault().isQuiet)
                && (report.losses > 0 || !report.exceptions.isEmpty())) {
            report.violation(
                    history.beginNanos, "%d losses, exceptions %s without a cause", report.losses, report.exceptions);
        }
        if (history.strikes.stream().allMatch(strike -> strike.fault().keepsHolds)) {
            history.holds.stream()
                    .filter(hold -> hold.ending == History.Ending.LOST)
                    .filter(hold -> history.stallNanos(hold.endNanos - LEASE, hold.endNanos) < SPARE)
                    .filter(hold -> !isClaimUnderALongStrike(hold))
                    .forEach(hold ->
                            report.violation(hold.endNanos, "%s was lost although the server kept all holds", hold.in));
        }
    }

    /** A hold that was handed over bears less until it is confirmed. */
    private boolean isClaimUnderALongStrike(History.Hold hold) {
        return hold.endNanos - hold.in.nanos() < LEASE
                && history.strikes.stream()
                        .anyMatch(strike -> strike.touches(hold.in.nanos(), hold.endNanos)
                                && strike.endNanos() - strike.beginNanos() > CLAIM_SPARE);
    }

    /** From the end of a fault until every thread that was there has been served. */
    private void recovery(History.Strike strike) {
        long slowest = 0;
        Set<String> threads = history.actors.stream().map(SeveralHammer::thread).collect(Collectors.toSet());
        for (String actor : threads) {
            String worker = actor.substring(0, actor.indexOf('/'));
            boolean isShort = !actor.endsWith("/t" + Worker.SHORT_THREADS);
            boolean killed = history.strikes.stream()
                    .anyMatch(other -> other.fault() == Fault.KILL_WORKER
                            && other.victim().equals(worker)
                            && other.beginNanos() <= strike.endNanos() + strike.fault().recoveryMillis * 1_000_000L);
            if (!isShort || killed || history.workerBegins.getOrDefault(worker, 0L) > strike.beginNanos()) {
                continue;
            }
            OptionalLong served = entries.getOrDefault(actor, List.of()).stream()
                    .mapToLong(Long::longValue)
                    .filter(nanos -> nanos >= strike.endNanos())
                    .findFirst();
            long until = served.orElse(history.endNanos);
            slowest = Math.max(slowest, until - strike.endNanos());
            bound(
                    strike.endNanos(),
                    until,
                    strike.fault().recoveryMillis * 1_000_000L,
                    actor + (served.isPresent() ? " was served after " : " was never served after ") + strike.fault());
        }
        report.recoveryNanos = Math.max(report.recoveryNanos, slowest);
    }

    /** From the kill of a holder to the next acquisition. */
    private void nextAfterKill(History.Strike strike) {
        for (History.Hold hold : history.holds) {
            if (hold.ending != History.Ending.KILLED || hold.endNanos != strike.endNanos()) {
                continue;
            }
            String lock = hold.in.lock();
            OptionalLong asked = history.waits.stream()
                    .filter(wait -> wait.ask.lock().equals(lock) && wait.ask.number() < 0)
                    .filter(wait -> wait.endNanos > strike.endNanos())
                    .mapToLong(wait -> wait.ask.nanos())
                    .min();
            OptionalLong next = history.holds.stream()
                    .filter(other -> other.in.lock().equals(lock) && other.in.nanos() > strike.endNanos())
                    .mapToLong(other -> other.in.nanos())
                    .min();
            if (asked.isEmpty()) {
                continue;
            }
            long from = Math.max(asked.getAsLong(), strike.endNanos());
            long until = next.orElse(history.endNanos);
            report.killToNextNanos = Math.max(report.killToNextNanos, until - from);
            bound(from, until, LEASE + SLACK, "the next on " + lock + " after the kill of " + hold.in.actor());
        }
    }

    private void toldOfDataLoss(History.Strike strike) {
        boolean lags = strike.fault() == Fault.PROMOTE_LAGGING;
        // A write that a lagging replica does not know came after it began to lag; else it was there before.
        long from = lags ? strike.beginNanos() + Nemesis.LAG_BEGINS_NANOS : 0;
        long to = lags ? strike.endNanos() - Nemesis.LAG_BEGINS_NANOS : strike.beginNanos();
        List<History.Hold> open = history.holds.stream()
                .filter(hold -> hold.isRenewed()
                        // A replica that lags may know the share of a reader that came later.
                        && !(lags && hold.isRead())
                        && hold.first.in.nanos() >= from
                        && hold.first.in.nanos() < to
                        && hold.endNanos > strike.endNanos()
                        && hold.ending != History.Ending.KILLED)
                .toList();
        for (History.Hold hold : open) {
            report.toldNanos = Math.max(report.toldNanos, hold.believedNanos - strike.endNanos());
            if (hold.isExclusive() && Worker.watches(hold.in.worker())) {
                report.watchersToldNanos.add(hold.believedNanos - strike.endNanos());
            }
            bound(strike.endNanos(), hold.believedNanos, TOLD, hold.in.actor() + " learned that its hold vanished");
        }
    }
}
