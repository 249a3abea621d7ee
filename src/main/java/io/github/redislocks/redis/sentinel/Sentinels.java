package io.github.redislocks.redis.sentinel;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.TroubleNews;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.Endpoint;
import io.github.redislocks.redis.jedis.IoThreads;
import io.github.redislocks.redis.jedis.Topology;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;

/**
 * What the Sentinels of a master say, each asked again and again by a thread of its own, so that one that hangs delays
 * no other. More than half of them decide, as they do among themselves: one that was cut off and comes back with old
 * news, or that watches over another server by the same name, leads nobody away.
 */
public final class Sentinels implements AutoCloseable {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long TROUBLED_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LEAST_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Which part of a command timeout the first answer waits for the others before there is a first master. */
    private static final int PATIENCE = 4;

    /** For how long a Sentinel may differ before that is told: not while the news of a failover spread. */
    private static final long DISSENT_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** What a Sentinel says: where the master is, and by which failover. */
    public record Sighting(HostAndPort address, long epoch) {}

    private final String masterName;
    private final long timeoutNanos;
    private final long questionNanos;
    private final Consumer<HostAndPort> onMaster;
    private final Threads threads;
    private final IoThreads workers;
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
    public Sentinels(Topology.Sentinel topology, long timeoutNanos, Consumer<HostAndPort> onMaster, Threads threads) {
        this.threads = threads;
        this.workers = new IoThreads(threads, "sentinel");
        this.timeoutNanos = timeoutNanos;
        this.questionNanos = Math.max(LEAST_TIMEOUT_NANOS, timeoutNanos);
        this.masterName = topology.masterName();
        this.onMaster = onMaster;
        this.watches = topology.addresses().stream()
                .map(address -> new Watch(
                        new Endpoint(address.toString(), workers), new ConnectionPool(address, topology.config(), 1)))
                .toList();
    }

    public void start() {
        watches.forEach(watch -> watch.loop.start());
    }

    /** Whether the master gives no answers: if so, the Sentinels are asked more often. */
    public void troubled(boolean now) {
        if (troubled != now) {
            troubled = now;
            if (now) {
                watches.forEach(watch -> watch.loop.wake());
            }
        }
    }

    /** Waits until a master is known or every Sentinel has failed to name one. An interrupt is kept. */
    public void awaitMaster(long deadline) {
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

    /** Why no master is known. Its cause is a refusal if that is all that the Sentinels have to say. */
    public RedisException.Unanswered troubles() {
        lock.lock();
        try {
            if (closed) {
                return new RedisException.Unanswered(
                        "The connections to the master " + masterName + " have been closed", false, null);
            }
            String each = watches.stream()
                    .map(watch -> watch.trouble == null ? watch.address() + " has not answered yet" : watch.trouble)
                    .collect(Collectors.joining("; "));
            return new RedisException.Unanswered(
                    "No Sentinel names the master " + masterName + ": " + each, false, refusal());
        } finally {
            lock.unlock();
        }
    }

    /**
     * The refusal of the first, if every Sentinel has refused to name a master, each for a reason that does not pass.
     */
    private RedisException.@Nullable Refused refusal() {
        RedisException.Refused first = null;
        for (Watch watch : watches) {
            if (!(watch.thrown instanceof RedisException.Refused refused) || refused.passing()) {
                return null;
            }
            first = first == null ? refused : first;
        }
        return first;
    }

    private void heard(Watch from, Sighting seen) {
        lock.lock();
        try {
            from.last = seen;
            from.trouble = null;
            from.thrown = null;
            from.troubleNews.end();
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
    public static @Nullable HostAndPort chosen(
            @Nullable HostAndPort known, List<Optional<Sighting>> said, boolean late) {
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
        String known = message.startsWith("ERR No such master")
                ? from.address()
                        + " knows no such master: compare the name with \"sentinel monitor\" in its configuration"
                : message.startsWith("ERR unknown command")
                        ? from.endpoint.address() + " is no Sentinel: for a single server, write redis://"
                                + from.endpoint.address()
                        : null;
        String trouble = known == null ? message : known;
        lock.lock();
        try {
            long now = System.nanoTime();
            from.last = null;
            from.trouble = trouble;
            from.thrown = known == null ? failure : new RedisException.Refused(known, failure);
            decide(now);
            news.ring();
            if (!closed && from.troubleNews.isToBeTold(now, now)) {
                Loggers.CONNECTION.warn("A Sentinel of the master {} does not help: {}", masterName, trouble);
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
        private final ConnectionPool connection;
        private final DutyLoop loop;
        /** What it said last; null before that, and while it does not answer. */
        private @Nullable Sighting last;
        /** Why it does not help, or null. */
        private @Nullable String trouble;
        /** What it threw then. */
        private @Nullable RuntimeException thrown;

        private final TroubleNews troubleNews = new TroubleNews();
        /** Since when it names another master than most. */
        private boolean dissented;

        private long dissentsSinceNanos;

        private boolean dissentTold;

        Watch(Endpoint endpoint, ConnectionPool connection) {
            this.endpoint = endpoint;
            this.connection = connection;
            this.loop = new DutyLoop(threads, "sentinel-" + endpoint.address(), this::ask);
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
                Loggers.CONNECTION.warn(
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
                heard(this, new SentinelRequest(endpoint, connection, masterName, questionNanos).perform(true));
            } catch (RuntimeException e) {
                failed(this, e);
            }
            if (!closed) {
                LockSupport.parkNanos(this, troubled || master == null ? TROUBLED_PAUSE_NANOS : PAUSE_NANOS);
            }
        }
    }
}
