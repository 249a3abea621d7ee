package io.github.redislocks.redis.cluster;

import io.github.redislocks.concurrent.IoThreads;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.SingleServer;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Watches the masters of a cluster for changes to the keys that renewals have read there. A node reports such changes
 * only on one of its own connections, so each master with held locks has one more subscription, which a thread reads.
 *
 * <p>Only a renewal opens the subscription. When it opens, and when it breaks, the watcher learns that any key may have
 * changed. Then all holds are renewed, which makes the node watch their keys again, or opens the next subscription. A
 * master that has left the cluster gets no renewals, so its watch ends by itself.
 */
final class NodeWatches {

    /**
     * The least time between two tries for one node, and between two pings; and how long a subscription must last to
     * count as sound.
     */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Supplier<List<SingleServer>> masters;
    private final Threads threads;
    private final long timeoutNanos;
    private final ConcurrentMap<SingleServer, NodeWatch> watches = new ConcurrentHashMap<>();
    private volatile Redis.@Nullable Watcher watcher;

    NodeWatches(Supplier<List<SingleServer>> masters, Threads threads, long timeoutNanos) {
        this.masters = masters;
        this.threads = threads;
        this.timeoutNanos = timeoutNanos;
    }

    /** Starts to watch the keys that renewals read. All holds are renewed once for this. */
    void start(Redis.Watcher wanted) {
        watcher = wanted;
        wanted.changed(null);
    }

    /**
     * Watches a master to which a renewal goes. Does not wait. If the watch cannot start, the renewal does not fail.
     */
    void want(SingleServer server) {
        Redis.Watcher wanted = watcher;
        if (wanted == null) {
            return;
        }
        NodeWatch watch = watches.get(server);
        if (watch == null) {
            watches.keySet().retainAll(masters.get());
            watch = watches.computeIfAbsent(server, NodeWatch::new);
        }
        watch.want(wanted);
    }

    private final class NodeWatch {

        private final SingleServer server;
        private final IoThreads reader;
        /** Whether a thread reads. Set and cleared by that thread. */
        private final AtomicBoolean reading = new AtomicBoolean();

        private final AtomicLong triedNanos = new AtomicLong(System.nanoTime() - PAUSE_NANOS);
        private final AtomicLong pingedNanos = new AtomicLong();
        private volatile Redis.@Nullable Subscription subscription;
        private volatile boolean refused;

        NodeWatch(SingleServer server) {
            this.server = server;
            this.reader = new IoThreads(threads.factory("watch-" + server.address()));
        }

        /** Pings an open subscription, or starts a thread that opens one; each at most once in {@link #PAUSE_NANOS}. */
        void want(Redis.Watcher watcher) {
            long now = System.nanoTime();
            Redis.Subscription open = subscription;
            if (open != null && isFirst(pingedNanos, now)) {
                open.ping(timeoutNanos);
            } else if (open == null && !reading.get() && isFirst(triedNanos, now)) {
                try {
                    reader.execute(() -> read(watcher));
                } catch (RuntimeException noThread) {
                    Loggers.CONNECTION.debug("No thread watches {}: {}", server.address(), noThread.getMessage());
                }
            }
        }

        private boolean isFirst(AtomicLong last, long now) {
            long before = last.get();
            return now - before >= PAUSE_NANOS && last.compareAndSet(before, now);
        }

        private void read(Redis.Watcher watcher) {
            if (!reading.compareAndSet(false, true)) {
                return;
            }
            try {
                Redis.Subscription made = server.watch(SingleServer.CHANGES, watcher, timeoutNanos);
                pingedNanos.set(System.nanoTime());
                subscription = made;
                while (true) {
                    made.next();
                }
            } catch (RedisException.Refused e) {
                warn(e);
            } catch (RedisException broken) {
                Loggers.CONNECTION.debug("{} reports no changes now: {}", server.address(), broken.getMessage());
            } finally {
                stopped(watcher);
            }
        }

        /**
         * Ends the reading. If the subscription broke at once, only the next renewal opens another, so that
         * subscriptions and renewals do not cause each other.
         */
        private void stopped(Redis.Watcher watcher) {
            boolean wasOpen = subscription != null;
            subscription = null;
            reading.set(false);
            if (wasOpen && System.nanoTime() - triedNanos.get() >= PAUSE_NANOS) {
                watcher.changed(null);
            }
        }

        private void warn(RedisException.Refused e) {
            if (!refused && !e.passing()) {
                refused = true;
                Loggers.CONNECTION.warn(
                        "Redis at {} does not report deleted locks ({}): their holders learn it by the next renewal.",
                        server.address(),
                        e.getMessage());
            }
        }
    }
}
