package io.github.redislocks.compat;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A thread that does one thing, whose outcome the test wants to know. */
final class Actor<T> {

    private final FutureTask<T> task;
    final Thread thread;

    Actor(Callable<T> action) {
        task = new FutureTask<>(action);
        thread = new Thread(task);
        thread.setDaemon(true);
    }

    Actor<T> start() {
        thread.start();
        return this;
    }

    boolean isDone() {
        return task.isDone();
    }

    /** The value that the call returned. */
    T result() throws InterruptedException {
        try {
            return task.get(20, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new AssertionError("The actor threw " + e.getCause(), e.getCause());
        } catch (TimeoutException e) {
            AssertionError hangs = new AssertionError("The actor hangs");
            hangs.setStackTrace(thread.getStackTrace());
            throw hangs;
        }
    }
}
