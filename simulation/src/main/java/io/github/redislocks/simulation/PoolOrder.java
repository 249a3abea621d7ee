package io.github.redislocks.simulation;

import io.github.redislocks.state.LockKeys;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The permits of the pool and the order of those who wait, as Redis has them. */
final class PoolOrder {

    private final World world;
    private final Node node;
    private final LockKeys keys;
    /** For each number of permits, the time until which nobody could get so many. */
    private final long[] shortUntil = new long[PermitUse.SIZE + 1];
    /** The places that had permits at the last look. */
    private Set<String> owners = Set.of();
    /** The places that waited at the last look, in order. */
    private List<String> line = List.of();

    PoolOrder(World world, Node node, LockKeys keys) {
        this.world = world;
        this.node = node;
        this.keys = keys;
    }

    /** The places that have permits. */
    Set<String> owners() {
        Set<String> present = new HashSet<>();
        node.redis.hash(keys.lock()).forEach((place, text) -> {
            if (place.contains(":") && Long.parseLong(text.split(" ")[1]) >= node.micros()) {
                present.add(place);
            }
        });
        return present;
    }

    private int free() {
        Map<String, String> pool = node.redis.hash(keys.lock());
        return PermitUse.SIZE
                - owners().stream()
                        .mapToInt(place -> pool.get(place).split(" ").length - 3)
                        .sum();
    }

    private List<String> line() {
        return node.redis.zset(keys.queue()).entrySet().stream()
                .sorted(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Whether enough permits are free for the first in line, or all if nobody is in line. */
    boolean servesFirst() {
        List<String> places = line();
        String text = places.isEmpty()
                ? null
                : node.redis.hash(keys.lock() + ":waiters").get(places.get(0));
        return free() >= (text == null ? PermitUse.SIZE : Integer.parseInt(text.split(" ")[2]));
    }

    /** The time until which nobody could get a number of permits, as far as {@link #look} has seen. */
    long shortUntil(int count) {
        return shortUntil[count];
    }

    /** Looks after a request, in a schedule without faults. Fails if somebody got permits before a place ahead. */
    void look() {
        Set<String> present = owners();
        List<String> places = line();
        int free = free();
        for (int count = 1; count <= PermitUse.SIZE; count++) {
            if (!places.isEmpty() || free < count) {
                shortUntil[count] = Long.MAX_VALUE;
            } else if (shortUntil[count] == Long.MAX_VALUE) {
                shortUntil[count] = world.now();
            }
        }
        Set<String> served = new HashSet<>(present);
        served.removeAll(owners);
        List<String> ahead = new ArrayList<>();
        for (String place : line) {
            if (served.remove(place)) {
                checkAhead(place, ahead, places);
            }
            ahead.add(place);
        }
        served.forEach(place -> checkAhead(place, ahead, places));
        owners = present;
        line = places;
    }

    private void checkAhead(String place, List<String> ahead, List<String> places) {
        for (String other : ahead) {
            if (places.contains(other)) {
                world.fail(place + " gets permits before " + other + ", which came earlier");
            }
        }
    }
}
