package io.github.redislocks.residency;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import org.jspecify.annotations.Nullable;

/**
 * The turn of a residence: a lock that one thread at a time has, with a queue of the threads that wait for it. The
 * thread that has the turn may use, acquire or release the lease.
 *
 * <p>The turn is passed on by slices of time: while others wait, a thread that locks again gets the turn at once until
 * its slice is over. Then the first waiter gets the turn. A turn that was passed on at each unlock would wake a thread
 * each time.
 */
public final class Turn {

    // The takers of the turn: a thread that has not waited; a try or the client, ahead of waiting threads; or a thread
    // that
    // has waited.
    private static final int THREAD = 1;
    private static final int CLIENT = 2;
    private static final int WAITER = 3;

    private final Clock clock;
    private final Queue queue = new Queue();
    /**
     * Until this time a thread may take the turn ahead of the first waiter. Written by the thread that has the turn.
     */
    private volatile long sliceEndNanos;
    /** The thread that got the turn after a wait, until its acquisition has ended; null if there is none. */
    private volatile @Nullable Thread entering;

    Turn(Clock clock) {
        this.clock = clock;
    }

    /** Takes the turn if it is free, and if no thread waits for the turn or the slice is not over yet. */
    public boolean tryTake() {
        return tryTake(THREAD);
    }

    /** Takes the turn if it is free, even if threads wait for it. For tries, and to give the lease up. */
    public boolean tryTakeFirst() {
        return tryTake(CLIENT);
    }

    private boolean tryTake(int who) {
        // Check the stack first: a thread that has the turn must have the stack to end it.
        StackSpace.ensureLocal();
        return queue.tryAcquire(who);
    }

    /**
     * Waits for the turn; returns false if the time was over. A thread that got the turn counts as waiting until it
     * calls {@link #entered}.
     */
    boolean await(WaitLimit limit) throws InterruptedException {
        if (limit.isTimed()) {
            return queue.tryAcquireNanos(WAITER, Math.max(0, limit.remaining(clock.nanoTime())));
        }
        if (limit.isInterruptible()) {
            queue.acquireInterruptibly(WAITER);
        } else {
            queue.acquire(WAITER);
        }
        return true;
    }

    /** Notes that the calling thread has finished its acquisition, so that it no longer counts as waiting. */
    void entered() {
        if (entering == Thread.currentThread()) {
            entering = null;
        }
    }

    /** Ends the turn, and wakes the next thread. */
    public void end() {
        queue.release(THREAD);
    }

    /** Returns true if nobody has the turn. */
    public boolean isFree() {
        return queue.isFree();
    }

    /** Returns true if threads wait for the turn. */
    public boolean isWanted() {
        return queue.hasQueuedThreads();
    }

    /**
     * The threads that wait for the turn, and the thread that got the turn after a wait and has not finished its
     * acquisition.
     */
    Collection<Thread> queuedThreads() {
        // Read the queue before `entering`: a thread sets `entering` before it leaves the queue, so it is found in one
        // of the two.
        Collection<Thread> threads = queue.hasQueuedThreads() ? queue.getQueuedThreads() : List.of();
        Thread first = entering;
        if (first == null || threads.contains(first)) {
            return threads;
        }
        List<Thread> all = new ArrayList<>(threads);
        all.add(first);
        return all;
    }

    /** Begins a slice: until its end, threads may take the turn ahead of those that wait. */
    void beginSlice(long now) {
        sliceEndNanos = now + Timing.SLICE_NANOS;
    }

    private final class Queue extends AbstractQueuedSynchronizer {

        private static final long serialVersionUID = 1;

        @Override
        protected boolean tryAcquire(int who) {
            if (!takes(who)) {
                return false;
            }
            if (who == WAITER) {
                entering = Thread.currentThread();
            }
            return true;
        }

        private boolean takes(int who) {
            if (getState() != 0) {
                return false;
            }
            if (who == CLIENT || !hasQueuedThreads()) {
                return compareAndSetState(0, 1);
            }
            long now = clock.nanoTime();
            boolean first = !hasQueuedPredecessors();
            if ((!first && now - sliceEndNanos >= 0) || !compareAndSetState(0, 1)) {
                return false;
            }
            if (first) {
                beginSlice(now);
            }
            return true;
        }

        boolean isFree() {
            return getState() == 0;
        }

        @Override
        protected boolean tryRelease(int who) {
            setState(0);
            return true;
        }
    }
}
