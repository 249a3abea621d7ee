package io.github.redislocks.redis;

import org.jspecify.annotations.Nullable;

/** What became of one call of a batch: a reply, or the failure in its place. Exactly one of the two is there. */
public record Outcome(@Nullable Reply reply, @Nullable RedisException failure) {

    public static Outcome of(Reply reply) {
        return new Outcome(reply, null);
    }

    public static Outcome of(RedisException failure) {
        return new Outcome(null, failure);
    }
}
