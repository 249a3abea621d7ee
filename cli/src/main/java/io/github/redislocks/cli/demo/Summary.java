package io.github.redislocks.cli.demo;

import io.github.redislocks.cli.demo.Sale.Result;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

/** The table at the end of the demo, which shows the sales side by side. */
final class Summary {

    private static final String NONE = "-";

    private final List<Result> results;
    private final StringBuilder table = new StringBuilder();

    private Summary(List<Result> results) {
        this.results = results;
    }

    static String of(Result... results) {
        return new Summary(List.of(results)).text();
    }

    private String text() {
        row("", result -> result.plan().title());
        row("stock", result -> Integer.toString(result.ledger().stock()));
        row("sold", result -> Integer.toString(result.ledger().sold()));
        row("oversold", result -> Integer.toString(result.ledger().oversold()));
        for (int process = 1; process <= Sale.PROCESSES; process++) {
            int number = process;
            row("by process " + process, result -> share(result, number));
        }
        row("time", result -> seconds(result.duration()));
        row(
                "recovery after kill -9",
                result -> result.recovery().map(Summary::seconds).orElse(NONE));
        row("tokens strictly increasing", Summary::tokens);
        return table.toString();
    }

    private void row(String name, Function<Result, String> value) {
        table.append("  %-28s".formatted(name));
        for (Result result : results) {
            table.append("%22s".formatted(value.apply(result)));
        }
        table.append(System.lineSeparator());
    }

    private static String share(Result result, int process) {
        Ledger ledger = result.ledger();
        int sold = ledger.soldBy(process);
        String killed = process == result.plan().victim() ? "killed, " : "";
        return "%s%d (%d %%)".formatted(killed, sold, Math.round(100.0 * sold / Math.max(1, ledger.sold())));
    }

    private static String seconds(Duration duration) {
        return "%.2f s".formatted(duration.toMillis() / 1e3);
    }

    private static String tokens(Result result) {
        if (!result.plan().strict()) {
            return NONE;
        }
        return result.ledger().tokensIncrease() ? "yes" : "NO";
    }
}
