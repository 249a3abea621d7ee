package io.github.redislocks.simulation;

import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The Redis of all clients of a schedule: one server or a quorum. Knows when it promises exclusion. */
final class Server {

    /** The name of the only pool of permits. */
    static final String POOL = "pool";

    private static final String PREFIX = "redis-locks";
    private static final Map<String, String> KEYS = new ConcurrentHashMap<>();
    /** Longer than any lease of a caller, and than any pause of a client. */
    private static final long LEARNED_NANOS = 9_000_000_000L;

    final List<Node> nodes = new ArrayList<>();
    private final World world;
    private final List<String> names;
    private final boolean resident;
    private final boolean shared;
    private final Map<String, Order> orders = new HashMap<>();
    private final PoolOrder pool;
    /** The ids of the clients that messages reach. */
    private final Set<String> listeners = new HashSet<>();
    /** For each lock, the first token that was not given yet when a fault last broke exclusion. */
    private final Map<String, Long> brokenBelow = new HashMap<>();
    /** The true time at which that was. */
    private final Map<String, Long> brokenAt = new HashMap<>();
    /** The locks that were forced open. */
    private final Set<String> forced = new HashSet<>();
    /** For each lock, the first token that was not given yet when the lock was last deleted. */
    private final Map<String, Long> deletedBelow = new HashMap<>();
    /** How many callers are forcing each lock open at present. */
    private final Map<String, Integer> forcing = new HashMap<>();

    private boolean clockWentBack;
    private boolean forgot;

    /**
     * Makes the servers.
     *
     * @param shared whether some callers read or use permits
     */
    Server(World world, List<String> names, Client.Options options, boolean shared) {
        this.world = world;
        this.names = names;
        this.resident = options.resident();
        this.shared = shared;
        for (int i = 0; i < options.nodes(); i++) {
            nodes.add(new Node(world, names));
        }
        for (String name : names) {
            orders.put(name, new Order(world, nodes.get(0), keys(name), listeners::contains));
        }
        pool = new PoolOrder(world, nodes.get(0), keys(POOL));
        if (shared) {
            nodes.get(0).watchedBy(() -> {
                orders.values().forEach(Order::look);
                pool.look();
            });
        }
    }

    /** Whether some callers read or use permits. */
    boolean isShared() {
        return shared;
    }

    /** The turns of readers and writers of a lock. */
    Order order(String name) {
        return orders.get(name);
    }

    /** Notes whether messages reach a client. */
    void listens(String client, boolean reached) {
        if (reached) {
            listeners.add(client);
        } else {
            listeners.remove(client);
        }
    }

    /** The pool of permits. */
    PoolOrder pool() {
        return pool;
    }

    private static LockKeys keys(String name) {
        return name.equals(POOL) ? LockKeys.ofPermits(PREFIX, name) : LockKeys.of(PREFIX, name);
    }

    /** Whether Redis has a hold, as far as the first node says. */
    boolean has(Hold hold) {
        if (hold.keys().arePermits()) {
            return pool.owners().contains(hold.owner.id + ":" + hold.attempt);
        }
        String name = hold.keys().name();
        return hold.owner.isShared()
                ? Long.valueOf(hold.attempt).equals(order(name).shareOf(hold.owner.id))
                : String.valueOf(hold.token).equals(field(name, "token"));
    }

    boolean isQuorum() {
        return nodes.size() > 1;
    }

    /** Returns a node. {@code number} may be greater than the number of nodes. */
    Node node(int number) {
        return nodes.get(number % nodes.size());
    }

    void meets(Fault fault, Node node) {
        switch (fault.kind()) {
            case PAUSE_SERVER -> node.pause(fault.nanos());
            case RESTART -> node.restart(fault.nanos());
            case FILL_MEMORY -> node.fill(fault.nanos());
            case CLOCK_BACK -> {
                node.step(-fault.nanos());
                clockWentBack = true;
            }
            case CLOCK_FORWARD -> {
                node.step(fault.nanos());
                allBroken();
            }
            case FLUSH -> {
                forgets();
                node.redis.flushAll();
            }
            case RESTART_EMPTY -> {
                // A master of a quorum gives no vote after this until the votes that it forgot have ended.
                if (!isQuorum()) {
                    forgets();
                }
                node.redis.restart();
            }
            default -> {}
        }
    }

    private void forgets() {
        forgot = true;
        allBroken();
    }

    private void allBroken() {
        names.forEach(this::broken);
        broken(POOL);
    }

    /** Notes that somebody other than the holder has ended or deleted a lock, or that Redis has forgotten it. */
    void broken(String name) {
        for (Node node : nodes) {
            String last = node.redis.string(keys(name).fence());
            long next = last == null ? 0 : Long.parseLong(last.replaceAll("[^0-9].*", "")) + 1;
            brokenBelow.merge(name, Math.max(next, node.micros() + 1), Math::max);
        }
        brokenAt.put(name, world.now());
        if (orders.containsKey(name)) {
            order(name).broken();
        }
    }

    /** Whether something other than the holder may have ended or deleted the lock. */
    boolean wasBroken(String name) {
        return brokenAt.containsKey(name) || forcing.containsKey(name);
    }

    /** Notes that somebody is about to force the lock open. Only Redis knows the moment. */
    void beginForcing(String name) {
        forcing.merge(name, 1, Integer::sum);
    }

    void endForcing(String name, boolean ended) {
        broken(name);
        if (ended) {
            forced.add(name);
        }
        forcing.merge(name, -1, Integer::sum);
    }

    /** Deletes the lock. */
    void delete(String name) {
        broken(name);
        deletedBelow.put(name, brokenBelow.get(name));
        nodes.forEach(node -> node.redis.del(lockKey(name)));
    }

    /**
     * Whether exclusion is promised to a hold with this token. It is promised if the hold began after exclusion was
     * last broken, or if exclusion was broken so long ago that the client has learned of it.
     */
    boolean isPromised(String name, long token) {
        return forcing.getOrDefault(name, 0) == 0
                && (token >= brokenBelow.getOrDefault(name, 0L)
                        || world.now() - brokenAt.getOrDefault(name, 0L) > LEARNED_NANOS);
    }

    /** Whether exclusion is promised to all holds of a lock. */
    boolean isPromised(String name) {
        return isPromised(name, 0);
    }

    /**
     * Whether tokens of a lock may be given twice. This is so if the server's clock was set back and the last tokens
     * were forgotten; or if the lock was forced or deleted while a client kept it, since Redis knows only the first
     * token of a kept lock.
     */
    boolean mayRepeatTokens(String name) {
        return clockWentBack && (forgot || resident && wasBroken(name));
    }

    /** Whether tokens may be later than the server's time, since its clock was set back. */
    boolean hasOddTokens() {
        return clockWentBack;
    }

    /** Until when a lock had an owner, as far as the simulation has seen. */
    long ownedUntil(String name) {
        return nodes.stream().mapToLong(node -> node.ownedUntil(name)).max().orElse(0);
    }

    boolean isFree(String name) {
        return ofMajority(name, "owner") == null;
    }

    /** Whether a hold that is gone was ended by {@code forceUnlock}, which sends a message to the holder. */
    boolean wasForced(String name, long token) {
        return forced.contains(name) && token >= deletedBelow.getOrDefault(name, 0L);
    }

    /** A field of the hold that Redis has; null if none has the lock. */
    String field(String name, String field) {
        return ofMajority(name, field);
    }

    /** The token of the hold that Redis has; null if none has the lock, or clients read. */
    String writerToken(String name) {
        return order(name).isReading() ? null : field(name, "token");
    }

    /** How long the lock stays taken if nothing happens. */
    long pttlMillis(String name) {
        return nodes.get(0).redis.pttl(lockKey(name));
    }

    private String ofMajority(String name, String field) {
        if (!isQuorum()) {
            return nodes.get(0).redis.hash(lockKey(name)).get(field);
        }
        Map<String, Long> counts = nodes.stream()
                .map(node -> node.redis.hash(lockKey(name)).get(field))
                .filter(Objects::nonNull)
                .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
        return counts.entrySet().stream()
                .filter(each -> 2 * each.getValue() > nodes.size())
                .map(Map.Entry::getKey)
                .findFirst()
                .orElse(null);
    }

    static String lockKey(String name) {
        return KEYS.computeIfAbsent(name, first -> keys(first).lock());
    }

    /**
     * Names an owner or a place that is left of unused locks; empty if there is none.
     *
     * @param isGone whether a process is gone: its places may be left
     */
    String left(Predicate<String> isGone) {
        for (Node node : nodes) {
            for (String name : names) {
                String key = lockKey(name);
                if (node.redis.hash(key).containsKey("owner")) {
                    return name + " is taken by " + node.redis.hash(key).get("owner");
                }
                for (Map.Entry<String, String> place :
                        node.redis.hash(key + ":waiters").entrySet()) {
                    long deadline = Long.parseLong(place.getValue().split(" ")[0]);
                    if (deadline >= node.micros() && !isGone.test(place.getKey())) {
                        return name + " has the place " + place.getKey();
                    }
                }
            }
        }
        return leftShared();
    }

    private String leftShared() {
        for (String name : names) {
            if (order(name).isAwaited()) {
                return name + " has a share that waits";
            }
        }
        return pool.owners().isEmpty() ? "" : "the pool has " + pool.owners();
    }

    /** A key without an expiry; null if there is none. */
    String lastingKey() {
        for (Node node : nodes) {
            for (String key : node.redis.keys()) {
                if (node.redis.pttl(key) == -1) {
                    return key;
                }
            }
        }
        return null;
    }
}
