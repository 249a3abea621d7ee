package io.github.redislocks.redis;

import io.github.redislocks.concurrent.DutyLoop;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.HostAndPort;

/**
 * What the Sentinels of a master say, each asked again and again by a thread of its own, so that one that hangs delays
 * no other. Each failover has a greater epoch than those before it, and the greatest is believed: a Sentinel that was
 * cut off and comes back with old news leads nobody back.
 */
final class Sentinels implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(Sentinels.class);

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long TROUBLED_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LEAST_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** What a Sentinel says: where the master is, and by which failover. */
    record Sighting(HostAndPort address, long epoch) {}

    private final String masterName;
    private final long timeoutNanos;
    private final Consumer<HostAndPort> onMaster;
    private final Workers workers = new Workers("sentinel");
    private final List<Watch> watches;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition news = lock.newCondition();
    private @Nullable Sighting master;
    private volatile boolean troubled;
    private volatile boolean closed;

    /**
     * @param timeoutNanos how long an answer is worth waiting for
     * @param onMaster told of the first master and of each other one, by one thread at a time
     */
    Sentinels(Topology.Sentinel topology, long timeoutNanos, Consumer<HostAndPort> onMaster) {
        this.timeoutNanos = Math.max(LEAST_TIMEOUT_NANOS, timeoutNanos);
        this.masterName = topology.masterName();
        this.onMaster = onMaster;
        this.watches = topology.addresses().stream()
                .map(address -> new Watch(
                        new Endpoint(address.toString(), workers), new Connections(address, topology.config(), 1)))
                .toList();
    }

    void start() {
        watches.forEach(watch -> watch.loop.start());
    }

    /** Whether the master gives no answers: if so, the Sentinels are asked more often. */
    void troubled(boolean now) {
        if (troubled != now) {
            troubled = now;
            if (now) {
                watches.forEach(watch -> watch.loop.wake());
            }
        }
    }

    /** Waits until a master is known or every Sentinel has failed to name one. An interrupt is kept. */
    void awaitMaster(long deadline) {
        lock.lock();
        try {
            while (master == null && !closed && watches.stream().anyMatch(watch -> watch.trouble == null)) {
                if (!Uninterrupted.until(deadline, nanos -> news.awaitNanos(nanos) > 0)) {
                    return;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Why no master is known. */
    String troubles() {
        lock.lock();
        try {
            if (closed) {
                return "The connections to the master " + masterName + " have been closed";
            }
            String each = watches.stream()
                    .map(watch -> watch.trouble == null ? watch.address() + " has not answered yet" : watch.trouble)
                    .collect(Collectors.joining("; "));
            return "No Sentinel names the master " + masterName + ": " + each;
        } finally {
            lock.unlock();
        }
    }

    private void heard(Watch from, Sighting seen) {
        lock.lock();
        try {
            from.last = seen;
            from.trouble = null;
            Sighting known = master;
            if (closed) {
                return;
            }
            if (known == null || overrules(seen, known, lastSeen())) {
                master = seen;
                if (known == null || !known.address().equals(seen.address())) {
                    onMaster.accept(seen.address());
                }
            }
            news.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Epochs begin anew where somebody makes the Sentinels forget the master and know it again: then most decide. */
    static boolean overrules(Sighting seen, Sighting known, List<Optional<HostAndPort>> lastSeen) {
        return seen.epoch() > known.epoch()
                || (!lastSeen.contains(Optional.of(known.address()))
                        && 2 * Collections.frequency(lastSeen, Optional.of(seen.address())) > lastSeen.size());
    }

    private List<Optional<HostAndPort>> lastSeen() {
        return watches.stream()
                .map(watch -> Optional.ofNullable(watch.last).map(Sighting::address))
                .toList();
    }

    private void failed(Watch from, RuntimeException failure) {
        String message = String.valueOf(failure.getMessage());
        String trouble = message.startsWith("ERR No such master")
                ? from.address()
                        + " knows no such master: compare the name with \"sentinel monitor\" in its configuration"
                : message;
        lock.lock();
        try {
            if (from.trouble == null && !closed) {
                log.warn("A Sentinel of the master {} does not help: {}", masterName, trouble);
            }
            from.last = null;
            from.trouble = trouble;
            news.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            news.signalAll();
        } finally {
            lock.unlock();
        }
        for (Watch watch : watches) {
            watch.connection.close();
            watch.loop.close();
        }
        workers.close();
    }

    /** One Sentinel, and the thread that asks it. */
    private final class Watch {

        private final Endpoint endpoint;
        private final Connections connection;
        private final DutyLoop loop;
        /** What it said last; null before that, and while it does not answer. */
        private @Nullable Sighting last;
        /** Why it does not help, or null. */
        private @Nullable String trouble;

        Watch(Endpoint endpoint, Connections connection) {
            this.endpoint = endpoint;
            this.connection = connection;
            this.loop = new DutyLoop("redis-locks-sentinel-" + endpoint.address(), this::ask);
        }

        String address() {
            return "the Sentinel " + endpoint.address();
        }

        private void ask() {
            try {
                heard(this, new SentinelQuestion(endpoint, connection, masterName, timeoutNanos).perform(true));
            } catch (RuntimeException e) {
                failed(this, e);
            }
            if (!closed) {
                LockSupport.parkNanos(this, troubled ? TROUBLED_PAUSE_NANOS : PAUSE_NANOS);
            }
        }
    }
}
