package io.github.redislocks.waiting;

import io.github.redislocks.LockInspection;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.concurrent.BackgroundLog;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.PermitScripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.PermitOwner;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.Job;
import io.github.redislocks.watchdog.Task;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The watchdog task that logs calls which have waited for long, with the holder of the lock. One request for each lock
 * asks Redis for the holder. Each call is logged at most once, and each lock at most once in the time after which a
 * wait is slow.
 */
public final class SlowWaits implements Task {

    /** The most questions that are sent together: a renewal that becomes due meanwhile waits for these. */
    public static final int MOST = 256;

    /** When to try again if the request could not be sent. */
    private static final long AGAIN_NANOS = 1_000_000_000;

    private final Clock clock;
    private final Attempts attempts;
    private final long slowNanos;
    /** The most questions of one inspection. */
    private final int most;

    private final BackgroundLog log;
    /** The locks for which calls of this client wait, by their keys. Used by the watchdog's thread only. */
    private final Map<String, Waited> locks = new HashMap<>();

    /** A lock that calls of this client wait for. */
    private static final class Waited {

        /** When the lock was last logged. Calls that were slow by then need not be logged again. */
        private volatile long toldNanos = Long.MIN_VALUE;
        /** The oldest call that is slow and was not logged, in this inspection. */
        @Nullable
        private Attempt oldest;

        /** How many calls are slow and were not logged, in this inspection. */
        private int slow;

        private boolean seen;
    }

    public SlowWaits(Clock clock, Attempts attempts, long slowNanos, int most, BackgroundLog log) {
        this.log = log;
        this.most = most;
        this.clock = clock;
        this.attempts = attempts;
        this.slowNanos = slowNanos;
    }

    @Override
    public long inspect(long now, long horizon, Batch due) {
        long next = Long.MAX_VALUE;
        int asked = 0;
        for (Attempt attempt : attempts.all()) {
            long began = attempt.beganNanos();
            if (attempt.waits && attempt.undecided() && !attempt.isInCondition() && began != Long.MAX_VALUE) {
                next = Math.min(next, look(attempt, began + slowNanos, now));
            }
        }
        for (Iterator<Map.Entry<String, Waited>> all = locks.entrySet().iterator(); all.hasNext(); ) {
            Map.Entry<String, Waited> each = all.next();
            Waited waited = each.getValue();
            Attempt oldest = waited.oldest;
            if (oldest != null) {
                if (asked < most) {
                    due.add(each.getKey(), new Look(waited, oldest, waited.slow));
                    asked++;
                }
                // Look again early, since there may be more locks than were asked about now.
                next = Math.min(next, now + Math.min(slowNanos, AGAIN_NANOS));
            }
            if (!waited.seen) {
                all.remove();
            }
            waited.oldest = null;
            waited.slow = 0;
            waited.seen = false;
        }
        return next;
    }

    /** Notes a call that waits; returns the time of its next inspection. */
    private long look(Attempt attempt, long slowAt, long now) {
        Waited waited = locks.get(attempt.keys.lock());
        if (waited == null) {
            waited = new Waited();
            locks.put(attempt.keys.lock(), waited);
        }
        waited.seen = true;
        long told = waited.toldNanos;
        boolean never = told == Long.MIN_VALUE;
        if (!never && slowAt <= told) {
            return Long.MAX_VALUE;
        }
        long at = never ? slowAt : Math.max(slowAt, told + slowNanos);
        if (at > now) {
            return at;
        }
        waited.slow++;
        Attempt oldest = waited.oldest;
        if (oldest == null || attempt.beganNanos() < oldest.beganNanos()) {
            waited.oldest = attempt;
        }
        return Long.MAX_VALUE;
    }

    /** The request that asks who holds a lock. */
    private final class Look implements Job {

        private final Waited waited;
        private final Attempt oldest;
        private final int slow;

        Look(Waited waited, Attempt oldest, int slow) {
            this.waited = waited;
            this.oldest = oldest;
            this.slow = slow;
        }

        @Override
        public boolean begin() {
            waited.toldNanos = clock.nanoTime();
            return true;
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            // The log says how many threads wait, and names none: so ask for one name only.
            return oldest.owner instanceof PermitOwner
                    ? PermitScripts.show(oldest.keys)
                    : Inspections.inspect(oldest.keys, 1);
        }

        @Override
        public long patienceNanos() {
            return Long.MAX_VALUE;
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            if (oldest.owner instanceof PermitOwner owner) {
                PermitsInspection seen = PermitScripts.inspection(owner.pool(), reply);
                tell(
                        seen.available() + " of " + seen.size() + " are free, and it wants " + owner.count,
                        seen.waiting().size());
            } else {
                LockInspection seen = Inspections.of(oldest.keys.name(), reply);
                tell(has(seen), seen.queueLength());
            }
        }

        private void tell(String what, int places) {
            tell(what + (places == 1 ? "; 1 place is in line" : "; " + places + " places are in line"));
        }

        private static String has(LockInspection seen) {
            if (seen.holder().isPresent()) {
                boolean read = seen.holder().get().owner().isReaders();
                return (read ? "it is read by " : "it is held by ")
                        + seen.holder().get();
            }
            return seen.keptFor().isPresent()
                    ? "it was released, but is unavailable for another "
                            + seen.keptFor().get().toMillis() + " ms"
                    : "it is free at this moment";
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            tell("who holds it is not known (" + failure.getMessage() + ")");
        }

        private void tell(String holder) {
            long waitedMillis = (clock.nanoTime() - oldest.beganNanos()) / 1_000_000;
            log.add(new Entry(oldest, slow, waitedMillis, holder));
        }

        @Override
        public void end() {}
    }

    private record Entry(Attempt oldest, int slow, long waitedMillis, String holder) implements Runnable {
        @Override
        public void run() {
            Loggers.SLOW.warn(
                    "The {} has been waited for by {}{} for {} ms: {}",
                    oldest.keys.shown(),
                    oldest.owner.description(),
                    slow == 1 ? "" : ", the first of " + slow + " calls here,",
                    waitedMillis,
                    holder);
        }
    }
}
