package io.github.redislocks.inspection;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Attempts;
import java.util.Iterator;
import java.util.stream.LongStream;

/** Counts the lock names whose last token Redis remembers, by a scan of each server. */
public final class TokenCount {

    private final Clock clock;
    private final Settings settings;
    private final Redis redis;
    private final UnavailableMessages unavailable;
    private final Attempts attempts;

    public TokenCount(RedisAccess access, Attempts attempts) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.redis = access.redis();
        this.unavailable = access.unavailable();
        this.attempts = attempts;
    }

    public long count() {
        LongStream counts = redis.servers().stream().mapToLong(this::countAt);
        // Each master of a quorum knows all names; each master of a cluster knows those of its slots.
        return redis.hasLines() ? counts.sum() : counts.max().orElse(0);
    }

    private long countAt(Redis server) {
        long count = 0;
        for (Iterator<Reply> parts = scan(server); parts.hasNext(); ) {
            count += parts.next().number(1);
        }
        return count;
    }

    private ServerScan scan(Redis server) {
        return new ServerScan(clock, settings.commandTimeoutNanos(), server, attempts) {
            @Override
            Call call(String from) {
                return Inspections.countTokens(settings.keyPrefix(), from);
            }

            @Override
            LockUnavailableException unavailable(String address, long triedNanos, RedisException cause) {
                return unavailable.notCounted(address, triedNanos, cause);
            }
        };
    }
}
