package io.github.redislocks;

import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Which servers do not answer, or have too few replicas that do: one of them may be away while others are not. */
final class Outages {

    private static final Logger log = LoggerFactory.getLogger(RedisLocks.class);

    private final LockOptions options;
    private final Clock clock;
    private final Redis redis;
    private final ConcurrentMap<String, Availability> servers = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, Outage> replications = new ConcurrentHashMap<>();

    Outages(LockOptions options, Clock clock, Redis redis) {
        this.options = options;
        this.clock = clock;
        this.redis = redis;
    }

    /** Whether the server of a key answers. */
    Availability of(String key) {
        String server = redis.serverOf(key);
        // Nearly always there, and then found without a lambda or a lock.
        Availability known = servers.get(server);
        return known != null
                ? known
                : servers.computeIfAbsent(
                        server, first -> new Availability(memoryNanos(), options.commandTimeoutNanos()));
    }

    /** Notes that calls go to another server now: what failed while nobody was the master says nothing of next time. */
    void moved() {
        Availability ofNobody = servers.get("");
        if (ofNobody != null) {
            ofNobody.forget();
        }
        // Nothing is lost by forgetting one that does well, and one that has gone is not asked any more.
        long now = clock.nanoTime();
        servers.values().removeIf(server -> !server.isInTrouble(now));
        replications.values().removeIf(replication -> replication.age(now) == 0);
    }

    /** How many servers it knows. */
    int count() {
        return Math.max(servers.size(), replications.size());
    }

    /** Whether enough replicas have what was done; else it is not to be relied on. Notes which of the two. */
    boolean isAcknowledged(String key, Reply reply, long sentNanos) {
        if (options.replicaAcks() == 0) {
            return true;
        }
        Outage replication = replication(key);
        if (reply.acks() >= options.replicaAcks()) {
            replication.end();
            return true;
        }
        long now = clock.nanoTime();
        if (replication.age(now) == 0) {
            log.warn(
                    "Redis at {}: {}. Until more do, no lock can be had, and holds end at their deadlines. Check the"
                            + " replicas and the links to them, or want fewer by replicaAcks.",
                    redis.serverOf(key),
                    tooFew(reply));
        }
        replication.failed(sentNanos, now);
        return false;
    }

    /** Since when too few replicas of the server of a key have confirmed holds. */
    Outage replication(String key) {
        return replications.computeIfAbsent(redis.serverOf(key), server -> new Outage(memoryNanos()));
    }

    String tooFew(Reply reply) {
        return Math.max(0, reply.acks()) + " of the " + options.replicaAcks()
                + " replicas that must have a hold confirmed it within "
                + options.replicaAcksTimeout().toMillis() + " ms";
    }

    private long memoryNanos() {
        return Math.max(options.retryFor().toNanos(), 2 * options.commandTimeoutNanos());
    }
}
