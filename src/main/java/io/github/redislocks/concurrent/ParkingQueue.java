package io.github.redislocks.concurrent;

import java.util.AbstractQueue;
import java.util.Collection;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A blocking queue for few takers at a time. The JDK's queues with a Condition may lose a taker permanently if the
 * first signal meets an {@link OutOfMemoryError}. Up to JDK 20 a taker of a
 * {@link java.util.concurrent.LinkedTransferQueue} may poll without a pause, beyond its timeout (JDK-8301341).
 */
public final class ParkingQueue<E> extends AbstractQueue<E> implements BlockingQueue<E> {

    private final Queue<E> elements = new ConcurrentLinkedQueue<>();
    private final int most;
    /** The number of elements; an element may be taken before it is counted. */
    private final AtomicInteger waiting = new AtomicInteger();
    /** The threads that wait. Each thread polls again after it has added itself, so that it misses no element. */
    private final Queue<Thread> takers = new ConcurrentLinkedQueue<>();

    /** Makes a queue without a bound. */
    public ParkingQueue() {
        this(Integer.MAX_VALUE);
    }

    ParkingQueue(int most) {
        this.most = most;
    }

    @Override
    public boolean offer(E element) {
        if (waiting.get() >= most) {
            return false;
        }
        elements.add(element);
        waiting.incrementAndGet();
        for (Thread taker : takers) {
            LockSupport.unpark(taker);
        }
        return true;
    }

    /** Adds the element at once, like {@link #offer(Object)}: does not wait for room. */
    @Override
    public boolean offer(E element, long timeout, TimeUnit unit) {
        return offer(element);
    }

    /** Adds the element at once; throws if there is no room. */
    @Override
    public void put(E element) {
        add(element);
    }

    @Override
    public @Nullable E poll() {
        E first = elements.poll();
        if (first != null) {
            waiting.decrementAndGet();
        }
        return first;
    }

    @Override
    public @Nullable E poll(long timeout, TimeUnit unit) throws InterruptedException {
        E first = poll();
        if (first != null) {
            return first;
        }
        long deadline = System.nanoTime() + unit.toNanos(timeout);
        Thread caller = Thread.currentThread();
        takers.add(caller);
        try {
            while (true) {
                first = poll();
                if (first != null) {
                    return first;
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    return null;
                }
                LockSupport.parkNanos(this, left);
            }
        } finally {
            takers.remove(caller);
        }
    }

    @Override
    public E take() throws InterruptedException {
        E first = null;
        while (first == null) {
            first = poll(1, TimeUnit.DAYS);
        }
        return first;
    }

    @Override
    public @Nullable E peek() {
        return elements.peek();
    }

    @Override
    public boolean remove(@Nullable Object element) {
        boolean removed = elements.remove(element);
        if (removed) {
            waiting.decrementAndGet();
        }
        return removed;
    }

    @Override
    public boolean isEmpty() {
        return elements.isEmpty();
    }

    @Override
    public int size() {
        return elements.size();
    }

    @Override
    public Iterator<E> iterator() {
        return elements.iterator();
    }

    @Override
    public int remainingCapacity() {
        return most - Math.max(0, waiting.get());
    }

    @Override
    public int drainTo(Collection<? super E> target) {
        return drainTo(target, Integer.MAX_VALUE);
    }

    @Override
    public int drainTo(Collection<? super E> target, int most) {
        int count = 0;
        while (count < most && !isEmpty()) {
            E next = poll();
            if (next != null) {
                target.add(next);
                count++;
            }
        }
        return count;
    }
}
