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
 * A cluster as one of its nodes sees it.
 *
 * @param claims the ranges of slots and their masters
 * @param addresses the addresses of all masters with slots and of their replicas
 * @param ids the ids of all nodes, also of nodes without slots and of failed nodes
 */
public record ClusterView(List<Claim> claims, Set<Address> addresses, Set<String> ids) {

    /**
     * A range of slots, the master that claims to have it, and the epoch of that master. Of two claims to a slot, the
     * claim with the greater epoch is right.
     */
    public record Claim(int first, int last, ClusterNode owner, long epoch) {}

    /** The prefix by which RESP3 marks a text for people. Jedis before 8 leaves it in the reply to CLUSTER NODES. */
    private static final String FORMAT = "txt:";

    private static final int ID = 0;
    private static final int EPOCH = 6;

    /**
     * Reads a node's replies.
     *
     * @param asked the address of the node that replied; a node without a known host has the host of this address
     * @param nodes the reply to CLUSTER NODES, which has the epochs
     * @param slots the reply to CLUSTER SLOTS, which has the addresses for clients
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

    /** Whether this view shares a node with the given ones, so that they belong to one cluster. */
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

    /** Whether this text stands for an unknown host: then the node has the host of the node that replied. */
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
