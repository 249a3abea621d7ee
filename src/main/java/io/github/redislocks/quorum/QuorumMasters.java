package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.connect.Masters;
import io.github.redislocks.redis.connect.RedisUri;
import io.github.redislocks.redis.topology.Topology;
import io.github.redislocks.script.TokenMemory;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The masters of a quorum as the user named them, before the client connects.
 *
 * @param all an odd number of URIs of different servers, three or more
 */
public record QuorumMasters(List<RedisUri> all) {

    /**
     * Reads the URIs of the masters.
     *
     * @throws IllegalArgumentException if a URI is invalid, or there is not an odd number of different servers
     */
    public static QuorumMasters parse(String... uris) {
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
     * The masters at these URIs, each of which names a single server.
     *
     * @throws IllegalArgumentException if there is not an odd number of different servers
     */
    public static QuorumMasters of(List<RedisUri> all) {
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

    /** The command timeout of the last URI that has one, or null. */
    @Nullable
    public Duration commandTimeout() {
        Duration last = null;
        for (RedisUri master : all) {
            last = master.commandTimeout() == null ? last : master.commandTimeout();
        }
        return last;
    }

    /**
     * Opens the connections to all masters.
     *
     * @param restartDelay how long a restarted master gives no vote, or null for the default
     */
    public Quorum open(String clientId, Settings settings, @Nullable Duration restartDelay, Threads threads) {
        if (settings.replicaAcks() > 0) {
            throw new IllegalArgumentException("replicaAcks is " + settings.replicaAcks()
                    + ", and the masters of a quorum confirm each other's votes without replicas: leave it out.");
        }
        Duration delay = restartDelay == null ? settings.lease() : restartDelay;
        boolean tooShort = !delay.isZero() && delay.compareTo(settings.lease()) < 0;
        if (tooShort || delay.compareTo(Settings.MAX_LEASE) > 0) {
            throw new IllegalArgumentException(
                    "restartDelay is " + Shown.of(delay) + ": it must be at least the lease, "
                            + Shown.of(settings.lease()) + ", and at most " + Shown.of(Settings.MAX_LEASE)
                            + ". Use Duration.ZERO only if a master that restarts has forgotten nothing.");
        }
        if (settings.tokenMemory().compareTo(Settings.leastTokenMemory(delay)) < 0
                && !settings.tokenMemory().equals(Settings.DEFAULT_TOKEN_MEMORY)) {
            throw new IllegalArgumentException("tokenMemory is " + Shown.of(settings.tokenMemory())
                    + ", and restartDelay, the longest lease, " + Shown.of(delay)
                    + ": it must be at least four times that. Name a longer"
                    + " one, or a shorter restartDelay.");
        }
        List<RedisUri> named =
                all.stream().map(master -> master.named(clientId)).toList();
        Masters opened = Masters.open(named, QuorumNode.THREADS, threads);
        List<Redis> masters = opened.all().stream()
                .map(master -> TokenMemory.of(master, settings.tokenMemory()))
                .toList();
        return new Quorum(masters, settings, delay.toMillis(), threads, opened.pause());
    }
}
