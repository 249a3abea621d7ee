package io.github.redislocks.engine;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockSummary;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Attempts;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Lists the locks that are held, kept or waited for. It scans all keys of each server, a hundred with each request, so
 * that no other call waits long.
 */
public final class LockList {

    private static final String BEGIN_AND_END = "0";

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
                        StreamSupport.stream(Spliterators.spliteratorUnknownSize(new Scan(server, keys), 0), false))
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

    /** A scan of one server. */
    private final class Scan implements Iterator<LockSummary> {

        private final Redis server;
        private final String keys;
        private Iterator<LockSummary> page = List.<LockSummary>of().iterator();
        private String cursor = BEGIN_AND_END;
        private boolean begun;

        Scan(Redis server, String keys) {
            this.server = server;
            this.keys = keys;
        }

        @Override
        public boolean hasNext() {
            while (!page.hasNext() && !(begun && cursor.equals(BEGIN_AND_END))) {
                begun = true;
                Reply listed = ask();
                cursor = listed.text(0);
                page = Inspections.list(listed).iterator();
            }
            return page.hasNext();
        }

        @Override
        public LockSummary next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return page.next();
        }

        private Reply ask() {
            attempts.checkOpen();
            long sent = clock.nanoTime();
            try {
                return server.run(Scripts.list(keys, cursor), settings.commandTimeoutNanos());
            } catch (RedisException e) {
                throw unavailable.notListed(server.address(), clock.nanoTime() - sent, e);
            }
        }
    }
}
