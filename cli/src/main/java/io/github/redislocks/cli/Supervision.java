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
 * <p>It ends when the command has ended, and, if that was asked to end, all that it started.
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

    /** Make it before the command starts, since the client opens its subscription to losses here. */
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
     * Waits until the lock is held for a whole lease. One that was handed on is held for a short claim first, which the
     * client renews at once: a command that started in that moment could not be told from one whose lease ends.
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
     * @return whether it ended without being told to for want of the lock
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
            // Processes that the command started may still clean up, as long as the lock lasts.
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

    /** Until the next look, or until there is something to see. */
    private void pause(CompletableFuture<?> news, ChildGroup child) throws InterruptedException {
        if (news.isDone()) {
            child.waitFor(tickMillis);
            return;
        }
        try {
            news.get(tickMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // The next look tells.
        }
    }

    /** Nobody watches any more: it must not go on alone. Whatever kept this thread from watching may come again. */
    private static void end(ChildGroup child) {
        for (int i = 0; i < KILLS; i++) {
            try {
                child.kill();
                if (!child.isAlive()) {
                    return;
                }
                TimeUnit.MILLISECONDS.sleep(SHORTEST_TICK_MILLIS);
            } catch (InterruptedException | RuntimeException | Error again) {
                // The lock is held until this has succeeded.
            }
        }
    }
}
