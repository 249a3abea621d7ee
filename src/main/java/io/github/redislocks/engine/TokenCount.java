package io.github.redislocks.engine;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Attempts;
import java.util.stream.LongStream;

/**
 * Counts the lock names whose last token Redis remembers. It scans all keys of each server, a part with each request,
 * so that no other call waits long.
 */
public final class TokenCount {

    private static final String BEGIN_AND_END = "0";

    private final Clock clock;
    private final Settings settings;
    private final Redis redis;
    private final UnavailableMessages unavailable;
    private final Attempts attempts;

    public TokenCount(Clock clock, Settings settings, Redis redis, UnavailableMessages unavailable, Attempts attempts) {
        this.clock = clock;
        this.settings = settings;
        this.redis = redis;
        this.unavailable = unavailable;
        this.attempts = attempts;
    }

    public long count() {
        LongStream counts = redis.servers().stream().mapToLong(this::countAt);
        // Each master of a quorum knows all names; each master of a cluster knows those of its slots.
        return redis.hasLines() ? counts.sum() : counts.max().orElse(0);
    }

    private long countAt(Redis server) {
        long count = 0;
        String cursor = BEGIN_AND_END;
        do {
            Reply counted = ask(server, cursor);
            cursor = counted.text(0);
            count += counted.number(1);
        } while (!cursor.equals(BEGIN_AND_END));
        return count;
    }

    private Reply ask(Redis server, String cursor) {
        attempts.checkOpen();
        long sent = clock.nanoTime();
        try {
            return server.run(Scripts.countTokens(settings.keyPrefix(), cursor), settings.commandTimeoutNanos());
        } catch (RedisException e) {
            throw unavailable.notCounted(server.address(), clock.nanoTime() - sent, e);
        }
    }
}
