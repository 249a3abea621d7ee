package io.github.redislocks;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;

/** The votes that one node of a quorum was asked for and has not answered, so that it may still give them. */
final class LateVotes {

    /** Until when, by attempt: what is on its way, and what came to no answer. */
    private final ConcurrentMap<Long, Long> underWay = new ConcurrentHashMap<>();

    private final Cache<Long, Long> unanswered;
    /** The attempts that have ever asked it. */
    private final Cache<Long, Boolean> all;

    /** Memory: how long a vote lasts that nobody renews. */
    LateVotes(long memoryNanos) {
        unanswered = Caffeine.newBuilder()
                .expireAfterWrite(memoryNanos, TimeUnit.NANOSECONDS)
                .build();
        all = Caffeine.newBuilder()
                .expireAfterWrite(memoryNanos, TimeUnit.NANOSECONDS)
                .build();
    }

    /** Notes that a vote is asked for. */
    void asking(long attempt, long quietFromNanos) {
        underWay.merge(attempt, quietFromNanos, Math::max);
        all.put(attempt, Boolean.TRUE);
    }

    /** Notes what became of a vote that was asked for. */
    void asked(long attempt, long quietFromNanos, Outcome outcome) {
        if (outcome.failure() instanceof RedisException.Unanswered failure && failure.sent()) {
            unanswered.asMap().merge(attempt, quietFromNanos, Math::max);
        }
        underWay.remove(attempt, quietFromNanos);
    }

    /** Whether it may ever have given a vote to an attempt that may still last. */
    boolean wasAsked(long attempt) {
        return all.getIfPresent(attempt) != null;
    }

    /** From when on no vote of an attempt can be given that was asked for before; 0 if all were answered. */
    long quietFromNanos(long attempt) {
        long now = System.nanoTime();
        long quiet = 0;
        for (Long known : new Long[] {underWay.get(attempt), unanswered.getIfPresent(attempt)}) {
            if (known != null && known - now > 0 && (quiet == 0 || known - quiet > 0)) {
                quiet = known;
            }
        }
        return quiet;
    }
}
