package io.github.redislocks.cli;

import io.github.redislocks.concurrent.Shown;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A table for the terminal. Each row is one line, and each column is as wide as its texts need. */
final class Table {

    private static final String GAP = "  ";
    /** The greatest width of a column. A longer text moves only the rest of its row to the right. */
    private static final int WIDEST = 64;

    private final List<List<String>> rows = new ArrayList<>();

    Table(String... heads) {
        add(heads);
    }

    void add(String... row) {
        rows.add(Stream.of(row).map(Shown::of).toList());
    }

    @Override
    public String toString() {
        return String.join(System.lineSeparator(), lines());
    }

    List<String> lines() {
        int[] widths = new int[rows.get(0).size()];
        for (List<String> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                int length = length(row.get(i));
                widths[i] = length > WIDEST ? widths[i] : Math.max(widths[i], length);
            }
        }
        return rows.stream().map(row -> line(row, widths)).toList();
    }

    private static String line(List<String> row, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            String text = row.get(i);
            line.append(text)
                    .append(" ".repeat(Math.max(0, widths[i] - length(text))))
                    .append(GAP);
        }
        return line.toString().stripTrailing();
    }

    private static int length(String text) {
        return text.codePointCount(0, text.length());
    }
}
