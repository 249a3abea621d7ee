package io.github.redislocks.cli;

import io.github.redislocks.RedisLocks;
import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine.Command;

/** Looks for threads that wait for each other. */
@Command(
        name = "deadlocks",
        description = {
            "Looks for threads that wait for each other, over all clients, and prints each circle as a sentence.",
            "All threads of a client that wait for a lock that is not fair share one entry of its queue, so only the"
                    + " first of them is known. The locks are read one after the other, so run the command twice."
        })
final class DeadlocksCommand extends CliCommand {

    @Override
    int run(RedisLocks locks, PrintWriter out) {
        WaitGraph graph = new WaitGraph();
        List<String> wanted = locks.list("*")
                .filter(lock -> lock.queueLength() > 0)
                .map(lock -> lock.lockName())
                .toList();
        wanted.forEach(name -> graph.add(locks.inspect(name)));
        List<String> circles = graph.circles();
        circles.forEach(out::println);
        if (circles.isEmpty()) {
            int waiters = graph.waiters();
            out.println("No deadlock: " + (waiters == 0 ? "nobody waits." : waiters + " in line, and no circle."));
        }
        return circles.isEmpty() ? ExitCodes.OK : ExitCodes.PROBLEM;
    }
}
