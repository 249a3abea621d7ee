package io.github.redislocks.redis.jedis;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Permits, and a queue of threads that wait for one. A thread that arrives while a permit is free takes it, even if
 * others wait, since those still have to wake up. After a few such overtakings a permit goes to the first in the queue.
 */
public final class Permits {

    /**
     * How many permits may go past the queue until one is handed to its first thread. Each hand-over costs a wake-up.
     */
    public static final int MOST_OVERTAKINGS = 16;

    private final AtomicInteger free;
    private final AtomicInteger overtakings = new AtomicInteger();
    private final Queue<Waiter> line;

    public Permits(int count) {
        this(count, new ConcurrentLinkedQueue<>());
    }

    /** Makes permits with a given queue. */
    public Permits(int count, Queue<Waiter> line) {
        this.free = new AtomicInteger(count);
        this.line = line;
    }

    /** A thread in the queue, until it gets a permit or leaves, whichever comes first. */
    public static final class Waiter {

        private static final int WAITING = 0;
        private static final int SERVED = 1;
        private static final int GONE = 2;

        private final Thread thread = Thread.currentThread();
        private final AtomicInteger state = new AtomicInteger(WAITING);

        public boolean serve() {
            return state.compareAndSet(WAITING, SERVED);
        }

        public boolean isServed() {
            return state.get() == SERVED;
        }

        public boolean leave() {
            return state.compareAndSet(WAITING, GONE);
        }
    }

    /**
     * Takes a permit; waits for one until {@code deadline}. An interrupt does not end the wait; its flag is set again.
     */
    public boolean enter(long deadline) {
        return take() || await(join(), deadline);
    }

    /** Gives a permit back. */
    public void leave() {
        boolean handedOver = false;
        try {
            handedOver = !line.isEmpty() && overtakings.incrementAndGet() > MOST_OVERTAKINGS && handOver();
        } finally {
            // Give the permit back even if there was no memory to look at the queue: otherwise it is lost permanently.
            if (!handedOver) {
                free.incrementAndGet();
                wakeFirst();
            }
        }
    }

    private boolean take() {
        for (int left = free.get(); left > 0; left = free.get()) {
            if (free.compareAndSet(left, left - 1)) {
                return true;
            }
        }
        return false;
    }

    private boolean handOver() {
        for (Waiter first = line.poll(); first != null; first = line.poll()) {
            if (first.serve()) {
                overtakings.set(0);
                LockSupport.unpark(first.thread);
                return true;
            }
        }
        return false;
    }

    private void wakeFirst() {
        Waiter first = line.peek();
        if (first != null) {
            LockSupport.unpark(first.thread);
        }
    }

    /** Puts the calling thread into the queue. */
    public Waiter join() {
        Waiter me = new Waiter();
        line.add(me);
        return me;
    }

    private boolean await(Waiter me, long deadline) {
        boolean interrupted = false;
        try {
            // Try once more now that this thread is in the queue: a thread that gave a permit back before this one
            // joined could not wake it.
            while (!me.isServed()) {
                if (take()) {
                    return taken(me);
                }
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    return !gone(me);
                }
                LockSupport.parkNanos(this, left);
                interrupted |= Thread.interrupted();
            }
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Leaves the queue with a permit that the thread took itself. */
    private boolean taken(Waiter me) {
        if (gone(me)) {
            overtakings.set(0);
        } else {
            // This thread was handed another permit as well: give that one back.
            leave();
        }
        return true;
    }

    /**
     * Leaves the queue, unless the thread has just been handed a permit. Passes on a wake-up that may have been meant
     * for the thread.
     */
    private boolean gone(Waiter me) {
        if (!me.leave()) {
            return false;
        }
        line.remove(me);
        if (free.get() > 0) {
            wakeFirst();
        }
        return true;
    }
}
