package io.github.redislocks.cli;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Shown;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Prints who holds the lock for which this command waits: first after 1 s, then every 10 s. */
final class WaitingLine {

    private static final long FIRST_MILLIS = 1_000;
    private static final long NEXT_MILLIS = 10_000;

    private final Thread thread;

    WaitingLine(RedisLocks locks, String name, PrintWriter err) {
        thread = new Thread(() -> tell(locks, name, err), "waiting-line");
        thread.setDaemon(true);
        thread.start();
    }

    private static void tell(RedisLocks locks, String name, PrintWriter err) {
        try {
            Thread.sleep(FIRST_MILLIS);
            while (true) {
                err.println("redis-locks: waiting for \"" + Shown.of(name) + "\"" + reason(locks, name));
                err.flush();
                Thread.sleep(NEXT_MILLIS);
            }
        } catch (InterruptedException | RuntimeException ended) {
            // Ignored: the wait has ended, or the line could not be made, which does not matter for the wait.
        }
    }

    private static String reason(RedisLocks locks, String name) {
        try {
            LockInspection seen = locks.inspect(name);
            return holder(seen) + place(locks, seen.queue());
        } catch (LockUnavailableException e) {
            return ": Redis does not answer";
        }
    }

    private static String holder(LockInspection seen) {
        return seen.holder()
                .map(holder -> ", held by " + InspectCommand.owner(holder.owner()) + " for "
                        + Times.show(Duration.between(holder.since(), Instant.now())))
                .or(() -> seen.keptFor().map(time -> ", released, but unavailable for another " + Times.show(time)))
                .orElse("");
    }

    private static String place(RedisLocks locks, List<LockInspection.Waiter> queue) {
        for (int i = 0; i < queue.size(); i++) {
            if (queue.get(i).owner().clientId().equals(locks.clientId())) {
                return "; place " + (i + 1) + " in line";
            }
        }
        return "";
    }

    void close() {
        thread.interrupt();
    }
}
