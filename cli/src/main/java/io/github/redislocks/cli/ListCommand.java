package io.github.redislocks.cli;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockOwner;
import io.github.redislocks.LockSummary;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.RedisLocks;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Lists the locks in use. */
@Command(
        name = "list",
        description = {
            "Lists the locks that are not free or that somebody waits for, and the pools with permits that are held or"
                    + " waited for.",
            "Scans all keys of the server, 25 with each request, so that no other client waits long."
        })
final class ListCommand extends CliCommand {

    private static final Comparator<PermitsInspection> BY_NAME = Comparator.comparing(PermitsInspection::name);

    @Parameters(
            arity = "0..1",
            paramLabel = "PATTERN",
            defaultValue = "*",
            description = "Names of locks, with * for any characters, ? for one and [a-c] for some. Default: all.")
    private String pattern;

    @Option(names = "--json", description = "Print a JSON object a line, for other programs.")
    private boolean json;

    @Override
    int run(RedisLocks locks, PrintWriter out) {
        if (json) {
            // Use forEach() of the stream: an iterator would read all keys of a server before the first line.
            locks.list(pattern).takeWhile(next -> !isUnread(out)).forEach(lock -> out.println(Json.of(fields(lock))));
            List<PermitsInspection> pools = isUnread(out) ? List.of() : pools(locks, pattern, BY_NAME);
            pools.forEach(
                    pool -> out.println(Json.of(Map.of("pool", pool.name(), "permits", InspectCommand.fields(pool)))));
            return ExitCodes.OK;
        }
        List<LockSummary> all = locks.list(pattern)
                .sorted(Comparator.comparing(LockSummary::lockName))
                .toList();
        List<PermitsInspection> pools = pools(locks, pattern, BY_NAME);
        if (!all.isEmpty()) {
            out.println(table(all));
        }
        if (!pools.isEmpty()) {
            out.println(poolTable(pools));
        }
        if (all.isEmpty() && pools.isEmpty()) {
            out.println(
                    "No lock " + (pattern.equals("*") ? "" : "like " + pattern + " ") + "is held, kept or waited for.");
        }
        return ExitCodes.OK;
    }

    /** The pools in use; none if Redis refuses to show pools to this user. */
    static List<PermitsInspection> pools(RedisLocks locks, String pattern, Comparator<PermitsInspection> order) {
        try {
            return locks.listPermits(pattern).sorted(order).toList();
        } catch (LockUnavailableException e) {
            InspectCommand.throwUnlessRefused(e);
            return List.of();
        }
    }

    static Table poolTable(List<PermitsInspection> pools) {
        Table table = new Table("POOL", "PERMITS", "OUT", "HANDLES", "QUEUE");
        for (PermitsInspection pool : pools) {
            int out =
                    pool.held().stream().mapToInt(held -> held.numbers().size()).sum();
            table.add(
                    pool.name(),
                    Integer.toString(pool.size()),
                    Integer.toString(out),
                    Integer.toString(pool.held().size()),
                    Integer.toString(pool.waiting().size()));
        }
        return table;
    }

    static Table table(List<LockSummary> locks) {
        Table table = new Table("LOCK", "STATE", "HOLDER", "SINCE", "LEASE", "HOLDS", "QUEUE", "CONDITIONS", "TOKEN");
        for (LockSummary lock : locks) {
            LockInspection.Holder holder = lock.holder().orElse(null);
            table.add(
                    lock.lockName(),
                    state(lock),
                    holder == null ? "" : holder.owner().toString(),
                    holder == null || holder.owner().isReaders()
                            ? ""
                            : Times.show(Duration.between(holder.since(), Instant.now())),
                    holder == null ? lock.keptFor().map(Times::show).orElse("") : Times.show(holder.remainingLease()),
                    holder == null || holder.owner().isResidence() ? "" : Integer.toString(holder.holds()),
                    Integer.toString(lock.queueLength()),
                    Integer.toString(lock.conditionLength()),
                    holder == null ? "" : Long.toString(holder.token()));
        }
        return table;
    }

    private static String state(LockSummary lock) {
        if (lock.holder().isPresent()) {
            LockOwner owner = lock.holder().get().owner();
            return owner.isReaders() ? "read" : owner.isResidence() ? "resident" : "held";
        }
        return lock.keptFor().isPresent() ? "kept" : "free";
    }

    private static Map<String, Object> fields(LockSummary lock) {
        Map<String, Object> fields = new TreeMap<>();
        fields.put("lock", lock.lockName());
        fields.put("queue", lock.queueLength());
        fields.put("conditions", lock.conditionLength());
        lock.holder().ifPresent(holder -> fields.put("holder", holder(holder)));
        lock.keptFor().ifPresent(time -> fields.put("keptForMillis", time.toMillis()));
        return fields;
    }

    static Map<String, Object> holder(LockInspection.Holder holder) {
        Map<String, Object> fields = new TreeMap<>();
        fields.put("owner", holder.owner().toString());
        if (!holder.owner().isReaders()) {
            fields.put("host", holder.owner().host());
            fields.put("pid", holder.owner().pid());
        }
        holder.owner().clientName().ifPresent(name -> fields.put("client", name));
        fields.put("residence", holder.owner().isResidence());
        fields.put("holds", holder.holds());
        fields.put("token", holder.token());
        fields.put("since", holder.since().toString());
        fields.put("leaseMillis", holder.remainingLease().toMillis());
        return fields;
    }
}
