package io.github.redislocks.redis.jedis;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Permits, and a queue of threads that wait for one. A thread that comes while a permit is free takes it, though others
 * wait, since those still have to wake up. After a few such overtakings a permit is handed to the first in the queue.
 */
public final class Places {

    /** How many permits may be taken past the queue before one is handed to it: each hand-over costs a wake-up. */
    public static final int MOST_OVERTAKINGS = 16;

    private final AtomicInteger free;
    private final AtomicInteger overtakings = new AtomicInteger();
    private final Queue<Waiter> line;

    public Places(int count) {
        this(count, new ConcurrentLinkedQueue<>());
    }

    /** With a line to stand in. */
    public Places(int count, Queue<Waiter> line) {
        this.free = new AtomicInteger(count);
        this.line = line;
    }

    /** One thread in line, until it is given a place or leaves: whichever comes first. */
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

    /** Takes a place, waiting for one until a time; an interrupt does not end the wait and is kept. */
    public boolean enter(long deadline) {
        return take() || await(join(), deadline);
    }

    /** Gives a place back. */
    public void leave() {
        boolean handedOver = false;
        try {
            handedOver = !line.isEmpty() && overtakings.incrementAndGet() > MOST_OVERTAKINGS && handOver();
        } finally {
            // Also if there is no memory to look at the line: a place that is not given back is lost for good.
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

    /** Puts the calling thread in line. */
    public Waiter join() {
        Waiter me = new Waiter();
        line.add(me);
        return me;
    }

    private boolean await(Waiter me, long deadline) {
        boolean interrupted = false;
        try {
            // Once more now that it is in the queue: a thread that gave a permit back before has not seen it there.
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

    /** Leaves the line with a place that it took itself. */
    private boolean taken(Waiter me) {
        if (gone(me)) {
            overtakings.set(0);
        } else {
            // It was handed another one as well.
            leave();
        }
        return true;
    }

    /** Leaves the line, unless it has just been handed a place. Passes on what it may have been woken for. */
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
