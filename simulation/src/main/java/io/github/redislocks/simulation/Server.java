package io.github.redislocks.simulation;

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

/** The Redis of all clients of a schedule, which is one server or a quorum, and when it promises exclusion. */
final class Server {

    private static final String PREFIX = "redis-locks";
    private static final Map<String, String> KEYS = new ConcurrentHashMap<>();
    /** Longer than each lease that callers name, and any pause of a client. */
    private static final long LEARNED_NANOS = 9_000_000_000L;

    final List<Node> nodes = new ArrayList<>();
    private final World world;
    private final List<String> names;
    private final boolean resident;
    /** The first token that was not given yet when exclusion was last broken by what happened to a lock. */
    private final Map<String, Long> brokenBelow = new HashMap<>();
    /** When that was, by the true time. */
    private final Map<String, Long> brokenAt = new HashMap<>();
    /** The locks of which {@code forceUnlock} has ended a hold. */
    private final Set<String> forced = new HashSet<>();
    /** The first token that was not given yet when somebody last deleted the lock. */
    private final Map<String, Long> deletedBelow = new HashMap<>();
    /** How many callers force the lock now. */
    private final Map<String, Integer> forcing = new HashMap<>();

    private boolean clockWentBack;
    private boolean forgot;

    Server(World world, List<String> names, Client.Options options) {
        this.world = world;
        this.names = names;
        this.resident = options.resident();
        for (int i = 0; i < options.nodes(); i++) {
            nodes.add(new Node(world, names));
        }
    }

    boolean isQuorum() {
        return nodes.size() > 1;
    }

    /** The Redis with this number, as far as there are so many: else another. */
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
                names.forEach(this::broken);
            }
            case FLUSH -> {
                forgets();
                node.redis.flushAll();
            }
            case RESTART_EMPTY -> {
                // A master of a quorum gives no vote then until those that it forgot have ended.
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
        names.forEach(this::broken);
    }

    /** Somebody has ended or deleted the lock beside its holder, or it is forgotten. */
    void broken(String name) {
        for (Node node : nodes) {
            String last = node.redis.string(LockKeys.of(PREFIX, name).fence());
            long next = last == null ? 0 : Long.parseLong(last.replaceAll("[^0-9].*", "")) + 1;
            brokenBelow.merge(name, Math.max(next, node.micros() + 1), Math::max);
        }
        brokenAt.put(name, world.now());
    }

    /** Whether anything may have ended or deleted the lock beside its holder. */
    boolean wasBroken(String name) {
        return brokenAt.containsKey(name) || forcing.containsKey(name);
    }

    /** Somebody is about to force the lock, at a moment that only Redis knows. */
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

    /** Somebody deletes the lock. */
    void delete(String name) {
        broken(name);
        deletedBelow.put(name, brokenBelow.get(name));
        nodes.forEach(node -> node.redis.del(lockKey(name)));
    }

    /**
     * Whether exclusion is promised to a hold with this token: it began after exclusion was last broken, or that was so
     * long ago that its client has learned of it.
     */
    boolean isPromised(String name, long token) {
        return forcing.getOrDefault(name, 0) == 0
                && (token >= brokenBelow.getOrDefault(name, 0L)
                        || world.now() - brokenAt.getOrDefault(name, 0L) > LEARNED_NANOS);
    }

    /**
     * Whether tokens of a lock may be given out again: the server's time went back, and the last tokens were forgotten;
     * or the lock was forced or deleted while a client kept it, which had told only its first token.
     */
    boolean mayRepeatTokens(String name) {
        return clockWentBack && (forgot || resident && wasBroken(name));
    }

    /** Whether tokens may be later than the time by the server's clock: it went back. */
    boolean hasOddTokens() {
        return clockWentBack;
    }

    /** Until when, as far as was seen, a lock had an owner. */
    long ownedUntil(String name) {
        return nodes.stream().mapToLong(node -> node.ownedUntil(name)).max().orElse(0);
    }

    boolean isFree(String name) {
        return ofMajority(name, "owner") == null;
    }

    /** Whether {@code forceUnlock}, which sends a message to the holder, must have ended a hold that is gone. */
    boolean wasForced(String name, long token) {
        return forced.contains(name) && token >= deletedBelow.getOrDefault(name, 0L);
    }

    /** A field of the hold that Redis has; null if none has the lock. */
    String field(String name, String field) {
        return ofMajority(name, field);
    }

    /** For how long the lock is still taken if nothing happens. */
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
        return KEYS.computeIfAbsent(name, first -> LockKeys.of(PREFIX, first).lock());
    }

    /**
     * Names an owner or a place that is left of locks that nobody uses; empty if there is none.
     *
     * @param isGone whether a process is gone, of which places may be left
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
        return "";
    }

    /** A key that stays for ever; null if there is none. */
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
