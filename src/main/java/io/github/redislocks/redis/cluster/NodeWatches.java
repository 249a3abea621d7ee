package io.github.redislocks.redis.cluster;

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
 * Hears from each master of a cluster of changes to the keys that renewals have read there, of which a node tells only
 * a connection of its own. So each master that has held locks has one more subscription, which a thread reads.
 *
 * <p>Nothing opens it but a renewal. When it opens, and when it breaks, the watcher is told that any key may have
 * changed; then all holds are renewed, and that watches them anew or opens the next one. A master that has gone has no
 * renewals any more, and so needs no end of its own.
 */
final class NodeWatches {

    /** The least time between two tries for one node, between two pings, and until one that broke counts as sound. */
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

    /** From now on watches what renewals read, and has all holds renewed once. */
    void begin(Redis.Watcher told) {
        watcher = told;
        told.changed(null);
    }

    /** Has a master watched to which a renewal goes. Does not wait, and never throws. */
    void want(SingleServer server) {
        Redis.Watcher told = watcher;
        if (told == null) {
            return;
        }
        NodeWatch watch = watches.get(server);
        if (watch == null) {
            watches.keySet().retainAll(masters.get());
            watch = watches.computeIfAbsent(server, NodeWatch::new);
        }
        watch.want(told);
    }

    private final class NodeWatch {

        private final SingleServer server;
        private final AtomicBoolean underWay = new AtomicBoolean();
        private volatile long triedNanos = System.nanoTime() - PAUSE_NANOS;
        private final AtomicLong askedNanos = new AtomicLong();
        private volatile Redis.@Nullable Subscription subscription;
        private volatile boolean refused;

        NodeWatch(SingleServer server) {
            this.server = server;
        }

        void want(Redis.Watcher told) {
            long now = System.nanoTime();
            Redis.Subscription open = subscription;
            if (open != null) {
                long asked = askedNanos.get();
                // Two senders may want it at once.
                if (now - asked >= PAUSE_NANOS && askedNanos.compareAndSet(asked, now)) {
                    open.ping(timeoutNanos);
                }
            } else if (now - triedNanos >= PAUSE_NANOS && underWay.compareAndSet(false, true)) {
                triedNanos = now;
                start(told);
            }
        }

        private void start(Redis.Watcher told) {
            try {
                threads.make("watch-" + server.address(), () -> hear(told)).start();
            } catch (RuntimeException | Error noThread) {
                underWay.set(false);
                Loggers.CONNECTION.debug("Nobody hears of changes at {}: {}", server.address(), noThread.getMessage());
            }
        }

        private void hear(Redis.Watcher told) {
            try {
                Redis.Subscription made = server.watch(SingleServer.CHANGES, told, timeoutNanos);
                askedNanos.set(System.nanoTime());
                subscription = made;
                while (true) {
                    made.next();
                }
            } catch (RedisException.Refused e) {
                tell(e);
            } catch (RedisException broken) {
                Loggers.CONNECTION.debug("{} does not tell of changes now: {}", server.address(), broken.getMessage());
            } finally {
                end(told);
            }
        }

        /** One that broke at once is left to the next renewal, so that none of them causes the next. */
        private void end(Redis.Watcher told) {
            boolean wasOpen = subscription != null;
            subscription = null;
            underWay.set(false);
            if (wasOpen && System.nanoTime() - triedNanos >= PAUSE_NANOS) {
                told.changed(null);
            }
        }

        private void tell(RedisException.Refused e) {
            if (!refused && !e.passing()) {
                refused = true;
                Loggers.CONNECTION.warn(
                        "Redis at {} does not tell of deleted locks ({}): their holders learn it by the next renewal.",
                        server.address(),
                        e.getMessage());
            }
        }
    }
}
