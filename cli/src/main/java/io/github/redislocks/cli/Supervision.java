package io.github.redislocks.cli;

import io.github.redislocks.LockHandle;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Lets a command run as long as its lock is held. In short:
 *
 * <pre>
 *   the lock is lost                      SIGKILL at once
 *   a tenth of the lease is left          SIGKILL, before another can have the lock
 *   a third of the lease is left          SIGTERM: two renewals have failed
 *   more is left                          it runs
 *   this thread fails                     SIGKILL
 * </pre>
 *
 * <p>The supervision ends when the command has ended; if the command was asked to end, when all processes that it
 * started have ended as well.
 */
final class Supervision {

    private static final long SHORTEST_TICK_MILLIS = 10;
    private static final long LONGEST_TICK_MILLIS = 100;
    private static final int KILLS = 1_000;

    private final LockHandle held;
    private final Duration lease;
    private final CompletableFuture<?> lost;
    private final long tickMillis;
    private boolean inOrder = true;

    /** Make this object before the command starts: it opens the subscription by which the client learns of losses. */
    Supervision(LockHandle held, Duration lease) {
        this(held, lease, Math.max(SHORTEST_TICK_MILLIS, Math.min(LONGEST_TICK_MILLIS, lease.toMillis() / 50)));
    }

    Supervision(LockHandle held, Duration lease, long tickMillis) {
        this.held = held;
        this.lease = lease;
        this.lost = held.lost().toCompletableFuture();
        this.tickMillis = tickMillis;
    }

    /**
     * Waits until the lock is held for a whole lease. A lock that another client has handed over is held only for a
     * short time at first, until the client's first renewal. If the command started before, it would be ended at once,
     * because little of the lease seems to be left.
     *
     * @return false if the lock was lost instead
     */
    boolean awaitWholeLease() throws InterruptedException {
        while (held.remainingLease().compareTo(lease.dividedBy(3)) < 0) {
            if (lost.isDone()) {
                return false;
            }
            Thread.sleep(1);
        }
        return true;
    }

    /**
     * Waits for the end of a command.
     *
     * @return true if the command ended by itself; false if it was ended because the lock was lost or could not be
     *     renewed
     */
    boolean await(ChildGroup child) throws InterruptedException {
        boolean watched = false;
        try {
            watch(child);
            watched = true;
            return inOrder;
        } finally {
            if (!watched) {
                end(child);
            }
        }
    }

    private void watch(ChildGroup child) throws InterruptedException {
        CompletableFuture<?> news = CompletableFuture.anyOf(lost, child.onExit());
        while (!child.waitFor(0)) {
            look(child);
            pause(news, child);
        }
        while ((child.isAsked() || !inOrder) && child.isAlive()) {
            // Let processes that the command started clean up while the lock lasts.
            look(child);
            Thread.sleep(SHORTEST_TICK_MILLIS);
        }
    }

    private void look(ChildGroup child) {
        Duration left = held.remainingLease();
        if (lost.isDone() || left.compareTo(lease.dividedBy(10)) < 0) {
            inOrder = false;
            child.kill();
        } else if (inOrder && left.compareTo(lease.dividedBy(3)) < 0) {
            inOrder = false;
            child.terminate();
        }
    }

    /** Waits until the next check is due, or the lock is lost, or the command has ended. */
    private void pause(CompletableFuture<?> news, ChildGroup child) throws InterruptedException {
        if (news.isDone()) {
            child.waitFor(tickMillis);
            return;
        }
        try {
            news.get(tickMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // Nothing to do: the next call of look() finds out what has happened.
        }
    }

    /**
     * Kills the command, which nobody supervises any more. Tries repeatedly, since the failure that ended the
     * supervision may happen again.
     */
    private static void end(ChildGroup child) {
        for (int i = 0; i < KILLS; i++) {
            try {
                child.kill();
                if (!child.isAlive()) {
                    return;
                }
                TimeUnit.MILLISECONDS.sleep(SHORTEST_TICK_MILLIS);
            } catch (InterruptedException | RuntimeException | Error again) {
                // Ignored: try again. The lock is held meanwhile.
            }
        }
    }
}
