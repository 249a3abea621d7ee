package io.github.redislocks.cli;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Help.ColorScheme;
import picocli.CommandLine.Help.Column;

/** Rows in columns that are as wide as they need to be. */
final class Table {

    private static final int GAP = 2;

    private final List<String[]> rows = new ArrayList<>();

    Table(String... heads) {
        rows.add(heads);
    }

    void add(String... row) {
        rows.add(row);
    }

    @Override
    public String toString() {
        Column[] columns = new Column[rows.get(0).length];
        for (int i = 0; i < columns.length; i++) {
            int index = i;
            int width = rows.stream().mapToInt(row -> row[index].length()).max().orElse(0);
            columns[i] = new Column(width + GAP, 0, Column.Overflow.SPAN);
        }
        ColorScheme plain = new ColorScheme.Builder(Ansi.OFF).build();
        Help.TextTable table = Help.TextTable.forColumns(plain, columns);
        rows.forEach(table::addRowValues);
        return table.toString().stripTrailing();
    }
}
