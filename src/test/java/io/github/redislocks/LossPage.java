package io.github.redislocks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The tables of {@code docs/losses.md}: which ways there are, and what their owners are told. */
final class LossPage {

    private static final Pattern CALL = Pattern.compile("`([^`]+)`");

    /** The ways that share a row, and the modes in which they exist. */
    record Row(String owner, List<Way> ways, List<Mode> modes) {}

    /** How a lock is taken. */
    enum Mode {
        PLAIN,
        FAIR,
        RESIDENT,
        NAMED,
        WAITED,
        LOCAL
    }

    /** An event in the life of a held lock, by the first word of its row. */
    enum Happening {
        RELEASED,
        KEPT,
        OLD,
        STALLED,
        UNCONFIRMED,
        FORCED,
        HEARD,
        OURS,
        DELETED,
        WATCHED,
        FLUSHED,
        WASHED,
        CLOSED,
        ABANDONED,
        OVERDUE
    }

    /** The latest time of the notification, in ms: with a lease of 30 s, or a named one of 20 s. */
    enum When {
        AT_ONCE(100),
        BY_A_HEARTBEAT(1_600),
        BY_THE_RENEWAL(10_100),
        IN_TIME(31_000),
        BY_ITS_END(11_000);

        final long millis;

        When(long millis) {
            this.millis = millis;
        }
    }

    /** The notification that an owner gets; none if there is no reason. */
    record Expected(LockLost.@Nullable Reason reason, When when) {}

    private LossPage() {}

    /** The cells of the table whose first heading is this. */
    private static List<List<String>> table(String heading) {
        List<List<String>> rows = new ArrayList<>();
        boolean inside = false;
        for (String line : lines()) {
            List<String> cells =
                    Arrays.stream(line.split("\\|")).skip(1).map(String::strip).toList();
            inside = !cells.isEmpty() && (inside || cells.get(0).equals(heading));
            if (inside && !line.startsWith("|---")) {
                rows.add(cells);
            }
        }
        return rows;
    }

    private static List<String> lines() {
        try {
            return Files.readAllLines(Path.of("docs/losses.md"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static List<Row> rows() {
        return table("held by").stream().skip(1).map(LossPage::row).toList();
    }

    private static Row row(List<String> cells) {
        List<Way> ways = calls(cells.get(1)).stream().map(Way::of).toList();
        List<Mode> modes = Arrays.stream(cells.get(2).split(", "))
                .map(mode -> Mode.valueOf(mode.toUpperCase(Locale.ROOT)))
                .toList();
        return new Row(cells.get(0), ways, modes);
    }

    private static List<String> calls(String cell) {
        return CALL.matcher(cell).results().map(call -> call.group(1)).toList();
    }

    /** Reads the cell of a mode; empty if the event does not exist in that mode. */
    static Optional<Expected> expected(Happening what, Mode mode) {
        List<List<String>> rows = table("what happens");
        int column = Math.max(1, rows.get(0).indexOf(mode.name().toLowerCase(Locale.ROOT)));
        List<String> row = rows.stream()
                .filter(cells -> cells.get(0).matches("(?i)" + what + "\\b.*"))
                .findAny()
                .orElseThrow();
        String cell = row.get(column);
        if (cell.equals("-")) {
            return Optional.empty();
        }
        if (cell.equals("no loss")) {
            return Optional.of(new Expected(null, When.IN_TIME));
        }
        String reason = calls(cell).get(0);
        String when =
                cell.substring(reason.length() + 3).toUpperCase(Locale.ROOT).replace(' ', '_');
        return Optional.of(new Expected(LockLost.Reason.valueOf(reason), When.valueOf(when)));
    }
}
