package io.github.redislocks;

import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisUri;
import io.github.redislocks.redis.Topology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The masters of a quorum as they were named, before they are connected to.
 *
 * @param all an odd number of different servers, three or more
 */
record QuorumMasters(List<RedisUri> all) {

    /**
     * Reads their URIs.
     *
     * @throws IllegalArgumentException if one cannot work, or they are not an odd number of different servers
     */
    static QuorumMasters parse(String... uris) {
        List<RedisUri> all = new ArrayList<>();
        for (String uri : uris) {
            RedisUri master = RedisUri.parse(uri);
            if (!(master.topology() instanceof Topology.Single)) {
                throw new IllegalArgumentException("The master \"" + uri.replaceFirst("//.*@", "//***@")
                        + "\" of a quorum must be a single server, redis:// or rediss://: its place is not another's"
                        + " to take.");
            }
            all.add(master);
        }
        return of(all);
    }

    /**
     * These, each a single server.
     *
     * @throws IllegalArgumentException if they are not an odd number of different servers
     */
    static QuorumMasters of(List<RedisUri> all) {
        Set<Topology> seen = new HashSet<>();
        for (RedisUri master : all) {
            if (master.topology() instanceof Topology.Single single && !seen.add(single)) {
                throw new IllegalArgumentException("The master " + single.address()
                        + " of the quorum is named twice, and would have two votes: name each once, and others for"
                        + " the rest.");
            }
        }
        if (all.size() < 3 || all.size() % 2 == 0) {
            throw new IllegalArgumentException("The quorum has " + all.size()
                    + " masters: it needs an odd number, 3 or more, since an even one bears no more failures than"
                    + " one less. Use 3 or 5, or connect(uri) for a single server.");
        }
        return new QuorumMasters(List.copyOf(all));
    }

    /** What the last of them that names a command timeout says, or null. */
    @Nullable
    Duration commandTimeout() {
        Duration last = null;
        for (RedisUri master : all) {
            last = master.commandTimeout() == null ? last : master.commandTimeout();
        }
        return last;
    }

    /** Opens the connections to all of them. Delay: for how long one that has restarted gives no vote, or null. */
    Quorum open(LockOptions options, @Nullable Duration restartDelay) {
        if (options.replicaAcks() > 0) {
            throw new IllegalArgumentException("replicaAcks is " + options.replicaAcks()
                    + ", and the masters of a quorum confirm each other's votes without replicas: leave it out.");
        }
        Duration delay = restartDelay == null ? options.lease() : restartDelay;
        boolean tooShort = !delay.isZero() && delay.compareTo(options.lease()) < 0;
        if (tooShort || delay.compareTo(LockOptions.MAX_LEASE) > 0) {
            throw new IllegalArgumentException("restartDelay is " + delay + ": it must be at least the lease, "
                    + options.lease() + ", and at most " + LockOptions.MAX_LEASE
                    + ". Use Duration.ZERO only if a master that restarts has forgotten nothing.");
        }
        List<Redis> opened = new ArrayList<>();
        for (RedisUri master : all) {
            opened.add(master.open(options.maxConnections(), options.commandTimeoutNanos()));
        }
        return new Quorum(opened, options, delay.toMillis());
    }
}
