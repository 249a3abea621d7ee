package io.github.redislocks.redis.cluster;

import io.github.redislocks.redis.Address;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The view that one node has of its cluster.
 *
 * @param claims the ranges of slots and their masters
 * @param addresses the addresses of all nodes that have slots, replicas included
 * @param ids the ids of all nodes, those without slots and those that failed included
 */
public record ClusterView(List<Claim> claims, Set<Address> addresses, Set<String> ids) {

    /**
     * A range of slots, the master that has it, and the master's epoch. Of two claims to a slot, the one with the
     * greater epoch is right.
     */
    public record Claim(int first, int last, ClusterNode owner, long epoch) {}

    /** The format of a text for people, which Jedis before 8 leaves in the reply to CLUSTER NODES in RESP3. */
    private static final String FORMAT = "txt:";

    private static final int ID = 0;
    private static final int EPOCH = 6;

    /**
     * Reads the replies to CLUSTER NODES, which has the epochs, and to CLUSTER SLOTS, which has the addresses that
     * clients should use.
     *
     * @param asked the address of the node that replied, used for a node that does not know its own address
     */
    public static ClusterView of(Address asked, Object nodes, Object slots) {
        Map<String, Long> epochs = epochs(text(nodes));
        List<Claim> claims = new ArrayList<>();
        Set<Address> addresses = new LinkedHashSet<>();
        for (Object range : list(slots)) {
            List<?> parts = list(range);
            for (int i = 2; i < parts.size(); i++) {
                ClusterNode node = node(asked, list(parts.get(i)));
                addresses.add(node.address());
                if (i == 2) {
                    long epoch = epochs.getOrDefault(node.id(), 0L);
                    claims.add(new Claim(number(parts.get(0)), number(parts.get(1)), node, epoch));
                }
            }
        }
        return new ClusterView(claims, addresses, epochs.keySet());
    }

    /** Whether this is a view of the cluster that has these nodes. */
    public boolean isOf(Set<String> nodes) {
        return !Collections.disjoint(ids, nodes);
    }

    private static Map<String, Long> epochs(String nodes) {
        Map<String, Long> epochs = new HashMap<>();
        String lines = nodes.startsWith(FORMAT) ? nodes.substring(FORMAT.length()) : nodes;
        lines.lines()
                .map(line -> line.split(" ", -1))
                .filter(parts -> parts.length > EPOCH)
                .forEach(parts -> {
                    epochs.put(parts[ID], Long.parseLong(parts[EPOCH]));
                });
        return epochs;
    }

    /**
     * Whether this host stands for a node that does not know its own host: then it is the host of the node that
     * replied.
     */
    static boolean isUnknown(String host) {
        return host.isEmpty() || host.equals("?");
    }

    private static ClusterNode node(Address asked, List<?> parts) {
        String host = text(parts.get(0));
        String known = isUnknown(host) ? asked.host() : host;
        return new ClusterNode(text(parts.get(2)), new Address(known, number(parts.get(1))));
    }

    private static List<?> list(@Nullable Object value) {
        if (value instanceof List<?> parts) {
            return parts;
        }
        throw new IllegalStateException("The answer to CLUSTER SLOTS has no list where one is expected");
    }

    private static int number(@Nullable Object value) {
        if (value instanceof Long number) {
            return Math.toIntExact(number);
        }
        throw new IllegalStateException("The answer to CLUSTER SLOTS has no number where one is expected");
    }

    private static String text(@Nullable Object value) {
        return value instanceof String text ? text : "";
    }
}
