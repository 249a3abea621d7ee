package io.github.redislocks.redis;

import org.jspecify.annotations.Nullable;

/** The result of one call: either a reply or a failure. */
public record Outcome(@Nullable Reply reply, @Nullable RedisException failure) {

    public static Outcome of(Reply reply) {
        return new Outcome(reply, null);
    }

    public static Outcome of(RedisException failure) {
        return new Outcome(null, failure);
    }
}
