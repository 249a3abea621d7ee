package io.github.redislocks.engine;

import io.github.redislocks.HandleCall;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Interruption;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Work that has a lock by a handle, and whose end releases the lock. */
public final class HandledWork {

    private HandledWork() {}

    /**
     * Has the calling thread do the work, and releases the lock.
     *
     * @param losses the news of the loss of a handle, on which nothing depends that may block: it interrupts the thread
     *     while it does the work; null if nothing does
     */
    public static <T extends @Nullable Object, E extends Exception> T call(
            LockHandle held, @Nullable Function<LockHandle, CompletionStage<LockLost>> losses, HandleCall<T, E> action)
            throws E {
        Interruption interruption = null;
        T result;
        try {
            if (losses != null) {
                interruption = new Interruption();
                begin(interruption, losses.apply(held));
            }
            result = action.call(held);
        } catch (Throwable e) {
            boolean interrupted = interruption != null && interruption.end();
            LockLostException met = releaseAfter(held, e);
            // If there is none, the work may have closed its handle.
            LockLostException loss = interrupted && met == null ? lossOf(held) : met;
            if (interrupted && loss != null && e instanceof InterruptedException) {
                // Nobody else interrupted the caller.
                loss.addSuppressed(e);
                throw loss;
            }
            if (met != null) {
                e.addSuppressed(met);
            }
            throw e;
        }
        if (interruption != null) {
            interruption.end();
        }
        held.close();
        LockLostException loss = lossOf(held);
        if (loss != null) {
            // The work has released the lock, or tried to.
            throw loss;
        }
        return result;
    }

    private static void begin(Interruption interruption, CompletionStage<LockLost> lost) {
        interruption.begin();
        CompletionStage<Void> unused = lost.thenAccept(loss -> interruption.interrupt());
    }

    /**
     * Releases after the work has thrown, and returns the loss or adds to the exception what else comes of that. The
     * work's exception has precedence, since it may be the cause or the consequence of a loss.
     */
    private static @Nullable LockLostException releaseAfter(LockHandle held, Throwable thrown) {
        try {
            held.close();
            return null;
        } catch (LockLostException e) {
            return e;
        } catch (RuntimeException | Error e) {
            thrown.addSuppressed(e);
            return null;
        }
    }

    /** How the lock was lost; null if the work released it by itself. */
    private static @Nullable LockLostException lossOf(LockHandle held) {
        try {
            held.ensureHeld();
            return null;
        } catch (LockLostException e) {
            return e;
        } catch (IllegalMonitorStateException e) {
            return null;
        }
    }

    /**
     * Begins the work when its lock is had, and releases the lock when the stage of the work has ended.
     *
     * @param acquired the lock; cancelled if nobody wants the result any more
     */
    public static <T extends @Nullable Object> CompletableFuture<T> begin(
            CompletableFuture<LockHandle> acquired, Function<? super LockHandle, ? extends CompletionStage<T>> action) {
        Async<T> work = new Async<>(action);
        try {
            work.result.onEnd(() -> acquired.cancel(false));
            CompletableFuture<?> unused = acquired.whenComplete(work);
        } catch (Throwable e) {
            acquired.cancel(false);
            throw e;
        }
        return work.result;
    }

    /** One work of {@link #begin}; is told of its lock. */
    private static final class Async<T extends @Nullable Object> implements BiConsumer<LockHandle, Throwable> {

        final EndableFuture<T> result = new EndableFuture<>();
        private final Function<? super LockHandle, ? extends CompletionStage<T>> action;

        Async(Function<? super LockHandle, ? extends CompletionStage<T>> action) {
            this.action = action;
        }

        @Override
        public void accept(@Nullable LockHandle held, @Nullable Throwable failure) {
            if (held == null) {
                result.fail(failure);
            } else if (result.isDone()) {
                // Cancelled at the moment at which the lock was had.
                CompletionStage<Boolean> unused = held.releaseAsync();
            } else {
                run(held);
            }
        }

        private void run(LockHandle held) {
            try {
                CompletionStage<T> stage =
                        Objects.requireNonNull(action.apply(held), "The action under the lock returned no stage: null");
                CompletionStage<T> unused = stage.whenComplete((value, thrown) -> release(held, value, thrown));
            } catch (Throwable e) {
                release(held, null, e);
            }
        }

        private void release(LockHandle held, @Nullable T value, @Nullable Throwable thrown) {
            try {
                begin(held, value, thrown);
            } catch (Throwable e) {
                // Whoever completes a stage may have no room on its stack: once more, on another.
                try {
                    CompletableFuture<?> unused = CompletableFuture.runAsync(() -> begin(held, value, thrown))
                            .whenComplete((begun, again) -> failIf(again));
                } catch (Throwable again) {
                    failIf(again);
                }
            }
        }

        private void failIf(@Nullable Throwable thrown) {
            if (thrown != null) {
                result.fail(thrown);
            }
        }

        /** Begins the release, whose end is that of the work. */
        private void begin(LockHandle held, @Nullable T value, @Nullable Throwable thrown) {
            CompletionStage<?> unused = held.releaseAsync().whenComplete((released, e) -> {
                LockLostException lost = Boolean.TRUE.equals(released) ? null : lossOf(held);
                if (thrown != null) {
                    if (lost != null) {
                        // A failure that came through another stage has a wrapper, which get() strips.
                        Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : null;
                        (cause == null ? thrown : cause).addSuppressed(lost);
                    }
                    result.fail(thrown);
                } else if (lost != null) {
                    result.fail(lost);
                } else {
                    complete(value);
                }
            });
        }

        @SuppressWarnings("NullAway") // Null only where the stage's value is.
        private void complete(@Nullable T value) {
            result.succeed(value);
        }
    }
}
