package io.github.redislocks.simulation;

import io.github.redislocks.simulation.agent.Places;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Counts, for each pair of parts of the library, how often a thread in one part was preempted and a thread in the other
 * part ran next. Counts over all schedules of a JVM.
 */
final class Coverage {

    private static final int NOWHERE = -1;

    /**
     * The counts, by the part of the preempted thread and the part that ran next. The library is loaded before the
     * first schedule.
     */
    private final long[][] pairs = new long[Places.count()][Places.count()];

    private int last = NOWHERE;
    private int left = NOWHERE;

    /** Notes that a schedule begins. */
    void begins() {
        last = NOWHERE;
        left = NOWHERE;
    }

    /** Notes that another thread runs. */
    void switched() {
        left = last;
        last = NOWHERE;
    }

    /** Notes that the running thread is in a part. */
    void reached(int place) {
        if (left != NOWHERE) {
            pairs[left][place]++;
            left = NOWHERE;
        }
        last = place;
    }

    /**
     * The table of rooms: how often a thread in the room of the column ran after a thread in the room of the row was
     * preempted.
     */
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
