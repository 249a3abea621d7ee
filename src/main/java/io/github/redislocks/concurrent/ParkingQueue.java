package io.github.redislocks.concurrent;

import java.util.AbstractQueue;
import java.util.Collection;
import java.util.Iterator;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An unbounded queue for which few threads wait at a time. The queues of the JDK that wait on a Condition may lose a
 * waiter for good if its first signal meets an {@link OutOfMemoryError}; and up to JDK 20 a thread that waits for a
 * {@link java.util.concurrent.LinkedTransferQueue} may poll without a pause, and without an end of its time
 * (JDK-8301341).
 */
public class ParkingQueue<E> extends AbstractQueue<E> implements BlockingQueue<E> {

    private final Queue<E> elements = new ConcurrentLinkedQueue<>();
    /** The threads that wait. Each looks at the elements once more after it has come here. */
    private final Queue<Thread> takers = new ConcurrentLinkedQueue<>();

    @Override
    public boolean offer(E element) {
        enqueue(element);
        return true;
    }

    /** Adds an element, whatever {@link #offer} does. */
    protected final void enqueue(E element) {
        elements.add(element);
        for (Thread taker : takers) {
            LockSupport.unpark(taker);
        }
    }

    /** Whether more threads wait than there are elements for them. */
    protected final boolean hasTaker() {
        return takers.size() > elements.size();
    }

    @Override
    public final boolean offer(E element, long timeout, TimeUnit unit) {
        return offer(element);
    }

    @Override
    public final void put(E element) {
        enqueue(element);
    }

    @Override
    public final @Nullable E poll() {
        return elements.poll();
    }

    @Override
    public final @Nullable E poll(long timeout, TimeUnit unit) throws InterruptedException {
        E first = elements.poll();
        if (first != null) {
            return first;
        }
        long deadline = System.nanoTime() + unit.toNanos(timeout);
        Thread caller = Thread.currentThread();
        takers.add(caller);
        try {
            while (true) {
                first = elements.poll();
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
    public final E take() throws InterruptedException {
        E first = null;
        while (first == null) {
            first = poll(1, TimeUnit.DAYS);
        }
        return first;
    }

    @Override
    public final @Nullable E peek() {
        return elements.peek();
    }

    @Override
    public final boolean remove(@Nullable Object element) {
        return elements.remove(element);
    }

    @Override
    public final boolean isEmpty() {
        return elements.isEmpty();
    }

    @Override
    public final int size() {
        return elements.size();
    }

    @Override
    public final Iterator<E> iterator() {
        return elements.iterator();
    }

    @Override
    public final int remainingCapacity() {
        return Integer.MAX_VALUE;
    }

    @Override
    public final int drainTo(Collection<? super E> target) {
        return drainTo(target, Integer.MAX_VALUE);
    }

    @Override
    public final int drainTo(Collection<? super E> target, int most) {
        Objects.requireNonNull(target, "target");
        int count = 0;
        E next = count < most ? elements.poll() : null;
        while (next != null) {
            target.add(next);
            count++;
            next = count < most ? elements.poll() : null;
        }
        return count;
    }
}
