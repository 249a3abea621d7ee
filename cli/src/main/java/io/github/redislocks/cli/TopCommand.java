package io.github.redislocks.cli;

import io.github.redislocks.LockSummary;
import io.github.redislocks.RedisLocks;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows the locks with the most waiters, repeatedly. */
@Command(
        name = "top",
        description = "Shows the locks with the most waiters, then those held longest, repeatedly until Ctrl-C.")
final class TopCommand extends CliCommand {

    private static final String CLEAR = "\u001b[H\u001b[2J";
    private static final String CUT = "\u001b[?7l";
    private static final String WRAP = "\u001b[?7h";

    @Parameters(arity = "0..1", paramLabel = "PATTERN", defaultValue = "*", description = "As for list.")
    private String pattern;

    @Option(names = "--every", paramLabel = "TIME", defaultValue = "2s", description = "Default: ${DEFAULT-VALUE}.")
    private Duration every;

    @Option(
            names = {"-n", "--rows"},
            paramLabel = "N",
            defaultValue = "20",
            description = "How many locks to show. Default: ${DEFAULT-VALUE}.")
    private int rows;

    @Option(names = "--times", paramLabel = "N", description = "How often to show them. Default: until Ctrl-C.")
    private Integer times;

    @Override
    void check() {
        if (rows < 1 || (times != null && times < 1)) {
            throw wrong((rows < 1 ? "--rows is " + rows : "--times is " + times) + ": name 1 or more");
        }
        if (every.isZero()) {
            throw wrong("--every is 0: use 1ms or more");
        }
    }

    @Override
    int run(RedisLocks locks, PrintWriter out) throws InterruptedException {
        boolean terminal = Terminal.isThere();
        Comparator<LockSummary> order = Comparator.comparingInt(LockSummary::queueLength)
                .reversed()
                .thenComparing(lock -> lock.holder()
                        .map(holder -> holder.since().toEpochMilli())
                        .orElse(Long.MAX_VALUE));
        for (long left = times == null ? Long.MAX_VALUE : times; left > 0 && !isUnread(out); left--) {
            List<LockSummary> all = locks.list(pattern).sorted(order).toList();
            List<String> lines = new ArrayList<>(List.of(all.size() + " locks in use"));
            lines.addAll(ListCommand.table(all.subList(0, Math.min(rows, all.size())))
                    .lines());
            if (terminal) {
                out.print(screen(lines));
            } else {
                lines.forEach(out::println);
            }
            out.flush();
            if (left > 1) {
                Thread.sleep(every.toMillis());
            }
        }
        return ExitCodes.OK;
    }

    /**
     * The output that shows as many lines as fit on the terminal, whose size is unknown. Lines are cut at the right
     * edge. The last line is written first. A terminal writes a line for a row below its last row into the last row,
     * where a later line overwrites it.
     */
    static String screen(List<String> lines) {
        StringBuilder screen = new StringBuilder(CLEAR).append(CUT);
        for (int i = lines.size(); i > 0; i--) {
            screen.append("\u001b[" + i + "H\u001b[K").append(lines.get(i - 1));
        }
        return screen.append(WRAP).append("\u001b[" + lines.size() + "H").toString();
    }
}
