package io.github.redislocks.redis;

import io.github.redislocks.concurrent.Threads;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The client's own platform threads, for what a caller's thread must not do itself: connect, which no timeout of a
 * socket bounds as a whole; write much, which none bounds at all; and any command of a virtual thread, whose socket an
 * interrupt would close. They are made when needed and end when idle; each has a place of a pool, which bounds them.
 */
final class Workers {

    private static final long IDLE_SECONDS = 5;
    private static final MethodHandle IS_VIRTUAL = isVirtual();

    private final ThreadPoolExecutor threads;

    Workers(String address) {
        this(numbered(address));
    }

    private static ThreadFactory numbered(String address) {
        AtomicLong number = new AtomicLong();
        return work -> Threads.daemon("redis-locks-io-" + address + "-" + number.incrementAndGet(), work);
    }

    Workers(ThreadFactory factory) {
        threads = new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), factory);
    }

    static boolean onVirtualThread() {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Throws {@code RejectedExecutionException} once {@link #close} was called; and, with the error as its cause, if no
     * thread could be started.
     */
    void execute(Runnable work) {
        try {
            threads.execute(work);
        } catch (Error noThread) {
            throw new RejectedExecutionException("no thread could be started", noThread);
        }
    }

    void close() {
        threads.shutdown();
    }

    /** {@code Thread.isVirtual} where there is one (JDK 21). */
    private static MethodHandle isVirtual() {
        try {
            return MethodHandles.lookup().findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException e) {
            return MethodHandles.dropArguments(MethodHandles.constant(boolean.class, false), 0, Thread.class);
        }
    }
}
