package io.github.redislocks.inspection;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockSummary;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.NameGlob;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Attempts;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.Spliterators;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Lists the locks that are held, kept or waited for, by a scan of each server. */
public final class LockList {

    private final Clock clock;
    private final Settings settings;
    private final Redis redis;
    private final UnavailableMessages unavailable;
    private final Attempts attempts;
    private final Function<LockKeys, LockInspection> inspector;

    /**
     * Makes a list of the locks of a client.
     *
     * @param inspector asks for the state of one lock
     */
    public LockList(RedisAccess access, Attempts attempts, Function<LockKeys, LockInspection> inspector) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.redis = access.redis();
        this.unavailable = access.unavailable();
        this.attempts = attempts;
        this.inspector = inspector;
    }

    /** The locks whose names match a glob. The first request is sent when the stream is read. */
    public Stream<LockSummary> list(String pattern) {
        Stream<LockSummary> all = found(pattern, Inspections::list, LockSummary::lockName);
        // In a quorum, inspect each lock by a majority: one master alone does not know who holds it.
        return redis.hasLines() ? all : all.map(one -> ofMany(one.lockName())).filter(LockList::isOfUse);
    }

    /** The pools of permits whose names match a glob. The first request is sent when the stream is read. */
    public Stream<LockKeys> pools(String pattern) {
        return found(pattern, Inspections::pools, LockKeys::name);
    }

    private <T> Stream<T> found(String pattern, Function<Reply, List<T>> reader, Function<T, String> name) {
        String keys = LockKeys.matching(settings.keyPrefix(), pattern);
        NameGlob glob = new NameGlob(pattern);
        Set<String> seen = ConcurrentHashMap.newKeySet();
        Iterator<T> found = new Found<>(keys, redis.servers(), reader);
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(found, 0), false)
                .filter(one -> glob.matches(name.apply(one)) && seen.add(name.apply(one)));
    }

    /**
     * Iterates over the results of all servers. Requests the next part only when the caller has taken all earlier
     * results. This is no flatMap of streams: a flatMap would read a whole server before it passes on the first lock.
     * Only one thread at a time uses the iterator, even if the stream is parallel.
     */
    private final class Found<T> implements Iterator<T> {

        private final String keys;
        private final Iterator<? extends Redis> servers;
        private final Function<Reply, List<T>> reader;
        private Iterator<Reply> parts = Collections.emptyIterator();
        private Iterator<T> part = Collections.emptyIterator();

        Found(String keys, List<? extends Redis> servers, Function<Reply, List<T>> reader) {
            this.keys = keys;
            this.servers = servers.iterator();
            this.reader = reader;
        }

        /** Reads parts, also of the next servers, until there is one more to return; returns false if there is none. */
        @Override
        public boolean hasNext() {
            while (!part.hasNext() && (parts.hasNext() || servers.hasNext())) {
                if (parts.hasNext()) {
                    part = reader.apply(parts.next()).iterator();
                } else {
                    parts = scan(servers.next(), keys);
                }
            }
            return part.hasNext();
        }

        @Override
        public T next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return part.next();
        }
    }

    private LockSummary ofMany(String name) {
        LockInspection seen = inspector.apply(LockKeys.of(settings.keyPrefix(), name));
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
                return Inspections.list(keys, from);
            }

            @Override
            String runId(Reply part) {
                return part.text(1);
            }

            @Override
            LockUnavailableException unavailable(String address, long triedNanos, RedisException cause) {
                return unavailable.notListed(address, triedNanos, cause);
            }
        };
    }
}
