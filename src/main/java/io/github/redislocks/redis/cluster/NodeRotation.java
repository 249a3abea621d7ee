package io.github.redislocks.redis.cluster;

import io.github.redislocks.concurrent.TroubleNews;
import io.github.redislocks.redis.RedisException;
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
public final class NodeRotation {

    /** Every so many times a node is asked although it may be one that failed. */
    private static final int TURNS_PER_FAILED = 4;

    /**
     * What is known of a node: why it gave no answer when it was asked last, "" if it did; and what it threw, if so.
     */
    private record Last(String trouble, @Nullable RuntimeException thrown, TroubleNews news) {

        boolean isGood() {
            return trouble.isEmpty();
        }
    }

    /** The node that was asked longest ago comes first. */
    private final Map<HostAndPort, Last> nodes = new LinkedHashMap<>();

    /** The nodes that are being asked. */
    private final Set<HostAndPort> asked = new HashSet<>();

    private @Nullable HostAndPort preferred;
    private int turn;

    public NodeRotation(Collection<HostAndPort> first) {
        first.forEach(node -> nodes.put(node, unasked()));
    }

    private static Last unasked() {
        return new Last("", null, new TroubleNews());
    }

    /** Lets this one be next: it has news. */
    public void prefer(HostAndPort node) {
        preferred = node;
    }

    /** The node with news; or the next that answered last time, now and then just the next. Null: all are asked now. */
    @Nullable
    public HostAndPort next() {
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
                : free.stream().filter(this::isGood).findFirst().orElse(free.get(0));
    }

    private boolean isGood(HostAndPort node) {
        Last last = nodes.get(node);
        return last != null && last.isGood();
    }

    public void answered(HostAndPort node) {
        asked.remove(node);
        Last before = nodes.remove(node);
        if (before != null) {
            before.news.end();
            nodes.put(node, new Last("", null, before.news));
        }
    }

    /** Notes that a node gave no answer, and what it threw, if it did; whether that is to be told. */
    public boolean failed(HostAndPort node, String why, @Nullable RuntimeException thrown, long now) {
        asked.remove(node);
        Last before = nodes.remove(node);
        if (before == null) {
            return false;
        }
        nodes.put(node, new Last(why, thrown, before.news));
        return before.news.isToBeTold(now, now);
    }

    /** Goes on with these only. */
    public void keep(Set<HostAndPort> wanted) {
        nodes.keySet().retainAll(wanted);
        wanted.forEach(node -> nodes.putIfAbsent(node, unasked()));
    }

    /** Whether all have failed. */
    public boolean isHopeless() {
        return nodes.values().stream().noneMatch(Last::isGood);
    }

    /** The refusal of the first, if every node has refused to say anything, each for a reason that does not pass. */
    public RedisException.@Nullable Refused refusal() {
        RedisException.Refused first = null;
        for (Last last : nodes.values()) {
            if (!(last.thrown instanceof RedisException.Refused refused) || refused.passing()) {
                return null;
            }
            first = first == null ? refused : first;
        }
        return first;
    }

    /** What each had to say. */
    public String troubles() {
        return nodes.entrySet().stream()
                .map(node -> node.getValue().isGood() ? silence(node.getKey()) : node.getValue().trouble)
                .collect(Collectors.joining("; "));
    }

    private String silence(HostAndPort node) {
        return node + (asked.contains(node) ? " has not answered yet" : " has not named a master");
    }
}
