package io.github.redislocks.simulation;

import io.github.redislocks.simulation.agent.Places;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Which part of the library was interrupted in the midst of which other part, how often, over all schedules of a JVM.
 */
final class Coverage {

    private static final int NOWHERE = -1;

    /** By the part that was left and the part that ran then. The library is loaded before the first schedule. */
    private final long[][] pairs = new long[Places.count()][Places.count()];

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
            pairs[left][place]++;
            left = NOWHERE;
        }
        last = place;
    }

    /** The table room x room: how often a thread of the column went on after one of the row was left in its midst. */
    String table() {
        TreeSet<String> rooms = new TreeSet<>();
        Map<String, TreeMap<String, Long>> counts = new TreeMap<>();
        int met = 0;
        for (int left = 0; left < pairs.length; left++) {
            for (int next = 0; next < pairs.length; next++) {
                if (pairs[left][next] > 0) {
                    met++;
                    rooms.add(room(left));
                    rooms.add(room(next));
                    counts.computeIfAbsent(room(left), key -> new TreeMap<>())
                            .merge(room(next), pairs[left][next], Long::sum);
                }
            }
        }
        StringBuilder text = new StringBuilder(String.format("%-12s", "left, then"));
        rooms.forEach(room -> text.append(String.format("%12s", room)));
        for (String from : rooms) {
            text.append(String.format("%n%-12s", from));
            for (String to : rooms) {
                long count = counts.getOrDefault(from, new TreeMap<>()).getOrDefault(to, 0L);
                text.append(String.format("%12d", count));
            }
        }
        return text.append(String.format("%npairs of parts: %d of %d%n", met, pairs.length * pairs.length))
                .toString();
    }

    private static String room(int place) {
        String name = Places.name(place);
        int end = name.lastIndexOf('/');
        return end < 0 ? "(public)" : name.substring(0, end);
    }
}
