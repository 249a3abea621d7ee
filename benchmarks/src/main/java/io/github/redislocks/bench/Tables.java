package io.github.redislocks.bench;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Results as Markdown tables with aligned columns. */
final class Tables {

    private Tables() {}

    static String environment(Map<String, String> environment) {
        List<List<String>> lines = new ArrayList<>();
        lines.add(List.of("", ""));
        environment.forEach((name, value) -> lines.add(List.of(name, value)));
        return lines(lines);
    }

    static String markdown(Results.Section section) {
        Set<String> columns = new LinkedHashSet<>();
        section.rows().values().forEach(row -> columns.addAll(row.keySet()));
        List<List<String>> lines = new ArrayList<>();
        List<String> head = new ArrayList<>(columns);
        head.add(0, "contender");
        lines.add(head);
        section.rows().forEach((name, row) -> {
            List<String> line = new ArrayList<>(List.of(name));
            columns.forEach(column -> line.add(row.containsKey(column) ? text(row.get(column)) : ""));
            lines.add(line);
        });
        return "### " + section.work() + ": " + section.title() + "\n\n" + lines(lines);
    }

    static String markdown(Series series) {
        Set<Integer> places = new TreeSet<>();
        series.lines().values().forEach(line -> places.addAll(line.keySet()));
        List<List<String>> lines = new ArrayList<>();
        List<String> head = new ArrayList<>(series.lines().keySet());
        head.add(0, series.across());
        lines.add(head);
        for (Integer place : places) {
            List<String> line = new ArrayList<>(List.of(number(place)));
            series.lines()
                    .values()
                    .forEach(values -> line.add(values.containsKey(place) ? number(values.get(place)) : ""));
            lines.add(line);
        }
        return "### " + series.title() + ": " + series.up() + "\n\n" + lines(lines);
    }

    /** The median, and the quartiles if there were several rounds. */
    private static String text(Figure figure) {
        String median = number(figure.median());
        return figure.times() == 1 ? median : median + " (" + number(figure.low()) + "–" + number(figure.high()) + ")";
    }

    /** A number with three significant digits; whole numbers have all digits. */
    static String number(double value) {
        double size = Math.abs(value);
        if (size >= 100 || value == Math.rint(value)) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        return String.format(Locale.ROOT, size >= 10 ? "%.1f" : size >= 0.095 ? "%.2f" : "%.4f", value);
    }

    private static String lines(List<List<String>> cells) {
        int columns = cells.get(0).size();
        int[] widths = new int[columns];
        cells.forEach(line -> {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], line.get(i).length());
            }
        });
        StringBuilder text = new StringBuilder();
        for (int row = 0; row < cells.size(); row++) {
            for (int i = 0; i < columns; i++) {
                String format = i == 0 ? "| %-" : " | %";
                text.append(String.format(
                        format + Math.max(1, widths[i]) + "s", cells.get(row).get(i)));
            }
            text.append(" |\n");
            if (row == 0) {
                for (int i = 0; i < columns; i++) {
                    text.append(i == 0 ? "|:" : "|")
                            .append("-".repeat(widths[i] + 1))
                            .append(i == 0 ? "" : ":");
                }
                text.append("|\n");
            }
        }
        return text.toString();
    }
}
