package io.github.redislocks.torture;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A lock as the workload uses it: the library's, or one of those that the checker must catch. */
interface TestLock extends Deeds.Possession {

    /** How to acquire: with what time, and for how long. */
    enum Way {
        LOCK(-1),
        INTERRUPTIBLY(-1),
        LEASED(-1),
        TIMED(TimeUnit.SECONDS.toNanos(1)),
        LEASED_TIMED(TimeUnit.SECONDS.toNanos(1)),
        TRY(0);

        /** In ns; -1 for endless. */
        final long limit;

        Way(long limit) {
            this.limit = limit;
        }

        boolean isRenewed() {
            return this != LEASED && this != LEASED_TIMED;
        }
    }

    /** Whether it can be entered once more. */
    default boolean isReentrant() {
        return true;
    }

    /** Wants the lock without a thread, and cancels that after a time unless it has it then; whether it has it. */
    default boolean acquireOrCancel(long nanos) {
        throw new UnsupportedOperationException();
    }

    /** Releases it, and keeps it taken until a time after it was acquired. */
    default void releaseAfter(Duration sinceAcquired) {
        throw new UnsupportedOperationException();
    }

    boolean acquire(Way way) throws InterruptedException;

    /** The token of the calling thread's hold, of a reader that of the last writer; throws if it has none. */
    @Override
    long token();

    int holdCount();

    /** Whether the library says that the hold before this thread's was not released. */
    boolean previousHolderLost();

    /** Waits in the lock's one Condition. */
    void await(long nanos) throws InterruptedException;

    void signal();
}
