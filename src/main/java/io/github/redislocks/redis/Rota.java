package io.github.redislocks.redis;

import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;

/** Which node of a cluster is asked next: none that is just being asked. For one thread at a time. */
final class Rota {

    /** Every so many times a node is asked although it may be one that failed. */
    private static final int TURNS_PER_FAILED = 4;

    /** Who was asked longest ago comes first; why each gave no answer when it was asked last, "" if it did. */
    private final Map<HostAndPort, String> nodes = new LinkedHashMap<>();

    /** Who is being asked. */
    private final Set<HostAndPort> asked = new HashSet<>();

    private @Nullable HostAndPort preferred;
    private int turn;

    Rota(Collection<HostAndPort> first) {
        first.forEach(node -> nodes.put(node, ""));
    }

    /** Lets this one be next: it has news. */
    void prefer(HostAndPort node) {
        preferred = node;
    }

    /** Who has news; or the next that answered last time, and now and then just the next. Null: all are being asked. */
    @Nullable
    HostAndPort next() {
        HostAndPort chosen = preferred;
        preferred = null;
        if (chosen == null || asked.contains(chosen)) {
            chosen = another();
        }
        if (chosen != null) {
            asked.add(chosen);
        }
        return chosen;
    }

    private @Nullable HostAndPort another() {
        List<HostAndPort> free =
                nodes.keySet().stream().filter(node -> !asked.contains(node)).toList();
        if (free.isEmpty()) {
            return null;
        }
        return turn++ % TURNS_PER_FAILED == 0
                ? free.get(0)
                : free.stream()
                        .filter(node -> String.valueOf(nodes.get(node)).isEmpty())
                        .findFirst()
                        .orElse(free.get(0));
    }

    void answered(HostAndPort node) {
        asked.remove(node);
        if (nodes.remove(node) != null) {
            nodes.put(node, "");
        }
    }

    /** Whether it had answered the last time. */
    boolean failed(HostAndPort node, String why) {
        asked.remove(node);
        String before = nodes.remove(node);
        if (before != null) {
            nodes.put(node, why);
        }
        return before != null && before.isEmpty();
    }

    /** Goes on with these only. */
    void keep(Set<HostAndPort> wanted) {
        nodes.keySet().retainAll(wanted);
        wanted.forEach(node -> nodes.putIfAbsent(node, ""));
    }

    /** Whether all have failed. */
    boolean isHopeless() {
        return nodes.values().stream().noneMatch(String::isEmpty);
    }

    /** What each had to say. */
    String troubles() {
        return nodes.entrySet().stream()
                .map(node -> node.getValue().isEmpty() ? silence(node.getKey()) : node.getValue())
                .collect(Collectors.joining("; "));
    }

    private String silence(HostAndPort node) {
        return node + (asked.contains(node) ? " has not answered yet" : " has not named a master");
    }
}
