package io.github.redislocks.cli;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** The bars that are drawn beside one name, as a rule that of a thread. */
final class Lane {

    private static final Pattern NUMBER = Pattern.compile("\\d+");

    final String name;
    final List<Piece> pieces = new ArrayList<>();

    private final boolean isLast;
    private final String sorted;

    Lane(String name, boolean isLast) {
        this.name = name;
        this.isLast = isLast;
        // Such that 2 comes before 10.
        this.sorted = NUMBER.matcher(name)
                .replaceAll(number -> "0".repeat(Math.max(0, 20 - number.group().length())) + number.group());
    }

    static Comparator<Lane> order() {
        return Comparator.comparing((Lane lane) -> lane.isLast).thenComparing(lane -> lane.sorted);
    }

    /** Gives each piece a row, such that those of a row do not overlap; returns how many rows there are. */
    int layOut() {
        pieces.sort(Comparator.comparingLong(Piece::begin)
                .thenComparing(Comparator.comparingLong(Piece::end).reversed()));
        PriorityQueue<Piece> lasting = new PriorityQueue<>(Comparator.comparingLong(Piece::end));
        TreeSet<Integer> free = new TreeSet<>();
        int rows = 0;
        for (Piece piece : pieces) {
            while (!lasting.isEmpty() && lasting.peek().end() <= piece.begin()) {
                free.add(lasting.poll().row);
            }
            piece.row = free.isEmpty() ? rows++ : free.pollFirst();
            lasting.add(piece);
        }
        return rows;
    }
}
