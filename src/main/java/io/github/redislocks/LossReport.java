package io.github.redislocks;

import io.github.redislocks.concurrent.Threads;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the user's listener of losses, on a thread of its own that comes and goes with them, so that a slow listener
 * delays no renewal. Its queue is bounded by the number of holds.
 */
final class LossReport {

    private static final Logger log = LoggerFactory.getLogger(LossReport.class);

    private final @Nullable LockLostListener listener;
    private final BlockingQueue<Runnable> queue = new LinkedBlockingQueue<>();
    private final ThreadPoolExecutor executor;

    LossReport(@Nullable LockLostListener listener) {
        this(listener, Threads.daemons("redis-locks-listener"));
    }

    LossReport(@Nullable LockLostListener listener, ThreadFactory threads) {
        this.listener = listener;
        this.executor = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, queue, threads);
        executor.allowCoreThreadTimeOut(true);
    }

    void report(LockLost loss) {
        if (listener != null) {
            queue.add(() -> tell(listener, loss));
            startThread();
        }
        log(loss);
    }

    /** Starts the thread if it has something to tell; to be said again if the system had no thread to give. */
    void startThread() {
        if (!queue.isEmpty() && executor.getPoolSize() == 0) {
            try {
                executor.prestartCoreThread();
            } catch (OutOfMemoryError noThread) {
                log.warn("No thread can be started to tell the lock-lost listener; it is tried again");
            }
        }
    }

    private static void log(LockLost loss) {
        try {
            log.warn(
                    "The lock \"{}\" (token {}) of thread {} was lost: {}",
                    loss.lockName(),
                    loss.token(),
                    loss.ownerThreadName(),
                    loss.reason());
        } catch (Throwable e) {
            // What a logger throws must not be taken for a loss that nobody was told of, and told again.
        }
    }

    private static void tell(LockLostListener listener, LockLost loss) {
        try {
            listener.lockLost(loss);
        } catch (Throwable e) {
            log.error("The lock-lost listener failed for {}", loss, e);
        }
    }

    /**
     * Lets the losses so far be told, for a time. What the watchdog finds lost while the client closes is told as well;
     * the thread ends when it has had nothing to tell for a second.
     */
    void close(Duration patience) {
        startThread();
        if (executor.getPoolSize() == 0) {
            return;
        }
        try {
            executor.submit(() -> {}).get(patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            log.warn("The lock-lost listener is still busy; it goes on while the client closes");
        } catch (ExecutionException e) {
            throw new AssertionError("Nothing fails", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
