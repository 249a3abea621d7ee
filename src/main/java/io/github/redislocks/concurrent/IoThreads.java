package io.github.redislocks.concurrent;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The client's own platform threads, for work that a caller's thread must not do: connecting, which a name server may
 * delay; long writes, which no timeout of a socket bounds; and each request of a virtual thread, since an interrupt
 * would close its socket. The threads start when needed and end when idle. Each request has a permit of a connection
 * pool, which bounds the number of threads.
 */
public final class IoThreads {

    private static final long IDLE_SECONDS = 5;

    private final WorkerPool threads;

    public IoThreads(Threads threads, String address) {
        this(numbered(threads, address));
    }

    private static ThreadFactory numbered(Threads threads, String address) {
        AtomicLong number = new AtomicLong();
        return work -> threads.make("io-" + address + "-" + number.incrementAndGet(), work);
    }

    public IoThreads(ThreadFactory factory) {
        threads = new WorkerPool(
                0,
                Integer.MAX_VALUE,
                IDLE_SECONDS,
                new SynchronousQueue<>(),
                factory,
                new ThreadPoolExecutor.AbortPolicy());
    }

    /**
     * Runs work on a thread of its own.
     *
     * @throws RejectedExecutionException after {@link #close}; and, with the error as its cause, if no thread could be
     *     started
     */
    public void execute(Runnable work) {
        threads.execute(work);
    }

    public void close() {
        threads.shutdown();
    }
}
