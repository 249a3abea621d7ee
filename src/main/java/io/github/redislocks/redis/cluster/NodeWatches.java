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
 * only on its own connections, so there is a subscription, with a thread that reads it, for each master with held
 * locks.
 *
 * <p>Only a renewal opens a subscription. When a subscription opens or breaks, the watcher learns that any key may have
 * changed. Then all holds are renewed, so that the node watches their keys again or the next subscription opens. A
 * master that has left the cluster gets no renewals, so its subscription is not opened again.
 */
final class NodeWatches {

    /**
     * The least time between two tries to subscribe at one node, and between two pings. Also the time that a
     * subscription must last to count as sound.
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

    /** Starts to watch the keys that renewals read. All holds are renewed once, so that their keys are read. */
    void start(Redis.Watcher wanted) {
        watcher = wanted;
        wanted.changed(null);
    }

    /**
     * Watches a master to which a renewal goes, without waiting. If the watch cannot start, the renewal goes on all the
     * same.
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
        /** Whether a thread reads the subscription. */
        private final AtomicBoolean reading = new AtomicBoolean();

        private final AtomicLong triedNanos = new AtomicLong(System.nanoTime() - PAUSE_NANOS);
        private final AtomicLong pingedNanos = new AtomicLong();
        private volatile Redis.@Nullable Subscription subscription;
        private volatile boolean refused;

        NodeWatch(SingleServer server) {
            this.server = server;
            this.reader = new IoThreads(threads.factory("watch-" + server.address()));
        }

        /**
         * Pings the open subscription, or starts a thread that opens one. Does each at most once in
         * {@link #PAUSE_NANOS}.
         */
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
         * Called when the thread stops reading. If the subscription lasted for some time, notifies the watcher, so that
         * all holds are renewed and the next subscription opens. If it broke at once, the next subscription waits for
         * the next regular renewal, so that subscriptions and renewals do not cause each other.
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
