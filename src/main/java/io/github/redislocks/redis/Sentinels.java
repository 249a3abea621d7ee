package io.github.redislocks.redis;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.DutyLoop;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
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
 * no other. More than half of them decide, as they do among themselves: one that was cut off and comes back with old
 * news, or that watches over another server by the same name, leads nobody away.
 */
final class Sentinels implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(Sentinels.class);

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long TROUBLED_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LEAST_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Which part of a command timeout the first answer waits for the others before there is a first master. */
    private static final int PATIENCE = 4;

    /** For how long a Sentinel may differ before that is told: not while the news of a failover spread. */
    private static final long DISSENT_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** What a Sentinel says: where the master is, and by which failover. */
    record Sighting(HostAndPort address, long epoch) {}

    private final String masterName;
    private final long timeoutNanos;
    private final long questionNanos;
    private final Consumer<HostAndPort> onMaster;
    private final Workers workers = new Workers("sentinel");
    private final List<Watch> watches;

    private final ReentrantLock lock = new ReentrantLock();
    private final Bell news = new Bell();
    private volatile @Nullable HostAndPort master;
    /** When it is late to wait for the other Sentinels before there is a first master; 0 until one has answered. */
    private long decideAtNanos;

    private volatile boolean troubled;
    private volatile boolean closed;

    /**
     * @param timeoutNanos how long an answer is worth waiting for
     * @param onMaster told of the first master and of each other one, by one thread at a time; again, if it throws
     */
    Sentinels(Topology.Sentinel topology, long timeoutNanos, Consumer<HostAndPort> onMaster) {
        this.timeoutNanos = timeoutNanos;
        this.questionNanos = Math.max(LEAST_TIMEOUT_NANOS, timeoutNanos);
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
        news.await(deadline, this::isDecided);
    }

    private boolean isDecided() {
        lock.lock();
        try {
            return master != null || closed || watches.stream().allMatch(watch -> watch.trouble != null);
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
            long now = System.nanoTime();
            if (decideAtNanos == 0) {
                decideAtNanos = now + timeoutNanos / PATIENCE;
            }
            decide(now);
            news.ring();
            if (from.noteDissent(master != null && !master.equals(seen.address()), now)) {
                // The others may know more by now.
                watches.forEach(watch -> watch.loop.wake());
            }
        } finally {
            lock.unlock();
        }
    }

    private void decide(long now) {
        boolean late = (decideAtNanos != 0 && now - decideAtNanos >= 0)
                || watches.stream().allMatch(watch -> watch.last != null || watch.trouble != null);
        List<Optional<Sighting>> said =
                watches.stream().map(watch -> Optional.ofNullable(watch.last)).toList();
        HostAndPort chosen = chosen(master, said, late);
        if (chosen != null && !chosen.equals(master) && !closed) {
            // First: if that goes wrong, the next answer has it done.
            onMaster.accept(chosen);
            master = chosen;
        }
    }

    /**
     * The master that more than half of all Sentinels name. If there is none, it is the one that is known; before one
     * is known, and late, the one that most name, or the one of the later failover.
     *
     * @param said what each Sentinel says, if it does
     */
    static @Nullable HostAndPort chosen(@Nullable HostAndPort known, List<Optional<Sighting>> said, boolean late) {
        List<Sighting> all = said.stream().flatMap(Optional::stream).toList();
        Sighting first = all.stream()
                .max(Comparator.comparingLong((Sighting seen) -> votes(seen, all))
                        .thenComparing(Sighting::epoch))
                .orElse(null);
        if (first == null) {
            return known;
        }
        boolean enough = 2 * votes(first, all) > said.size() || (known == null && late);
        return enough ? first.address() : known;
    }

    private static long votes(Sighting seen, List<Sighting> all) {
        return all.stream()
                .filter(other -> other.address().equals(seen.address()))
                .count();
    }

    private void failed(Watch from, RuntimeException failure) {
        String message = String.valueOf(failure.getMessage());
        String trouble = message.startsWith("ERR No such master")
                ? from.address()
                        + " knows no such master: compare the name with \"sentinel monitor\" in its configuration"
                : message;
        lock.lock();
        try {
            boolean first = from.trouble == null && !closed;
            from.last = null;
            from.trouble = trouble;
            decide(System.nanoTime());
            news.ring();
            if (first) {
                log.warn("A Sentinel of the master {} does not help: {}", masterName, trouble);
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            news.ring();
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
        /** Since when it names another master than most. */
        private boolean dissented;

        private long dissentsSinceNanos;

        private boolean dissentTold;

        Watch(Endpoint endpoint, Connections connection) {
            this.endpoint = endpoint;
            this.connection = connection;
            this.loop = new DutyLoop("redis-locks-sentinel-" + endpoint.address(), this::ask);
        }

        String address() {
            return "the Sentinel " + endpoint.address();
        }

        /** Notes whether it names another master than most, and tells of it in time; true if that is new. */
        private boolean noteDissent(boolean dissents, long now) {
            Sighting seen = last;
            boolean first = dissents && !dissented;
            dissented = dissents;
            if (first) {
                dissentsSinceNanos = now;
                dissentTold = false;
            } else if (dissents && !dissentTold && seen != null && now - dissentsSinceNanos > DISSENT_NANOS) {
                dissentTold = true;
                log.warn(
                        "The master {} is at {}, and {} says that it is at {}: this client stays unless more than half of"
                                + " the {} Sentinels that it was told of say so. Check that Sentinel.",
                        masterName,
                        master,
                        address(),
                        seen.address(),
                        watches.size());
            }
            return first;
        }

        private void ask() {
            try {
                heard(this, new SentinelQuestion(endpoint, connection, masterName, questionNanos).perform(true));
            } catch (RuntimeException e) {
                failed(this, e);
            }
            if (!closed) {
                LockSupport.parkNanos(this, troubled || master == null ? TROUBLED_PAUSE_NANOS : PAUSE_NANOS);
            }
        }
    }
}
