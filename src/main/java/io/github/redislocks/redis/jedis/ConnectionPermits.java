package io.github.redislocks.redis.jedis;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Permits for connections, with a queue of threads that wait for one. A thread that arrives while a permit is free
 * takes it, even if others wait, since the others would first have to wake up. After a few such overtakings, a permit
 * goes to the first thread in the queue.
 */
public final class ConnectionPermits {

    /**
     * The number of overtakings after which a permit is handed to the first thread in the queue. Each hand-over costs a
     * wake-up.
     */
    public static final int MOST_OVERTAKINGS = 16;

    private final AtomicInteger free;
    private final AtomicInteger overtakings = new AtomicInteger();
    private final Queue<Waiter> line;

    public ConnectionPermits(int count) {
        this(count, new ConcurrentLinkedQueue<>());
    }

    /** Makes permits with the given queue, which must be empty. */
    public ConnectionPermits(int count, Queue<Waiter> line) {
        this.free = new AtomicInteger(count);
        this.line = line;
    }

    /** A thread in the queue. It either gets a permit or leaves the queue. */
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
     * Waits for a permit and takes it, until {@code deadline} at most. An interrupt does not end the wait; its flag is
     * set again.
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
            // Give the permit back even if there was no memory to look at the queue: otherwise the permit would be
            // lost.
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
            // Try again now that this thread is in the queue: a thread that gave a permit back before did not see this
            // thread.
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

    /** Leaves the queue with a permit that the thread took by itself. */
    private boolean taken(Waiter me) {
        if (gone(me)) {
            overtakings.set(0);
        } else {
            // Another thread has handed this thread a second permit: give the second one back.
            leave();
        }
        return true;
    }

    /**
     * Leaves the queue; returns false if the thread has just been handed a permit. Wakes the next thread in the queue,
     * since a wake-up may have gone to the leaving thread.
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
