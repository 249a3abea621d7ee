package io.github.redislocks.lease;

import io.github.redislocks.concurrent.BackgroundLog;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.Task;
import java.util.IdentityHashMap;
import java.util.Iterator;

/** The watchdog task that logs holds which last for long, each once, while it lasts. Asks no server. */
public final class SlowHolds implements Task {

    /** Between two inspections lies at least the slow time divided by this number. */
    private static final long PARTS = 8;

    private final Holds holds;
    private final long slowNanos;
    private final BackgroundLog log;
    /** The holds that were logged and still last. Used, as the next field, by the watchdog's thread only. */
    private final IdentityHashMap<Held, Boolean> told = new IdentityHashMap<>();

    private long nextNanos = Long.MIN_VALUE;

    public SlowHolds(Holds holds, long slowNanos, BackgroundLog log) {
        this.holds = holds;
        this.log = log;
        this.slowNanos = slowNanos;
    }

    @Override
    public long inspect(long now, long horizon, Batch due) {
        if (now < nextNanos) {
            return nextNanos;
        }
        for (Iterator<Held> all = told.keySet().iterator(); all.hasNext(); ) {
            if (!all.next().isOpen()) {
                all.remove();
            }
        }
        // A hold that is acquired after this inspection is not slow before this time.
        long next = now + slowNanos;
        for (Hold inRedis : holds.all()) {
            Held hold = inRedis.use();
            if (hold == null || !hold.isOpen() || told.containsKey(hold)) {
                continue;
            }
            long slowAt = hold.acquiredNanos + slowNanos;
            if (slowAt > now) {
                next = Math.min(next, slowAt);
            } else {
                tell(hold, now);
            }
        }
        nextNanos = Math.max(next, now + slowNanos / PARTS);
        return nextNanos;
    }

    /** Logs a hold. If this method throws an error, the next inspection logs the hold. */
    private void tell(Held hold, long now) {
        boolean noted = false;
        told.put(hold, true);
        try {
            log.add(new Entry(hold, now));
            noted = true;
        } finally {
            if (!noted) {
                told.remove(hold);
            }
        }
    }

    private record Entry(Held hold, long nowNanos) implements Runnable {
        @Override
        public void run() {
            Loggers.SLOW.warn(
                    "The {} (token {}) has been held for {} ms by {} ({})",
                    hold.keys().shown(),
                    hold.token,
                    (nowNanos - hold.acquiredNanos) / 1_000_000,
                    hold.owner.description(),
                    hold.owner.id);
        }
    }
}
