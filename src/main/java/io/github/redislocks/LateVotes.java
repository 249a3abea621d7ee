package io.github.redislocks;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The votes that one node of a quorum was asked for and has not answered, so that it may still give them. */
final class LateVotes {

    private final ScheduledExecutorService scheduler;
    /** Until when, by attempt. */
    private final ConcurrentMap<Long, Long> quietFrom = new ConcurrentHashMap<>();

    LateVotes(ScheduledExecutorService scheduler) {
        this.scheduler = scheduler;
    }

    /** Notes that a vote is asked for. */
    void asking(long attempt, long quietFromNanos) {
        quietFrom.merge(attempt, quietFromNanos, Math::max);
    }

    /** Notes what became of a vote that was asked for. */
    void asked(long attempt, long quietFromNanos, Outcome outcome) {
        if (!(outcome.failure() instanceof RedisException.Unanswered failure) || !failure.sent()) {
            quietFrom.remove(attempt, quietFromNanos);
            return;
        }
        try {
            long delay = quietFromNanos - System.nanoTime();
            Future<?> unused =
                    scheduler.schedule(() -> quietFrom.remove(attempt, quietFromNanos), delay, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // Closed: nobody will ask.
        }
    }

    /** From when on no vote of an attempt can be given that was asked for before; 0 if all were answered. */
    long quietFromNanos(long attempt) {
        Long quiet = quietFrom.get(attempt);
        return quiet == null || quiet - System.nanoTime() < 0 ? 0 : quiet;
    }
}
