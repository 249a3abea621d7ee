package io.github.redislocks.engine;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockSummary;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Attempts;
import java.util.HashSet;
import java.util.Set;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Lists the locks that are held, kept or waited for, by a scan of each server. */
public final class LockList {

    private final Clock clock;
    private final Settings settings;
    private final Redis redis;
    private final UnavailableMessages unavailable;
    private final Attempts attempts;
    private final LockQueries queries;

    public LockList(
            Clock clock,
            Settings settings,
            Redis redis,
            UnavailableMessages unavailable,
            Attempts attempts,
            LockQueries queries) {
        this.clock = clock;
        this.settings = settings;
        this.redis = redis;
        this.unavailable = unavailable;
        this.attempts = attempts;
        this.queries = queries;
    }

    /** The locks whose names match a glob; sends nothing before the stream is read. */
    public Stream<LockSummary> list(String pattern) {
        String keys = LockKeys.matching(settings.keyPrefix(), pattern);
        Set<String> seen = new HashSet<>();
        Stream<LockSummary> found = redis.servers().stream()
                .flatMap(server ->
                        StreamSupport.stream(Spliterators.spliteratorUnknownSize(scan(server, keys), 0), false))
                .flatMap(part -> Inspections.list(part).stream())
                .filter(summary -> seen.add(summary.lockName()));
        // Only most masters of a quorum together know who holds a lock.
        return redis.hasLines()
                ? found
                : found.map(one -> ofMany(one.lockName())).filter(LockList::isOfUse);
    }

    private LockSummary ofMany(String name) {
        LockInspection seen = queries.inspect(LockKeys.of(settings.keyPrefix(), name));
        int waiting = seen.conditions().stream()
                .mapToInt(condition -> condition.waiters().size())
                .sum();
        return LockSummary.of(name, seen.holder(), seen.keptFor(), seen.queueLength(), waiting);
    }

    private static boolean isOfUse(LockSummary summary) {
        return summary.holder().isPresent() || summary.queueLength() > 0 || summary.conditionLength() > 0;
    }

    private ServerScan scan(Redis server, String keys) {
        return new ServerScan(clock, settings.commandTimeoutNanos(), server, attempts) {
            @Override
            Call call(String from) {
                return Scripts.list(keys, from);
            }

            @Override
            LockUnavailableException unavailable(String address, long triedNanos, RedisException cause) {
                return unavailable.notListed(address, triedNanos, cause);
            }
        };
    }
}
