package io.github.redislocks.torture;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A time in which a lock was free although a thread that was not itself harmed waited for it. */
record Idle(String lock, long fromNanos, long toNanos) {

    long nanos() {
        return toNanos - fromNanos;
    }

    /** All of them, by a walk over the beginnings and ends of holds, waits and pauses. */
    static List<Idle> of(History history) {
        Map<String, Walk> walks = new HashMap<>();
        List<Step> steps = new ArrayList<>();
        for (History.Hold hold : history.holds) {
            Walk walk = walks.computeIfAbsent(hold.in.lock(), Walk::new);
            steps.add(new Step(hold.in.nanos(), 1, () -> walk.hold(hold.in.nanos(), 1)));
            if (hold.endNanos != Long.MAX_VALUE) {
                long end = hold.takenUntilNanos();
                steps.add(new Step(end, 0, () -> walk.hold(end, -1)));
            }
        }
        for (History.Wait wait : history.waits) {
            if (wait.ask.number() == 0) {
                continue;
            }
            Walk walk = walks.computeIfAbsent(wait.ask.lock(), Walk::new);
            String actor = wait.ask.actor();
            if (wait.ask.text().equals(SeveralHammer.WAY)) {
                // The thread may have this lock already, and wait for another.
                steps.add(new Step(wait.ask.nanos(), 1, () -> walk.hold(wait.ask.nanos(), 1)));
                if (wait.endNanos != Long.MAX_VALUE) {
                    steps.add(new Step(wait.endNanos, 2, () -> walk.hold(wait.endNanos, -1)));
                }
                continue;
            }
            steps.add(new Step(wait.ask.nanos(), 1, () -> walk.wait(wait.ask.nanos(), actor)));
            if (wait.endNanos != Long.MAX_VALUE) {
                // After the entry, which ends the idle time, if there is one.
                steps.add(new Step(wait.endNanos, 2, () -> walk.waitEnds(wait.endNanos, actor)));
            }
        }
        for (History.Strike strike : history.strikes) {
            if (strike.fault() == Fault.PAUSE_WORKER) {
                steps.add(new Step(
                        strike.beginNanos(),
                        0,
                        () -> walks.values().forEach(walk -> walk.absent(strike.beginNanos(), strike.victim(), true))));
                steps.add(new Step(
                        strike.endNanos(),
                        2,
                        () -> walks.values().forEach(walk -> walk.absent(strike.endNanos(), strike.victim(), false))));
            }
        }
        steps.sort(Comparator.comparingLong(Step::nanos).thenComparingInt(Step::order));
        steps.forEach(step -> step.action().run());
        List<Idle> all = new ArrayList<>();
        walks.values().forEach(walk -> walk.finish(history.endNanos, all));
        return all;
    }

    private record Step(long nanos, int order, Runnable action) {}

    private static final class Walk {
        private final String lock;
        private final List<Idle> found = new ArrayList<>();
        private final Set<String> waiting = new HashSet<>();
        private final Set<String> absent = new HashSet<>();
        private int holders;
        private long since = Long.MAX_VALUE;

        Walk(String lock) {
            this.lock = lock;
        }

        void hold(long nanos, int by) {
            holders += by;
            update(nanos);
        }

        void wait(long nanos, String actor) {
            waiting.add(actor);
            update(nanos);
        }

        void waitEnds(long nanos, String actor) {
            waiting.remove(actor);
            update(nanos);
        }

        void absent(long nanos, String worker, boolean begins) {
            if (begins) {
                absent.add(worker);
            } else {
                absent.remove(worker);
            }
            update(nanos);
        }

        private void update(long nanos) {
            boolean idle = holders == 0
                    && waiting.stream().anyMatch(actor -> !absent.contains(actor.substring(0, actor.indexOf('/'))));
            if (idle && since == Long.MAX_VALUE) {
                since = nanos;
            } else if (!idle && since != Long.MAX_VALUE) {
                found.add(new Idle(lock, since, nanos));
                since = Long.MAX_VALUE;
            }
        }

        void finish(long nanos, List<Idle> all) {
            if (since != Long.MAX_VALUE) {
                found.add(new Idle(lock, since, nanos));
            }
            all.addAll(found);
        }
    }
}
