package io.github.redislocks.simulation;

import io.github.redislocks.simulation.agent.Places;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Which part of the library was interrupted in the midst of which other part, how often, over all schedules of a JVM.
 */
final class Coverage {

    private static final int NOWHERE = -1;

    private final Map<Long, Long> pairs = new HashMap<>();
    private int last = NOWHERE;
    private int left = NOWHERE;

    /** A schedule begins. */
    void begins() {
        last = NOWHERE;
        left = NOWHERE;
    }

    /** Another thread runs. */
    void switched() {
        left = last;
        last = NOWHERE;
    }

    /** The running thread is in a part. */
    void reached(int place) {
        if (left != NOWHERE) {
            pairs.merge((long) left << 32 | place, 1L, Long::sum);
            left = NOWHERE;
        }
        last = place;
    }

    /** The table room x room: how often a thread of the column went on after one of the row was left in its midst. */
    String table() {
        TreeSet<String> rooms = new TreeSet<>();
        Map<String, TreeMap<String, Long>> counts = new TreeMap<>();
        pairs.forEach((pair, count) -> {
            String from = room((int) (pair >>> 32));
            String to = room(pair.intValue());
            rooms.add(from);
            rooms.add(to);
            counts.computeIfAbsent(from, key -> new TreeMap<>()).merge(to, count, Long::sum);
        });
        StringBuilder text = new StringBuilder(String.format("%-12s", "left, then"));
        rooms.forEach(room -> text.append(String.format("%12s", room)));
        for (String from : rooms) {
            text.append(String.format("%n%-12s", from));
            for (String to : rooms) {
                long count = counts.getOrDefault(from, new TreeMap<>()).getOrDefault(to, 0L);
                text.append(String.format("%12d", count));
            }
        }
        return text.append(String.format("%npairs of parts: %d of %d%n", pairs.size(), Places.count() * Places.count()))
                .toString();
    }

    private static String room(int place) {
        String name = Places.name(place);
        int end = name.lastIndexOf('/');
        return end < 0 ? "(public)" : name.substring(0, end);
    }
}
