package io.github.redislocks.health;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.redis.Acks;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.DatedCalls;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Settings;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Runs scripts. Notes for each server whether it answers, and whether enough of its replicas confirm writes. */
public final class MonitoredRedis {

    /** Stands for the address of the server of a key that has no server. */
    private static final String NOBODY = "";

    private final Settings settings;
    private final Clock clock;
    private final Redis redis;
    private final DatedCalls calls;
    private final EventNotifier events;
    private final ConcurrentMap<String, Availability> servers = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, Outage> replications = new ConcurrentHashMap<>();
    private final OutageReporter outages;
    /** How many failed requests were sent again. An AtomicLong, since a LongAdder allocates memory. */
    private final AtomicLong retries = new AtomicLong();

    /** A key that has, or recently had, no master; null if there is none. */
    private final AtomicReference<@Nullable String> orphan = new AtomicReference<>();

    private volatile boolean silent = true;
    private volatile boolean hasOneSlot;

    public MonitoredRedis(Settings settings, Clock clock, Redis redis, EventNotifier events) {
        this.events = events;
        this.settings = settings;
        this.clock = clock;
        this.redis = redis;
        this.hasOneSlot = redis.hasOneSlot();
        this.calls = new DatedCalls(clock, this::send);
        this.outages = new OutageReporter("Redis", redis::address, () -> silent, events);
    }

    /** Runs a script, and notes whether Redis replies to each of its requests. Sends no request if no time is left. */
    public Reply run(Call call, long timeoutNanos) {
        return calls.run(call, timeoutNanos);
    }

    private Reply send(Call call, long timeoutNanos) {
        if (timeoutNanos <= 0) {
            throw new RedisException.Unanswered(
                    "There was no time left for " + call.script().name(), false, null);
        }
        long sent = clock.nanoTime();
        String key = call.keys().get(0);
        try {
            Reply reply = redis.run(call, timeoutNanos);
            of(key).answered(call, reply, clock.nanoTime());
            boolean written = reply.is("OK") || reply.is("KEPT");
            if (call.acks() != null && written && !isAcknowledged(key, reply, sent)) {
                throw new RedisException.Unacknowledged(tooFew(reply));
            }
            return reply;
        } catch (RedisException.Refused e) {
            if (e.passing()) {
                of(key).failed(call, e, sent, timeoutNanos, clock.nanoTime());
            }
            throw e;
        } catch (RedisException.Unready e) {
            of(key).answered(call, clock.nanoTime());
            throw e;
        } catch (RedisException.Unanswered e) {
            of(key).failed(call, e, sent, timeoutNanos, clock.nanoTime());
            throw e;
        }
    }

    /** Notes that a call sends a failed request again. */
    public void retried() {
        retries.incrementAndGet();
    }

    /** How many failed requests were sent again. */
    public long retries() {
        return retries.get();
    }

    /** Whether all waiters of a lock are in one queue: {@link Redis#hasLines}. */
    public boolean hasLines() {
        return redis.hasLines();
    }

    /** The availability of the server of a key. */
    public Availability of(String key) {
        String server = redis.serverOf(key);
        if (server.equals(NOBODY)) {
            orphan.set(key);
        } else if (orphan.get() != null) {
            adopt();
        }
        // Try get() first: it needs neither a lambda nor a lock.
        Availability known = servers.get(server);
        return known != null ? known : servers.computeIfAbsent(server, this::unknown);
    }

    /** If the key in {@link #orphan} has a master by now, ends the outage of the missing master. */
    private void adopt() {
        String key = orphan.get();
        if (key != null && !redis.serverOf(key).equals(NOBODY) && orphan.compareAndSet(key, null)) {
            Availability ofNobody = redis.hasOneSlot() ? null : servers.remove(NOBODY);
            if (ofNobody != null) {
                ofNobody.replaced(clock.nanoTime());
            }
        }
    }

    private Availability unknown(String server) {
        // Without a cluster there is one server at a time, and all servers share a reporter: a reply of the next server
        // ends the outage of the previous one.
        OutageReporter reporter =
                redis.hasOneSlot() ? outages : new OutageReporter("Redis", () -> server, () -> silent, events);
        return new Availability(reporter, memoryNanos(), settings.commandTimeoutNanos());
    }

    /** Notes that the client has connected: from now on outages are reported. */
    public void connected() {
        silent = false;
    }

    /** Stops the reports of outages. */
    public void close() {
        silent = true;
    }

    /** Notes that calls go to another server now. Forgets the failures of calls that found no master. */
    public void moved() {
        long now = clock.nanoTime();
        if (redis.hasOneSlot()) {
            Availability ofNobody = servers.get(NOBODY);
            if (ofNobody != null) {
                ofNobody.forget();
            }
            // Remove servers without an outage: the next call to such a server adds it again.
            servers.values().removeIf(server -> !server.isInTrouble(now));
        } else {
            // Drop only the masters that are gone, and tell the listeners that their outages are over.
            dropReplaced(now);
        }
        replications.values().removeIf(replication -> replication.age(now) == 0);
    }

    private void dropReplaced(long now) {
        Set<String> present = new HashSet<>(Set.of(NOBODY));
        for (Redis server : redis.servers()) {
            present.add(server.address());
        }
        for (Map.Entry<String, Availability> server : servers.entrySet()) {
            if (!present.contains(server.getKey())) {
                server.getValue().replaced(now);
                servers.remove(server.getKey());
            }
        }
    }

    /** The number of known servers. */
    public int count() {
        return Math.max(servers.size(), replications.size());
    }

    /** Notes that the server enforces the slots of a cluster. */
    public void hasSlots() {
        hasOneSlot = false;
    }

    /** Whether one script may name the keys of several locks. */
    public boolean hasOneSlot() {
        return hasOneSlot;
    }

    /**
     * Notes that a script with the keys of several locks failed. If the failure says that a script may name only keys
     * of one slot, no such script is sent again.
     */
    public void refused(RedisException failure) {
        String text = String.valueOf(failure.getMessage());
        if (hasOneSlot && text.contains("CROSSSLOT")) {
            hasOneSlot = false;
            events.log()
                    .add(() -> Loggers.CONNECTION.warn(
                            "Redis at {} keeps to the slots of a cluster, though it did not say so: {}. From now on"
                                    + " holds are renewed one by one.",
                            redis.address(),
                            text));
        }
    }

    /**
     * Returns whether enough replicas have confirmed a write, and notes the result. A write that too few have confirmed
     * does not count.
     */
    public boolean isAcknowledged(String key, Reply reply, long sentNanos) {
        if (settings.replicaAcks() == 0) {
            return true;
        }
        Outage replication = replication(key);
        long now = clock.nanoTime();
        if (reply.acks() >= settings.replicaAcks()) {
            replication.end();
            return true;
        }
        boolean first = replication.age(now) == 0;
        replication.failed(sentNanos, now);
        if (first) {
            logTooFew(key, reply);
        }
        return false;
    }

    private void logTooFew(String key, Reply reply) {
        String server = redis.serverOf(key);
        events.log()
                .add(() -> Loggers.CONNECTION.warn(
                        "Redis at {}: {}. Until more do, no lock can be acquired, and holds end at their deadlines."
                                + " Check the replicas and the links to them, or set a smaller replicaAcks.",
                        server,
                        tooFew(reply)));
    }

    /** The outage of the replicas of a key's server. It lasts while too few of them confirm writes. */
    public Outage replication(String key) {
        return replications.computeIfAbsent(redis.serverOf(key), server -> new Outage(memoryNanos()));
    }

    public String tooFew(Reply reply) {
        Acks wanted = Objects.requireNonNull(settings.acks(), "acks");
        return Math.max(0, reply.acks()) + " of the " + wanted.replicas()
                + " replicas that must confirm a hold did so within " + wanted.timeoutNanos() / 1_000_000 + " ms";
    }

    private long memoryNanos() {
        return Math.max(settings.retryForNanos(), 2 * settings.commandTimeoutNanos());
    }
}
