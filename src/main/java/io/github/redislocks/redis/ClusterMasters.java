package io.github.redislocks.redis;

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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.HostAndPort;

/**
 * The masters of a cluster, as they are now, and the connections to each of them.
 *
 * <p>When a slot comes to a node that was no master before, which may not know what the one before said, these happen
 * in this order: no call goes there; connections to masters that have lost all their slots are closed, so that calls
 * under way fail as unanswered and subscriptions break; the listener is told; calls go there.
 */
final class ClusterMasters implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(ClusterRedis.class);

    /** Who has which slot, and the connections to each of them. */
    private record Routing(Slots slots, Map<ClusterNode, JedisRedis> servers) {}

    /** A node, and when a call was sent there last. */
    private record Importer(JedisRedis server, long askedNanos) {}

    private final String cluster;
    private final Function<HostAndPort, JedisRedis> connector;
    private final ClusterWatch watch;
    private final LongSupplier nanoTime;
    /** Nodes without slots of their own to which a slot is just being moved. */
    private final ConcurrentMap<HostAndPort, Importer> importers = new ConcurrentHashMap<>();

    private volatile Routing routing = new Routing(Slots.UNKNOWN, Map.of());
    private volatile Runnable onMoved = () -> {};
    private volatile boolean closed;
    /** Whether the listener is still to be told of a move, since something went wrong. */
    private boolean untold;

    ClusterMasters(
            String cluster,
            Function<HostAndPort, JedisRedis> connector,
            Function<Consumer<Slots>, ClusterWatch> watch) {
        this(cluster, connector, watch, System::nanoTime);
    }

    /** By a clock, of which only is told for how long nobody was sent to a node. */
    ClusterMasters(
            String cluster,
            Function<HostAndPort, JedisRedis> connector,
            Function<Consumer<Slots>, ClusterWatch> watch,
            LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.cluster = cluster;
        this.connector = connector;
        this.watch = watch.apply(this::heard);
    }

    void start() {
        watch.start();
    }

    /** The cluster, as people write it. */
    String cluster() {
        return cluster;
    }

    void onMoved(Runnable listener) {
        onMoved = listener;
    }

    /** Called by one thread at a time, and no more once the watch is closed. */
    private void heard(Slots slots) {
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
        // Slots of a master that has died may be given, without their keys, to one that has been there all the time.
        boolean orphaned = gone.values().stream().anyMatch(server -> watch.isTroubled(server.address()));
        boolean moved = untold || (!before.servers.isEmpty() && (!promoted.isEmpty() || orphaned));
        untold = moved;
        if (moved) {
            tell(promoted, gone.keySet());
            routing = new Routing(slots.without(orphaned ? owners : promoted), servers);
        }
        gone.values().forEach(JedisRedis::close);
        for (ClusterNode owner : owners) {
            Importer importer = importers.remove(owner.address());
            if (importer != null) {
                importer.server.close();
            }
        }
        dropAbandoned(nanoTime.getAsLong());
        try {
            if (moved) {
                onMoved.run();
                untold = false;
            }
        } finally {
            routing = new Routing(slots, servers);
        }
    }

    private static void tell(Set<ClusterNode> promoted, Set<ClusterNode> gone) {
        try {
            log.warn("The cluster has other masters now: {}; no longer: {}", addresses(promoted), addresses(gone));
        } catch (Throwable notEvenLogged) {
            // What a logger throws does not keep the client with the old masters.
        }
    }

    private static String addresses(Set<ClusterNode> nodes) {
        return nodes.stream().map(node -> node.address().toString()).collect(Collectors.joining(", "));
    }

    List<JedisRedis> all() {
        return new ArrayList<>(routing.servers.values());
    }

    /** Who has a slot; waits for somebody to have it. */
    JedisRedis owner(int slot, long deadline) {
        while (true) {
            JedisRedis server = owner(slot);
            if (server != null) {
                return server;
            }
            if (closed || watch.isHopeless() || deadline - System.nanoTime() <= 0) {
                throw new RedisException.Unanswered(watch.troubles(), false, null);
            }
            watch.awaitNews(deadline);
        }
    }

    /** Who has a slot, or null if nobody is known to. */
    @Nullable
    JedisRedis owner(int slot) {
        Routing now = routing;
        ClusterNode owner = now.slots.owner(slot);
        return owner == null ? null : now.servers.get(owner);
    }

    /** To whom a slot is just being moved. */
    JedisRedis importer(HostAndPort node) {
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

    /** Closes the connections to nodes to which no slot is being moved any more, since nobody is sent there. */
    private void dropAbandoned(long now) {
        importers.forEach((node, importer) -> {
            if (now - importer.askedNanos > Connections.AGED_NANOS && importers.remove(node, importer)) {
                importer.server.close();
            }
        });
    }

    /** Notes that a server has said itself that a slot is not its own. */
    void denied(int slot, JedisRedis server) {
        Routing now = routing;
        ClusterNode owner = now.slots.owner(slot);
        if (owner != null && now.servers.get(owner) == server) {
            watch.denied(slot, owner);
        }
    }

    void awaitNews(long deadline) {
        watch.awaitNews(deadline);
    }

    /** Notes whether a server answers. */
    void note(JedisRedis server, @Nullable RedisException failure) {
        watch.troubled(
                server.address(),
                failure instanceof RedisException.Unanswered
                        || (failure instanceof RedisException.Refused refused && refused.passing()));
    }

    boolean isTroubled(String address) {
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
