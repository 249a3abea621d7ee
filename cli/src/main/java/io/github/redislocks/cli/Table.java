package io.github.redislocks.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Rows in columns that are as wide as they need to be, one row a line whatever is in it. */
final class Table {

    private static final String GAP = "  ";

    private final List<List<String>> rows = new ArrayList<>();

    Table(String... heads) {
        add(heads);
    }

    void add(String... row) {
        rows.add(Stream.of(row).map(Shown::of).toList());
    }

    @Override
    public String toString() {
        return rows.stream().map(this::line).collect(Collectors.joining(System.lineSeparator()));
    }

    private String line(List<String> row) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < row.size(); i++) {
            line.append(row.get(i))
                    .append(" ".repeat(width(i) - length(row.get(i))))
                    .append(GAP);
        }
        return line.toString().stripTrailing();
    }

    private int width(int column) {
        return rows.stream().mapToInt(row -> length(row.get(column))).max().orElse(0);
    }

    private static int length(String text) {
        return text.codePointCount(0, text.length());
    }
}
