package io.github.redislocks.compat;

import io.github.redislocks.RedisReentrantLock;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * All methods of {@link ReentrantLock}, the protected ones too, of whichever lock is put to the test. Ours is found
 * method by method, by name and parameters: one that it has not fails the tests that call it.
 */
interface Subject extends Lock {

    int getHoldCount();

    boolean isHeldByCurrentThread();

    boolean isLocked();

    boolean isFair();

    Thread getOwner();

    boolean hasQueuedThreads();

    boolean hasQueuedThread(Thread thread);

    int getQueueLength();

    Collection<Thread> getQueuedThreads();

    boolean hasWaiters(Condition condition);

    int getWaitQueueLength(Condition condition);

    Collection<Thread> getWaitingThreads(Condition condition);

    /** The lock of the JDK. */
    static Subject jdk(boolean fair) {
        return new Jdk(fair);
    }

    /** Ours. */
    static Subject of(RedisReentrantLock lock) {
        Class<Subject> type = Subject.class;
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    try {
                        return RedisReentrantLock.class
                                .getMethod(method.getName(), method.getParameterTypes())
                                .invoke(lock, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    /** Shows what is protected there. */
    @SuppressWarnings("serial") // Nobody writes it.
    final class Jdk extends ReentrantLock implements Subject {

        private Jdk(boolean fair) {
            super(fair);
        }

        @Override
        public Thread getOwner() {
            return super.getOwner();
        }

        @Override
        public Collection<Thread> getQueuedThreads() {
            return super.getQueuedThreads();
        }

        @Override
        public Collection<Thread> getWaitingThreads(Condition condition) {
            return super.getWaitingThreads(condition);
        }
    }
}
