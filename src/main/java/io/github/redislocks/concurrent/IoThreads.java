package io.github.redislocks.concurrent;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The client's own platform threads, for what a caller's thread must not do itself: connect, which a name server may
 * delay; write much, which no timeout of a socket bounds; and any command of a virtual thread, whose socket an
 * interrupt would close. They are made when needed and end when idle; each has a place of a pool, which bounds them.
 */
public final class IoThreads {

    private static final long IDLE_SECONDS = 5;

    private final ThreadPoolExecutor threads;

    public IoThreads(Threads threads, String address) {
        this(numbered(threads, address));
    }

    private static ThreadFactory numbered(Threads threads, String address) {
        AtomicLong number = new AtomicLong();
        return work -> threads.make("io-" + address + "-" + number.incrementAndGet(), work);
    }

    public IoThreads(ThreadFactory factory) {
        threads = new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), factory);
    }

    /**
     * Throws {@code RejectedExecutionException} once {@link #close} was called; and, with the error as its cause, if no
     * thread could be started.
     */
    public void execute(Runnable work) {
        try {
            threads.execute(work);
        } catch (Error noThread) {
            throw new RejectedExecutionException("no thread could be started", noThread);
        }
    }

    public void close() {
        threads.shutdown();
    }
}
