package io.github.redislocks.shedlock;

import io.github.redislocks.LockHandle;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A task's possession of its lock, however often the task extends it. */
final class Possession {

    private static final Duration LONGEST_KEPT = Duration.ofDays(1);

    private final LockHandle handle;
    private final long acquiredNanos;
    /** The last one; null before the first. */
    private volatile @Nullable Term current;

    /** Acquired after a time of {@link System#nanoTime}. */
    Possession(LockHandle handle, long acquiredNanos) {
        this.handle = handle;
        this.acquiredNanos = acquiredNanos;
        // Once, and not for each term: it would be kept for as long as the handle.
        CompletionStage<Void> unused = handle.lost().thenRun(this::endTimer);
    }

    boolean isHeld() {
        return handle.isHeld();
    }

    /** A time after which it is given up, unless that is stopped before. */
    static final class Term {
        private final long configuredNanos;
        private final long endNanos;
        private final CompletableFuture<Void> end = new CompletableFuture<>();

        private Term(Duration atMost, long configuredNanos) {
            this.configuredNanos = configuredNanos;
            this.endNanos = configuredNanos + TimeUnit.NANOSECONDS.convert(atMost);
        }

        /** Whether it was stopped in time; if so, nothing is given up by it. */
        boolean stop(long now) {
            return now - endNanos < 0 && end.cancel(false);
        }

        private void cancel() {
            boolean unused = end.cancel(false);
        }
    }

    /** Has it given up some time after another of {@link System#nanoTime}. */
    Term lastFor(Duration atMost, long configuredNanos) {
        Term term = new Term(atMost, configuredNanos);
        CompletableFuture<Void> unused = term.end.thenRun(this::giveUp);
        current = term;
        CompletableFuture<Void> unusedTimed =
                term.end.completeOnTimeout(null, term.endNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        return term;
    }

    /** A task whose lock is lost needs no timer. */
    private void endTimer() {
        Term last = current;
        if (last != null) {
            last.cancel();
        }
    }

    /** Without waiting: the thread of the JDK that keeps the time does this. */
    private void giveUp() {
        CompletionStage<Boolean> unused = handle.releaseAsync();
    }

    /** Ends it, and keeps the lock taken for a time after its last term began. */
    void end(Duration atLeast, Term last) {
        last.cancel();
        Duration sinceAcquired =
                Duration.ofNanos(last.configuredNanos - acquiredNanos).plus(atLeast);
        // False if it was lost or given up before, of which ShedLock wants to know nothing.
        if (atLeast.isZero()) {
            boolean unused = handle.release();
            return;
        }
        try {
            boolean unused =
                    handle.releaseAfter(sinceAcquired.compareTo(LONGEST_KEPT) > 0 ? LONGEST_KEPT : sinceAcquired);
        } catch (UnsupportedOperationException e) {
            // Of a time that an extension has named, on a quorum: nobody else releases the lock.
            boolean unused = handle.release();
            throw e;
        }
    }
}
