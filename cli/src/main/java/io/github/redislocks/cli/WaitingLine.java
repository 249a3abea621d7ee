package io.github.redislocks.cli;

import io.github.redislocks.LockOwner;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Shown;
import java.io.PrintWriter;
import java.util.List;

/** Prints why this command waits: first after 1 s, then every 10 s. */
final class WaitingLine {

    private static final long FIRST_MILLIS = 1_000;
    private static final long NEXT_MILLIS = 10_000;

    private final Thread thread;

    WaitingLine(RedisLocks locks, String name, Needed needed, PrintWriter err) {
        thread = new Thread(() -> tell(locks, name, needed, err), "waiting-line");
        thread.setDaemon(true);
        thread.start();
    }

    private static void tell(RedisLocks locks, String name, Needed needed, PrintWriter err) {
        try {
            Thread.sleep(FIRST_MILLIS);
            while (true) {
                err.println("redis-locks: waiting for \"" + Shown.of(name) + "\"" + reason(locks, needed));
                err.flush();
                Thread.sleep(NEXT_MILLIS);
            }
        } catch (InterruptedException | RuntimeException ended) {
            // Ignored: the wait has ended, or the line could not be made, which does not matter for the wait.
        }
    }

    private static String reason(RedisLocks locks, Needed needed) {
        try {
            Needed.Seen seen = needed.look();
            return seen.why().map(why -> ", " + why).orElse("") + place(locks, seen.queue());
        } catch (LockUnavailableException e) {
            return ": Redis does not answer";
        }
    }

    private static String place(RedisLocks locks, List<LockOwner> queue) {
        for (int i = 0; i < queue.size(); i++) {
            if (queue.get(i).clientId().equals(locks.clientId())) {
                return "; place " + (i + 1) + " in line";
            }
        }
        return "";
    }

    void close() {
        thread.interrupt();
    }
}
