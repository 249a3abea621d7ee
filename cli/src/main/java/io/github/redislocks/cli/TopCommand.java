package io.github.redislocks.cli;

import io.github.redislocks.LockSummary;
import io.github.redislocks.RedisLocks;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows the most wanted locks, again and again. */
@Command(
        name = "top",
        mixinStandardHelpOptions = true,
        description = "Shows the locks for which most wait, then those held longest, again and again until Ctrl-C.")
final class TopCommand implements Callable<Integer> {

    private static final String CLEAR = "\u001b[H\u001b[2J";

    @Spec
    private CommandSpec spec;

    @Mixin
    private Server server;

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

    @Option(names = "--times", paramLabel = "N", description = "How often to look. Default: until Ctrl-C.")
    private Integer times;

    @Override
    public Integer call() throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        boolean terminal = Terminal.isThere();
        Comparator<LockSummary> order = Comparator.comparingInt(LockSummary::queueLength)
                .reversed()
                .thenComparing(lock -> lock.holder()
                        .map(holder -> holder.since().toEpochMilli())
                        .orElse(Long.MAX_VALUE));
        try (RedisLocks locks = server.open()) {
            for (int left = times == null ? Integer.MAX_VALUE : times; left > 0; left--) {
                List<LockSummary> all = locks.list(pattern).sorted(order).toList();
                out.println((terminal ? CLEAR : "") + all.size() + " locks in use");
                out.println(ListCommand.table(all.subList(0, Math.min(rows, all.size()))));
                out.flush();
                if (left > 1) {
                    Thread.sleep(every.toMillis());
                }
            }
        }
        return ExitCodes.OK;
    }
}
