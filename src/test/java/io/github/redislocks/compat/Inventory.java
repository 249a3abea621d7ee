package io.github.redislocks.compat;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/** An example of code that was written for ReentrantLock. It is compiled once more with another line for the lock. */
public final class Inventory implements Bounded {

    private static final int ROOM = 3;

    private final Lock lock = new ReentrantLock();
    private final Condition notFull = lock.newCondition();
    private final Condition notEmpty = lock.newCondition();
    private final Queue<Integer> items = new ArrayDeque<>();

    @Override
    public void put(int item) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (size() == ROOM) {
                notFull.await();
            }
            items.add(item);
            notEmpty.signal();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int take() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (size() == 0) {
                notEmpty.await();
            }
            notFull.signal();
            return items.remove();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Integer poll() {
        if (!lock.tryLock()) {
            return null;
        }
        try {
            Integer item = items.poll();
            notFull.signal();
            return item;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int size() {
        lock.lock();
        try {
            return items.size();
        } finally {
            lock.unlock();
        }
    }
}
