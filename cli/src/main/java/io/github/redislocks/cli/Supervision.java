package io.github.redislocks.cli;

import io.github.redislocks.Handle;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Lets a command run as long as its lock is held. The supervising thread acts as follows:
 *
 * <pre>
 *   the lock is lost                      SIGKILL at once
 *   a tenth of the lease is left          SIGKILL, before another can have the lock
 *   a third of the lease is left          SIGTERM: two renewals have failed
 *   more is left                          it runs
 *   this thread fails                     SIGKILL
 * </pre>
 *
 * <p>The supervision ends when the command has ended. If the command was asked to end, the supervision also waits for
 * all processes that the command started.
 */
final class Supervision {

    private static final long SHORTEST_TICK_MILLIS = 10;
    private static final long LONGEST_TICK_MILLIS = 100;
    private static final int KILLS = 1_000;

    private final Handle held;
    private final Duration lease;
    private final CompletableFuture<?> lost;
    private final long tickMillis;
    private boolean inOrder = true;

    /**
     * Make this object before the command starts: the constructor opens the subscription by which the client learns of
     * losses.
     */
    Supervision(Handle held, Duration lease) {
        this(held, lease, Math.max(SHORTEST_TICK_MILLIS, Math.min(LONGEST_TICK_MILLIS, lease.toMillis() / 50)));
    }

    Supervision(Handle held, Duration lease, long tickMillis) {
        this.held = held;
        this.lease = lease;
        this.lost = held.lost().toCompletableFuture();
        this.tickMillis = tickMillis;
    }

    /**
     * Waits until the lock is held for a whole lease. If another client has handed the lock over, the hold is short
     * until its first renewal. A command that started before that would be ended at once, since little of the lease
     * seems to be left.
     *
     * @return false if the lock was lost
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
     * @return true if the command ended by itself; false if this object ended it because the lock was lost or could not
     *     be renewed
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
            // Give processes that the command started time to end, while the lock lasts.
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

    /** Waits until the next check is due, the lock is lost, or the command has ended. */
    private void pause(CompletableFuture<?> news, ChildGroup child) throws InterruptedException {
        if (news.isDone()) {
            child.waitFor(tickMillis);
            return;
        }
        try {
            news.get(tickMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // Ignored: the next call of look() finds out what has happened.
        }
    }

    /** Kills the command after the supervision has failed. Tries repeatedly, since the failure may happen again. */
    private static void end(ChildGroup child) {
        for (int i = 0; i < KILLS; i++) {
            try {
                child.kill();
                if (!child.isAlive()) {
                    return;
                }
                TimeUnit.MILLISECONDS.sleep(SHORTEST_TICK_MILLIS);
            } catch (InterruptedException | RuntimeException | Error again) {
                // Ignored: the loop tries again. The lock is held meanwhile.
            }
        }
    }
}
