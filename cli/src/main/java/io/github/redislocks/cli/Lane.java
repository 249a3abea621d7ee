package io.github.redislocks.cli;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** A lane of the picture: the bars beside one name, usually the name of a thread. */
final class Lane {

    private static final Pattern NUMBER = Pattern.compile("\\d+");

    final String name;
    final List<Piece> pieces = new ArrayList<>();

    private final boolean isLast;
    private final String sorted;

    Lane(String name, boolean isLast) {
        this.name = name;
        this.isLast = isLast;
        // Pad numbers with zeros, so that 2 is sorted before 10.
        this.sorted = NUMBER.matcher(name)
                .replaceAll(number -> "0".repeat(Math.max(0, 20 - number.group().length())) + number.group());
    }

    static Comparator<Lane> order() {
        return Comparator.comparing((Lane lane) -> lane.isLast).thenComparing(lane -> lane.sorted);
    }

    /** Gives each piece a row, so that the pieces of a row do not overlap. Returns the number of rows. */
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
