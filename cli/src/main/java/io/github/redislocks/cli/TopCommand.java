package io.github.redislocks.cli;

import io.github.redislocks.LockSummary;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.RedisLocks;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows the locks and pools with the most waiters, repeatedly. */
@Command(
        name = "top",
        description = "Shows the locks and pools with the most waiters, then the locks held longest, repeatedly until"
                + " Ctrl-C.")
final class TopCommand extends CliCommand {

    private static final String CLEAR = "\u001b[H\u001b[2J";
    private static final String CUT = "\u001b[?7l";
    private static final String WRAP = "\u001b[?7h";
    private static final Comparator<LockSummary> LOCKS = Comparator.comparingInt(LockSummary::queueLength)
            .reversed()
            .thenComparing(lock ->
                    lock.holder().map(holder -> holder.since().toEpochMilli()).orElse(Long.MAX_VALUE));
    private static final Comparator<PermitsInspection> POOLS = Comparator.<PermitsInspection>comparingInt(
                    pool -> pool.waiting().size())
            .reversed()
            .thenComparing(PermitsInspection::name);

    @Parameters(arity = "0..1", paramLabel = "PATTERN", defaultValue = "*", description = "As for list.")
    private String pattern;

    @Option(names = "--every", paramLabel = "TIME", defaultValue = "2s", description = "Default: ${DEFAULT-VALUE}.")
    private Duration every;

    @Option(
            names = {"-n", "--rows"},
            paramLabel = "N",
            defaultValue = "20",
            description = "How many locks and pools to show. Default: ${DEFAULT-VALUE}.")
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
        for (long left = times == null ? Long.MAX_VALUE : times; left > 0 && !isUnread(out); left--) {
            List<String> lines =
                    lines(locks.list(pattern).sorted(LOCKS).toList(), ListCommand.pools(locks, pattern, POOLS));
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
     * The lines of one look: a table of locks, and one of pools. Of a lock and a pool with as many waiters, the lock
     * goes first.
     */
    private List<String> lines(List<LockSummary> locks, List<PermitsInspection> pools) {
        int ofLocks = 0;
        int ofPools = 0;
        while (ofLocks + ofPools < Math.min(rows, locks.size() + pools.size())) {
            if (ofPools == pools.size()
                    || (ofLocks < locks.size()
                            && locks.get(ofLocks).queueLength()
                                    >= pools.get(ofPools).waiting().size())) {
                ofLocks++;
            } else {
                ofPools++;
            }
        }
        String andPools = pools.isEmpty() ? "" : " and " + pools.size() + " pools";
        List<String> lines = new ArrayList<>(List.of(locks.size() + " locks" + andPools + " in use"));
        if (ofLocks > 0) {
            lines.addAll(ListCommand.table(locks.subList(0, ofLocks)).lines());
        }
        if (ofPools > 0) {
            lines.addAll(ListCommand.poolTable(pools.subList(0, ofPools)).lines());
        }
        return lines;
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
