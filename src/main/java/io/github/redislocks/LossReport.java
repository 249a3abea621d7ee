package io.github.redislocks;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
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
    private final ThreadPoolExecutor executor;

    LossReport(@Nullable LockLostListener listener) {
        this.listener = listener;
        this.executor = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
            Thread thread = new Thread(task, "redis-locks-listener");
            thread.setDaemon(true);
            return thread;
        });
        executor.allowCoreThreadTimeOut(true);
    }

    void report(LockLost loss) {
        log.warn(
                "The lock \"{}\" (token {}) of thread {} was lost: {}",
                loss.lockName(),
                loss.token(),
                loss.ownerThreadName(),
                loss.reason());
        if (listener != null) {
            executor.execute(() -> {
                try {
                    listener.lockLost(loss);
                } catch (Throwable e) {
                    log.error("The lock-lost listener failed for {}", loss, e);
                }
            });
        }
    }

    /**
     * Lets the losses so far be told, for a time. What the watchdog finds lost while the client closes is told as well;
     * the thread ends when it has had nothing to tell for a second.
     */
    void close(Duration patience) {
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
