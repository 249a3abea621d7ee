package io.github.redislocks.cli;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Lets a command run as long as its lock is held. In short:
 *
 * <pre>
 *   the lock is lost                      SIGKILL at once
 *   a tenth of the lease is left          SIGKILL, before another can have the lock
 *   a third of the lease is left          SIGTERM: two renewals have failed
 *   more is left                          it runs
 * </pre>
 */
final class Supervision {

    private static final long SHORTEST_TICK_MILLIS = 10;
    private static final long LONGEST_TICK_MILLIS = 100;

    private final LockHandle held;
    private final ChildGroup child;
    private final Duration lease;
    private volatile boolean ended;

    Supervision(LockHandle held, ChildGroup child, Duration lease) {
        this.held = held;
        this.child = child;
        this.lease = lease;
    }

    /**
     * Waits for the end of the command.
     *
     * @return whether it ended by itself, with the lock held until then
     */
    boolean await() throws InterruptedException {
        CompletableFuture<LockLost> lost = held.lost().toCompletableFuture();
        // By a thread of its own, which may wait for the signal to be sent.
        lost.thenAcceptAsync(loss -> kill());
        long tick = Math.max(SHORTEST_TICK_MILLIS, Math.min(LONGEST_TICK_MILLIS, lease.toMillis() / 50));
        boolean asked = false;
        while (!child.waitFor(tick)) {
            Duration left = held.remainingLease();
            if (left.compareTo(lease.dividedBy(10)) < 0) {
                kill();
            } else if (!asked && left.compareTo(lease.dividedBy(3)) < 0) {
                asked = true;
                ended = true;
                child.terminate();
            }
        }
        while (ended && child.isAlive()) {
            // What the command started may still clean up, as long as the lock lasts.
            if (held.remainingLease().compareTo(lease.dividedBy(10)) < 0) {
                child.kill();
            }
            Thread.sleep(SHORTEST_TICK_MILLIS);
        }
        return !ended;
    }

    private void kill() {
        ended = true;
        child.kill();
    }
}
