package io.github.redislocks.redis.cluster;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;

/**
 * The current masters of a cluster, and the connections to each of them.
 *
 * <p>When a slot goes to a node that was no master before, the new master may not know what the old one confirmed. So
 * these steps happen in this order: calls for the slot wait; connections to masters that have lost all their slots are
 * closed, so that calls under way fail as unanswered and subscriptions break; the listener is told; calls go to the new
 * master.
 */
public final class ClusterMasters implements AutoCloseable {

    /** The master of each slot, and the connections to each master. */
    private record Routing(SlotMap slots, Map<ClusterNode, JedisRedis> servers) {}

    /** The connections to a node that imports a slot, and when a call was last sent to it. */
    private record Importer(JedisRedis server, long askedNanos) {}

    private final String cluster;
    private final Function<HostAndPort, JedisRedis> connector;
    private final ClusterWatch watch;
    private final LongSupplier nanoTime;
    /** Nodes without slots to which a slot is being moved. */
    private final ConcurrentMap<HostAndPort, Importer> importers = new ConcurrentHashMap<>();

    private volatile Routing routing = new Routing(SlotMap.UNKNOWN, Map.of());
    private volatile Runnable onMoved = () -> {};
    private volatile boolean closed;
    /** Masters to which no call goes yet, since the listener failed when told of them; it is told again. */
    private Set<ClusterNode> untold = Set.of();

    /** @param nanoTime the clock, which only decides when an importing node counts as abandoned */
    public ClusterMasters(
            String cluster,
            Function<HostAndPort, JedisRedis> connector,
            Function<Consumer<SlotMap>, ClusterWatch> watch,
            LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.cluster = cluster;
        this.connector = connector;
        this.watch = watch.apply(this::heard);
    }

    public void start() {
        watch.start();
    }

    /** The cluster's name in messages. */
    public String cluster() {
        return cluster;
    }

    public void onMoved(Runnable listener) {
        onMoved = listener;
    }

    /** Takes a new slot map. Called by one thread at a time, and not after the watch is closed. */
    private void heard(SlotMap slots) {
        Routing before = routing;
        Set<ClusterNode> owners = slots.owners();
        Map<ClusterNode, JedisRedis> servers = new HashMap<>();
        Set<ClusterNode> promoted = new HashSet<>();
        for (ClusterNode owner : owners) {
            JedisRedis known = before.servers.get(owner);
            if (known == null) {
                promoted.add(owner);
            }
            servers.put(owner, known == null ? connector.apply(owner.address()) : known);
        }
        Map<ClusterNode, JedisRedis> gone = new HashMap<>(before.servers);
        gone.keySet().removeAll(owners);
        // Slots of a dead master may have gone, without their keys, to a master that has been there all the time.
        boolean orphaned = gone.values().stream().anyMatch(server -> watch.isTroubled(server.address()));
        Set<ClusterNode> barred = new HashSet<>(untold);
        if (!before.servers.isEmpty()) {
            barred.addAll(orphaned ? owners : promoted);
        }
        boolean moved = !barred.isEmpty();
        untold = barred;
        if (moved) {
            tell(promoted, gone.keySet());
            routing = new Routing(slots.without(barred), servers);
        }
        gone.values().forEach(JedisRedis::close);
        for (ClusterNode owner : owners) {
            Importer importer = importers.remove(owner.address());
            if (importer != null) {
                importer.server.close();
            }
        }
        dropAbandoned(nanoTime.getAsLong());
        if (moved) {
            // If the listener throws, it is told again with the next slot map, and no call goes to these masters
            // before.
            onMoved.run();
        }
        routing = new Routing(slots, servers);
        untold = Set.of();
    }

    private static void tell(Set<ClusterNode> promoted, Set<ClusterNode> gone) {
        Loggers.CONNECTION.warn(
                "The cluster has other masters now: {}; no longer: {}", addresses(promoted), addresses(gone));
    }

    private static String addresses(Set<ClusterNode> nodes) {
        return nodes.stream().map(node -> node.address().toString()).collect(Collectors.joining(", "));
    }

    public List<JedisRedis> all() {
        return new ArrayList<>(routing.servers.values());
    }

    /** The master of a slot; waits until one is known, and throws at the deadline. */
    public JedisRedis owner(int slot, long deadline) {
        while (true) {
            JedisRedis server = owner(slot);
            if (server != null) {
                return server;
            }
            if (closed || watch.isHopeless() || deadline - System.nanoTime() <= 0) {
                throw watch.troubles();
            }
            watch.awaitNews(deadline);
        }
    }

    /** The master of a slot, or null if none is known. */
    @Nullable
    public JedisRedis owner(int slot) {
        Routing now = routing;
        ClusterNode owner = now.slots.owner(slot);
        return owner == null ? null : now.servers.get(owner);
    }

    /** The connections to the node to which a slot is being moved. */
    public JedisRedis importer(HostAndPort node) {
        for (Map.Entry<ClusterNode, JedisRedis> known : routing.servers.entrySet()) {
            if (known.getKey().address().equals(node)) {
                return known.getValue();
            }
        }
        long now = nanoTime.getAsLong();
        JedisRedis importer = Objects.requireNonNull(importers.compute(
                        node,
                        (address, before) ->
                                new Importer(before == null ? connector.apply(address) : before.server, now)))
                .server;
        dropAbandoned(now);
        if (closed) {
            importer.close();
        }
        return importer;
    }

    /**
     * Closes the connections to nodes to which no call has gone for a while, since no slot is being moved there now.
     */
    private void dropAbandoned(long now) {
        importers.forEach((node, importer) -> {
            if (now - importer.askedNanos > ConnectionPool.KEPT_NANOS && importers.remove(node, importer)) {
                importer.server.close();
            }
        });
    }

    /** Notes that a server itself replied that it does not have a slot. */
    public void denied(int slot, JedisRedis server) {
        Routing now = routing;
        ClusterNode owner = now.slots.owner(slot);
        if (owner != null && now.servers.get(owner) == server) {
            watch.denied(slot, owner);
        }
    }

    public void awaitNews(long deadline) {
        watch.awaitNews(deadline);
    }

    /** Notes whether a server answers. */
    public void note(JedisRedis server, @Nullable RedisException failure) {
        watch.troubled(server.address(), failure != null && !failure.isPermanent());
    }

    public boolean isTroubled(String address) {
        return watch.isTroubled(address);
    }

    @Override
    public void close() {
        closed = true;
        watch.close();
        routing.servers.values().forEach(JedisRedis::close);
        importers.values().forEach(importer -> importer.server.close());
    }
}
