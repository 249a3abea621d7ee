package io.github.redislocks.shedlock;

import io.github.redislocks.LockHandle;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The hold of a task. It stays the same when the task extends its lock, which begins a new {@link Term}. */
final class Possession {

    private static final Duration LONGEST_KEPT = Duration.ofDays(1);

    private final LockHandle handle;
    private final long acquiredNanos;
    /** The latest term; null before the first term. */
    private volatile @Nullable Term current;

    /**
     * Makes the possession of a hold.
     *
     * @param acquiredNanos a time before the acquisition, by {@link System#nanoTime}
     */
    Possession(LockHandle handle, long acquiredNanos) {
        this.handle = handle;
        this.acquiredNanos = acquiredNanos;
        // Register once, not for each term: a dependent stage exists as long as the handle.
        CompletionStage<Void> unused = handle.lost().thenRun(this::endTimer);
    }

    boolean isHeld() {
        return handle.isHeld();
    }

    /**
     * The time of one {@code lockAtMostFor}. At the end of the term the lock is released, unless the term was stopped
     * before.
     */
    static final class Term {
        private final long configuredNanos;
        private final long endNanos;
        private final CompletableFuture<Void> end = new CompletableFuture<>();

        private Term(Duration atMost, long configuredNanos) {
            this.configuredNanos = configuredNanos;
            this.endNanos = configuredNanos + TimeUnit.NANOSECONDS.convert(atMost);
        }

        /** Stops the term. Returns false if the term has ended already, so that the lock is being released. */
        boolean stop(long now) {
            return now - endNanos < 0 && end.cancel(false);
        }

        private void cancel() {
            boolean unused = end.cancel(false);
        }
    }

    /**
     * Begins a term.
     *
     * @param atMost how long the term lasts, counted from {@code configuredNanos}
     */
    Term lastFor(Duration atMost, long configuredNanos) {
        Term term = new Term(atMost, configuredNanos);
        CompletableFuture<Void> unused = term.end.thenRun(this::giveUp);
        current = term;
        CompletableFuture<Void> unusedTimed =
                term.end.completeOnTimeout(null, term.endNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        return term;
    }

    /** Cancels the timer of the latest term, since the hold has been lost. */
    private void endTimer() {
        Term last = current;
        if (last != null) {
            last.cancel();
        }
    }

    /** Releases the lock without waiting, because the JDK's timer thread calls this method. */
    private void giveUp() {
        CompletionStage<Boolean> unused = handle.releaseAsync();
    }

    /** Releases the lock, and leaves it unavailable until {@code atLeast} after the beginning of the last term. */
    void end(Duration atLeast, Term last) {
        last.cancel();
        Duration sinceAcquired =
                Duration.ofNanos(last.configuredNanos - acquiredNanos).plus(atLeast);
        // Ignore the result, which is false if the hold was lost or released before: ShedLock has no use for it.
        if (atLeast.isZero()) {
            boolean unused = handle.release();
            return;
        }
        try {
            boolean unused =
                    handle.releaseAfter(sinceAcquired.compareTo(LONGEST_KEPT) > 0 ? LONGEST_KEPT : sinceAcquired);
        } catch (UnsupportedOperationException e) {
            // The task has extended its lock with a lockAtLeastFor, which a quorum does not support: release the lock,
            // since nobody else will.
            boolean unused = handle.release();
            throw e;
        }
    }
}
