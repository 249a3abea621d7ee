package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor.AbortPolicy;
import org.junit.jupiter.api.Test;

class WorkerPoolTest {

    /** Callers of the pool handle a refusal, and nothing else that a user's factory may throw. */
    @Test
    void execute_withAFactoryThatMakesNoThread_isRefused() {
        List<ThreadFactory> factories = List.of(
                work -> {
                    throw new IllegalStateException("at its limit");
                },
                work -> {
                    throw new OutOfMemoryError("unable to create native thread");
                },
                work -> Threads.of(ignored -> null, "test").make("role", work));
        for (ThreadFactory factory : factories) {
            WorkerPool pool = new WorkerPool(0, 1, 1, new LinkedBlockingQueue<>(), factory, new AbortPolicy());
            assertThatThrownBy(() -> pool.execute(() -> {})).isInstanceOf(RejectedExecutionException.class);
            pool.shutdownNow();
        }
    }
}
