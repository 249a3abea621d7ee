package io.github.redislocks.concurrent;

import java.util.AbstractQueue;
import java.util.Collection;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A blocking queue, made of a queue and a semaphore. The JDK's queues with a Condition may lose a taker permanently if
 * the first signal meets an {@link OutOfMemoryError}. Up to JDK 20 a taker of a
 * {@link java.util.concurrent.LinkedTransferQueue} may poll without a pause, beyond its timeout (JDK-8301341).
 */
public final class ParkingQueue<E> extends AbstractQueue<E> implements BlockingQueue<E> {

    private final Queue<E> elements = new ConcurrentLinkedQueue<>();
    private final int most;
    /** A permit for each element. */
    private final Semaphore queued = new Semaphore(0);

    /** Makes a queue without a bound. */
    public ParkingQueue() {
        this(Integer.MAX_VALUE);
    }

    ParkingQueue(int most) {
        this.most = most;
    }

    @Override
    public boolean offer(E element) {
        if (remainingCapacity() <= 0) {
            return false;
        }
        elements.add(element);
        queued.release();
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
        return queued.tryAcquire() ? elements.poll() : null;
    }

    @Override
    public @Nullable E poll(long timeout, TimeUnit unit) throws InterruptedException {
        return queued.tryAcquire(timeout, unit) ? elements.poll() : null;
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
            // Take the element's permit back. If a taker has it already, that taker finds no element.
            boolean unused = queued.tryAcquire();
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
        return most - queued.availablePermits();
    }

    @Override
    public int drainTo(Collection<? super E> target) {
        return drainTo(target, Integer.MAX_VALUE);
    }

    @Override
    public int drainTo(Collection<? super E> target, int most) {
        int count = 0;
        for (E next = null; count < most && (next = poll()) != null; count++) {
            target.add(next);
        }
        return count;
    }
}
