package io.github.redislocks.redis.cluster;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Servers;
import io.github.redislocks.redis.SingleServer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The current masters of a cluster, and the connections to each master.
 *
 * <p>A node that becomes the master of a slot, and was no master before, may lack writes that the old master confirmed.
 * So a change of masters has four steps. First, calls for the slot wait. Second, the connections to masters that have
 * lost all slots are closed: calls under way fail as unanswered, and subscriptions break. Third, the listener runs.
 * Fourth, calls go to the new master.
 */
public final class ClusterMasters implements AutoCloseable {

    /** How long the connections to an importing node, to which a slot is being moved, stay open after the last call. */
    public static final long KEPT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** The master of each slot, and the connections to each master. */
    private record Routing(SlotMap slots, Map<ClusterNode, SingleServer> servers) {}

    /** The connections to an importing node, and when a call was last sent to the node. */
    private record Importer(SingleServer server, long askedNanos) {}

    private final String cluster;
    private final Servers servers;
    private final ClusterWatch watch;
    private final LongSupplier nanoTime;
    /** The importing nodes that have no slots yet. */
    private final ConcurrentMap<Address, Importer> importers = new ConcurrentHashMap<>();

    private volatile Routing routing = new Routing(SlotMap.UNKNOWN, Map.of());
    private volatile Runnable onMoved = () -> {};
    private volatile boolean closed;
    /**
     * New masters to which no call goes yet, since the listener threw. The listener runs again with the next slot map.
     */
    private Set<ClusterNode> unannounced = Set.of();

    /**
     * Makes the masters of a cluster. The watch is not started yet.
     *
     * @param nanoTime the clock for {@link #KEPT_NANOS}
     */
    public ClusterMasters(
            String cluster, Servers servers, Function<Consumer<SlotMap>, ClusterWatch> watch, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.cluster = cluster;
        this.servers = servers;
        this.watch = watch.apply(this::use);
    }

    public void start() {
        watch.start();
    }

    /** The name of the cluster in messages. */
    public String cluster() {
        return cluster;
    }

    public void onMoved(Runnable listener) {
        onMoved = listener;
    }

    /** Uses a new slot map. Called by one thread at a time, and no longer once the watch is closed. */
    private void use(SlotMap slots) {
        Routing before = routing;
        Set<ClusterNode> owners = slots.owners();
        Map<ClusterNode, SingleServer> current = new HashMap<>();
        Set<ClusterNode> promoted = new HashSet<>();
        for (ClusterNode owner : owners) {
            SingleServer known = before.servers.get(owner);
            if (known == null) {
                promoted.add(owner);
            }
            current.put(owner, known == null ? servers.at(owner.address()) : known);
        }
        Map<ClusterNode, SingleServer> gone = new HashMap<>(before.servers);
        gone.keySet().removeAll(owners);
        // A master that left without an answer may be dead. A master that stays may have taken over its slots, without
        // the keys.
        boolean orphaned = gone.values().stream().anyMatch(server -> watch.isTroubled(server.address()));
        Set<ClusterNode> barred = new HashSet<>(unannounced);
        if (!before.servers.isEmpty()) {
            barred.addAll(orphaned ? owners : promoted);
        }
        boolean moved = !barred.isEmpty();
        unannounced = barred;
        if (moved) {
            log(promoted, gone.keySet());
            routing = new Routing(slots.without(barred), current);
        }
        gone.values().forEach(SingleServer::close);
        for (ClusterNode owner : owners) {
            Importer importer = importers.remove(owner.address());
            if (importer != null) {
                importer.server.close();
            }
        }
        dropAbandoned(nanoTime.getAsLong());
        if (moved) {
            // If the listener throws, no call goes to the new masters until the next slot map, with which the listener
            // runs again.
            onMoved.run();
        }
        routing = new Routing(slots, current);
        unannounced = Set.of();
    }

    private static void log(Set<ClusterNode> promoted, Set<ClusterNode> gone) {
        Loggers.CONNECTION.warn(
                "The cluster has other masters now: {}; no longer: {}", addresses(promoted), addresses(gone));
    }

    private static String addresses(Set<ClusterNode> nodes) {
        return nodes.stream().map(node -> node.address().toString()).collect(Collectors.joining(", "));
    }

    public List<SingleServer> all() {
        return new ArrayList<>(routing.servers.values());
    }

    /** The slot of a key. */
    public int slotOf(String key) {
        return servers.slotOf(key);
    }

    /** The master of a slot. Waits until it is known, and throws at the deadline. */
    public SingleServer owner(int slot, long deadline) {
        while (true) {
            SingleServer server = owner(slot);
            if (server != null) {
                return server;
            }
            if (closed || watch.isHopeless() || deadline - System.nanoTime() <= 0) {
                throw watch.troubles();
            }
            watch.awaitNews(deadline);
        }
    }

    /** The master of a slot, or null if it is unknown. */
    @Nullable
    public SingleServer owner(int slot) {
        Routing now = routing;
        ClusterNode owner = now.slots.owner(slot);
        return owner == null ? null : now.servers.get(owner);
    }

    /** The connections to an importing node. Makes them if there are none. */
    public SingleServer importer(Address node) {
        for (Map.Entry<ClusterNode, SingleServer> known : routing.servers.entrySet()) {
            if (known.getKey().address().equals(node)) {
                return known.getValue();
            }
        }
        long now = nanoTime.getAsLong();
        SingleServer importer = Objects.requireNonNull(importers.compute(
                        node,
                        (address, before) -> new Importer(before == null ? servers.at(address) : before.server, now)))
                .server;
        dropAbandoned(now);
        if (closed) {
            importer.close();
        }
        return importer;
    }

    /** Closes the connections to importing nodes to which no call has gone for {@link #KEPT_NANOS}. */
    private void dropAbandoned(long now) {
        importers.forEach((node, importer) -> {
            if (now - importer.askedNanos > KEPT_NANOS && importers.remove(node, importer)) {
                importer.server.close();
            }
        });
    }

    /** Notes that a server itself has replied that it does not have a slot. */
    public void denied(int slot, SingleServer server) {
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
    public void note(SingleServer server, @Nullable RedisException failure) {
        watch.troubled(server.address(), failure != null && !failure.isPermanent());
    }

    public boolean isTroubled(String address) {
        return watch.isTroubled(address);
    }

    @Override
    public void close() {
        closed = true;
        watch.close();
        routing.servers.values().forEach(SingleServer::close);
        importers.values().forEach(importer -> importer.server.close());
    }
}
