package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Since when Redis has not answered this client, or has refused what it asked for. Failures that lie far apart are not
 * one outage.
 */
final class Outage {

    /** The scripts that give locks and places. */
    private static final Set<String> GIVING = Set.of("take", "acquire", "heartbeat", "rejoin");

    /** The scripts that keep them. */
    private static final Set<String> KEEPING = Set.of("renew", "renew_all");

    private final long memoryNanos;
    private volatile long sinceNanos;
    private volatile long lastFailureNanos;
    private volatile long lastUnansweredNanos;
    private volatile @Nullable Failure last;

    private record Failure(String script, RedisException cause) {

        /** Whether Redis said no, or the first of a quorum's masters did. */
        boolean isRefusal() {
            return cause instanceof RedisException.Refused || cause.getCause() instanceof RedisException.Refused;
        }
    }

    Outage(long memoryNanos) {
        this.memoryNanos = memoryNanos;
    }

    void answered() {
        if (sinceNanos != 0) {
            sinceNanos = 0;
        }
    }

    /** Notes an answer. That a full server renews locks does not mean that it would give one. */
    void answered(Call call) {
        Failure failure = last;
        if (sinceNanos == 0) {
            return;
        }
        if (failure == null
                || !failure.isRefusal()
                || isAlike(failure.script, call.script().name())) {
            answered();
        }
    }

    private static boolean isAlike(String one, String other) {
        return one.equals(other) || Stream.of(GIVING, KEEPING).anyMatch(set -> set.containsAll(Set.of(one, other)));
    }

    /** Notes a failure of a call that was sent at a time. */
    void failed(Call call, RedisException cause, long sentNanos, long now) {
        last = new Failure(call.script().name(), cause);
        failed(sentNanos, now);
    }

    /** What failed last, or null if nothing has. */
    @Nullable
    RedisException cause() {
        Failure failure = last;
        return failure == null ? null : failure.cause;
    }

    /** Notes a failure of a request that was sent at a time. */
    void failed(long sentNanos, long now) {
        if (sinceNanos == 0 || now - lastFailureNanos > memoryNanos) {
            sinceNanos = sentNanos;
        }
        lastFailureNanos = now;
        lastUnansweredNanos = sentNanos;
    }

    /** Whether a request that was sent since a time has failed: what failed before says nothing to who came later. */
    boolean met(long sinceNanos) {
        return lastUnansweredNanos > sinceNanos;
    }

    /** How long the outage has lasted; 0 if there is none. */
    long age(long now) {
        long since = sinceNanos;
        return since == 0 || now - lastFailureNanos > memoryNanos ? 0 : Math.max(1, now - since);
    }
}
