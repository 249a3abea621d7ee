package io.github.redislocks.cli;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockOwner;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Shown;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows one lock. */
@Command(
        name = "inspect",
        description =
                "Shows who holds a lock, since when, and who waits for it; and the pool of permits of that name, if"
                        + " there is one.")
final class InspectCommand extends CliCommand {

    @Parameters(paramLabel = "NAME", description = "The name of the lock.")
    private String name;

    @Option(names = "--json", description = "Print a JSON object, for other programs.")
    private boolean json;

    @Override
    int run(RedisLocks locks, PrintWriter out) {
        LockInspection seen = locks.inspect(name);
        Optional<PermitsInspection> pool = pool(locks, name);
        if (json) {
            Map<String, Object> fields = fields(seen);
            pool.ifPresent(permits -> fields.put("permits", fields(permits)));
            out.println(Json.of(fields));
        } else {
            boolean isPoolOnly = pool.isPresent()
                    && seen.holder().isEmpty()
                    && seen.keptFor().isEmpty()
                    && seen.queueLength() == 0
                    && seen.conditions().isEmpty();
            if (!isPoolOnly) {
                out.println(text(seen));
            }
            pool.ifPresent(permits -> out.println(text(permits)));
        }
        return ExitCodes.OK;
    }

    /** The pool of permits of a name; empty if Redis knows none, is a quorum, or refuses to show pools to this user. */
    static Optional<PermitsInspection> pool(RedisLocks locks, String name) {
        try {
            PermitsInspection seen = locks.permits(name, 1).inspect();
            // If Redis does not know the pool, inspect() returns the size of the Permits object: so ask with two sizes.
            boolean isKnown =
                    seen.size() != 1 || locks.permits(name, 2).inspect().size() == 1;
            return isKnown ? Optional.of(seen) : Optional.empty();
        } catch (UnsupportedOperationException quorum) {
            return Optional.empty();
        } catch (LockUnavailableException e) {
            throwUnlessRefused(e);
            return Optional.empty();
        }
    }

    /** Pools need a right that users of locks alone may lack: then nothing is shown of pools. */
    static void throwUnlessRefused(LockUnavailableException failure) {
        if (failure.reason() != LockUnavailableException.Reason.REFUSED) {
            throw failure;
        }
    }

    private static String text(PermitsInspection pool) {
        Table table = new Table("pool", pool.name());
        table.add("permits", pool.size() + ", of which " + pool.available() + " are free");
        for (PermitsInspection.Held held : pool.held()) {
            table.add(
                    "  " + numbers(held),
                    owner(held.owner()) + ", lease " + Times.show(held.remainingLease()) + ", token "
                            + held.fencingToken());
        }
        table.add("queue", pool.waiting().isEmpty() ? "empty" : pool.waiting().size() + " in order of arrival");
        int place = 1;
        for (PermitsInspection.Waiting waiting : pool.waiting()) {
            table.add("  " + place++, owner(waiting.owner()) + ", wants " + waiting.wanted());
        }
        return table.toString();
    }

    private static String numbers(PermitsInspection.Held held) {
        return held.numbers().stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    static Map<String, Object> fields(PermitsInspection pool) {
        return Map.of(
                "size",
                pool.size(),
                "available",
                pool.available(),
                "held",
                pool.held().stream()
                        .map(held -> Map.of(
                                "owner", held.owner().toString(),
                                "numbers", held.numbers(),
                                "token", held.fencingToken(),
                                "leaseMillis", held.remainingLease().toMillis()))
                        .toList(),
                "queue",
                pool.waiting().stream()
                        .map(waiting -> Map.of("owner", waiting.owner().toString(), "wanted", waiting.wanted()))
                        .toList());
    }

    private static String text(LockInspection seen) {
        Table table = new Table("lock", seen.lockName());
        seen.holder().ifPresent(holder -> {
            if (holder.owner().isReaders()) {
                table.add("read by", holder.holds() == 1 ? "one client" : holder.holds() + " clients");
                table.add("lease", Times.show(holder.remainingLease()) + " left, if it is not renewed");
                table.add("last writer", "token " + holder.token() + ", at " + holder.since());
                return;
            }
            boolean residence = holder.owner().isResidence();
            table.add(residence ? "kept by" : "held by", owner(holder.owner()));
            table.add("since", holder.since() + ", for " + Times.show(Duration.between(holder.since(), Instant.now())));
            table.add("lease", Times.show(holder.remainingLease()) + " left, if it is not renewed");
            if (!residence) {
                table.add("holds", Integer.toString(holder.holds()));
            }
            table.add("token", Long.toString(holder.token()));
        });
        if (seen.holder().isEmpty()) {
            table.add(
                    "state",
                    seen.keptFor()
                            .map(time -> "released, but unavailable for another " + Times.show(time))
                            .orElse("free"));
        }
        table.add("queue", seen.queueLength() == 0 ? "empty" : seen.queueLength() + " in order of arrival");
        int place = 1;
        for (LockInspection.Waiter waiter : seen.queue()) {
            table.add("  " + place++, owner(waiter.owner()) + ", for " + Times.show(waiter.age()));
        }
        for (LockInspection.Waiting condition : seen.conditions()) {
            table.add("condition", condition.condition());
            for (LockInspection.Waiter waiter : condition.waiters()) {
                table.add("", owner(waiter.owner()) + ", for " + Times.show(waiter.age()));
            }
        }
        return table.toString();
    }

    /** Describes an owner for people: client and process first, then the id. */
    static String owner(LockOwner owner) {
        if (owner.isReaders()) {
            return "readers";
        }
        String what = owner.isResidence()
                ? "a thread or none"
                : owner.isHandle() ? "a handle" : "thread " + owner.threadId().orElse(0);
        String client = owner.clientName().map(name -> name + ", ").orElse("");
        return Shown.of(what + " of " + client + "process " + owner.pid() + " on " + owner.host() + " (" + owner + ")");
    }

    private static Map<String, Object> fields(LockInspection seen) {
        Map<String, Object> fields = new TreeMap<>();
        fields.put("lock", seen.lockName());
        seen.holder().ifPresent(holder -> fields.put("holder", ListCommand.holder(holder)));
        seen.keptFor().ifPresent(time -> fields.put("keptForMillis", time.toMillis()));
        fields.put("queueLength", seen.queueLength());
        fields.put("queue", waiters(seen.queue()));
        Map<String, Object> conditions = new TreeMap<>();
        seen.conditions().forEach(each -> conditions.put(each.condition(), waiters(each.waiters())));
        fields.put("conditions", conditions);
        return fields;
    }

    private static List<Map<String, Object>> waiters(List<LockInspection.Waiter> waiters) {
        return waiters.stream()
                .map(waiter -> Map.<String, Object>of(
                        "owner",
                        waiter.owner().toString(),
                        "waitingMillis",
                        waiter.age().toMillis()))
                .toList();
    }
}
