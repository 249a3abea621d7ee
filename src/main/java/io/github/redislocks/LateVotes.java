package io.github.redislocks;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;

/**
 * What one node of a quorum may still do for attempts: votes that it was asked for, and has not answered or withdrawn.
 */
final class LateVotes {

    /** From when on each of those under way cannot be given any more, by attempt: several may be. */
    private final ConcurrentMap<Long, List<Long>> underWay = new ConcurrentHashMap<>();
    /** The same for the last one that came to no answer. */
    private final Cache<Long, Long> unanswered;
    /** The attempts for which a vote has been sent. */
    private final Cache<Long, Boolean> sent;

    /** Memory: how long a vote lasts that nobody renews. */
    LateVotes(long memoryNanos) {
        unanswered = Caffeine.newBuilder()
                .expireAfterWrite(memoryNanos, TimeUnit.NANOSECONDS)
                .build();
        sent = Caffeine.newBuilder()
                .expireAfterWrite(memoryNanos, TimeUnit.NANOSECONDS)
                .build();
    }

    /** Notes that a vote is asked for: it is on its way to the node, or waits to be. */
    void asking(long attempt, long quietFromNanos) {
        underWay.merge(attempt, List.of(quietFromNanos), LateVotes::joined);
    }

    private static List<Long> joined(List<Long> some, List<Long> more) {
        List<Long> all = new ArrayList<>(some);
        all.addAll(more);
        return all;
    }

    /** Notes that a vote is now sent. */
    void sending(long attempt) {
        sent.put(attempt, Boolean.TRUE);
    }

    /** Notes what became of a vote that was asked for. */
    void asked(long attempt, long quietFromNanos, Outcome outcome) {
        if (outcome.failure() instanceof RedisException.Unanswered failure && failure.sent()) {
            unanswered.asMap().merge(attempt, quietFromNanos, Math::max);
        }
        underWay.computeIfPresent(attempt, (number, all) -> {
            List<Long> left = new ArrayList<>(all);
            left.remove((Long) quietFromNanos);
            return left.isEmpty() ? null : left;
        });
    }

    /** Whether it may have given a vote to an attempt that lasts still. */
    boolean wasSent(long attempt) {
        return sent.getIfPresent(attempt) != null;
    }

    /** From when on no vote of an attempt can be given that was asked for before; 0 if all were answered. */
    long quietFromNanos(long attempt) {
        List<Long> known = new ArrayList<>(underWay.getOrDefault(attempt, List.of()));
        Long late = unanswered.getIfPresent(attempt);
        if (late != null) {
            known.add(late);
        }
        long now = System.nanoTime();
        return known.stream()
                .filter(quiet -> quiet - now > 0)
                .max(Long::compare)
                .orElse(0L);
    }
}
