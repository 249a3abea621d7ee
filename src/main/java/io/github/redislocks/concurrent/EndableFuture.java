package io.github.redislocks.concurrent;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A future that its user may end, for example by a cancel or a timeout. The action of {@link #onEnd} then runs first,
 * before the stages that depend on the future: stages run in no defined order, and may block.
 */
public class EndableFuture<T extends @Nullable Object> extends CompletableFuture<T> {

    private volatile Runnable onEnd = () -> {};

    /** Sets the action that runs, perhaps more than once, when the user ends the future. */
    public void onEnd(Runnable action) {
        onEnd = action;
    }

    @Override
    public boolean complete(T value) {
        onEnd.run();
        return succeed(value);
    }

    @Override
    public boolean completeExceptionally(Throwable failure) {
        // Check the argument first: a call that throws for null must not run onEnd.
        Throwable checked = Objects.requireNonNull(failure);
        onEnd.run();
        return fail(checked);
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        onEnd.run();
        return super.cancel(mayInterruptIfRunning);
    }

    @Override
    public CompletableFuture<T> completeAsync(Supplier<? extends T> supplier, Executor executor) {
        return super.completeAsync(
                () -> {
                    try {
                        return supplier.get();
                    } finally {
                        onEnd.run();
                    }
                },
                executor);
    }

    /** Completes the future on behalf of its maker; returns false if it was complete already. */
    public boolean succeed(T value) {
        return super.complete(value);
    }

    /** As {@link #succeed}, with a failure. */
    public boolean fail(@Nullable Throwable failure) {
        return super.completeExceptionally(failure);
    }
}
