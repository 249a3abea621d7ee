package io.github.redislocks.actions;

import io.github.redislocks.Handle;
import io.github.redislocks.HandleCall;
import io.github.redislocks.HandleRun;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockedCall;
import io.github.redislocks.LockedResult;
import io.github.redislocks.LockedRun;
import io.github.redislocks.concurrent.EndableFuture;
import io.github.redislocks.concurrent.Interruption;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Work under a lock: the end of the work releases the lock. */
public final class HandledWork {

    private HandledWork() {}

    /** Wraps an action that returns nothing as one that returns a value. */
    public static <E extends Exception> LockedCall<Boolean, E> call(LockedRun<E> action) {
        Objects.requireNonNull(action, "action");
        return () -> {
            action.run();
            return Boolean.TRUE;
        };
    }

    /** Wraps an action that returns nothing as one that returns a value. */
    public static <H extends Handle, E extends Exception> HandleCall<H, Boolean, E> call(HandleRun<H, E> action) {
        Objects.requireNonNull(action, "action");
        return held -> {
            action.run(held);
            return Boolean.TRUE;
        };
    }

    /**
     * Unlocks at the end of a thread's work. Callers make this object before they acquire the lock: an error while the
     * object is made then leaves no lock held.
     */
    @FunctionalInterface
    public interface Unlock extends AutoCloseable {

        @Override
        void close();
    }

    /**
     * Runs an action on the calling thread, and then releases the handle. A loss of the handle interrupts the action.
     * If the action throws and the lock is lost, the action's exception is thrown, since it may be the cause or the
     * consequence of the loss.
     */
    public static <H extends Handle, T extends @Nullable Object, E extends Exception> T call(
            H held, HandleCall<? super H, T, E> action) throws E {
        Interruption interruption = new Interruption();
        boolean interrupted = false;
        T result;
        try (held) {
            try {
                interruption.begin();
                CompletionStage<Void> unused = EarlyNews.of(held).thenAccept(loss -> interruption.interrupt());
                result = action.call(held);
            } finally {
                interrupted = interruption.end();
            }
        } catch (Exception e) {
            LockLostException loss = interrupted && e instanceof InterruptedException ? lossOf(held) : null;
            if (loss != null) {
                // The loss interrupted the action: throw the loss instead.
                loss.addSuppressed(e);
                throw loss;
            }
            throw e;
        }
        LockLostException loss = lossOf(held);
        if (loss != null) {
            // The action itself has released the lock, or tried to, so close() did not throw the loss.
            throw loss;
        }
        return result;
    }

    /** The loss of the handle's lock; null if the lock is held, or was released before it was lost. */
    private static @Nullable LockLostException lossOf(Handle held) {
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
     * Starts the work when its lock is acquired, and releases the lock when the stage of the work has completed.
     *
     * @param acquired the acquisition of the lock, which is cancelled if the user ends the result
     */
    public static <H extends Handle, T extends @Nullable Object> CompletableFuture<T> start(
            CompletableFuture<H> acquired, Function<? super H, ? extends CompletionStage<T>> action) {
        Async<H, T, T> work = new Async<>(action, value -> value);
        work.whenComplete(acquired, work::run);
        return work.result;
    }

    /** As {@link #start}, unless the lock is busy. */
    public static <H extends Handle, T extends @Nullable Object> CompletableFuture<LockedResult<T>> tryStart(
            CompletableFuture<Optional<H>> acquired, Function<? super H, ? extends CompletionStage<T>> action) {
        Async<H, T, LockedResult<T>> work = new Async<>(action, LockedResult::of);
        work.whenComplete(
                acquired, held -> held.ifPresentOrElse(work::run, () -> work.result.succeed(LockedResult.busy())));
        return work.result;
    }

    /**
     * Work for which no thread waits. T is the type of the value of the action's stage, and R the type of the result
     * for the caller.
     */
    private static final class Async<H extends Handle, T extends @Nullable Object, R extends @Nullable Object> {

        final EndableFuture<R> result = new EndableFuture<>();
        private final Function<? super H, ? extends CompletionStage<T>> action;
        private final Function<T, R> resultOf;

        Async(Function<? super H, ? extends CompletionStage<T>> action, Function<T, R> resultOf) {
            this.action = action;
            this.resultOf = resultOf;
        }

        <A> void whenComplete(CompletableFuture<A> acquired, Consumer<A> next) {
            CompletableFuture<A> dependent = null;
            try {
                result.onEnd(() -> acquired.cancel(false));
                dependent = acquired.whenComplete((value, failure) -> {
                    if (failure == null) {
                        next.accept(value);
                    } else {
                        result.fail(failure);
                    }
                });
            } finally {
                if (dependent == null) {
                    // The result could not be connected to the acquisition. Cancel the acquisition: otherwise the lock
                    // would be acquired and nobody would release it.
                    acquired.cancel(false);
                }
            }
        }

        void run(H held) {
            if (result.isDone()) {
                // The future was cancelled at the moment of the grant: release the lock without running the work.
                release(held, null, null);
                return;
            }
            try {
                CompletionStage<T> stage =
                        Objects.requireNonNull(action.apply(held), "The action under the lock returned no stage: null");
                CompletionStage<T> unused = stage.whenComplete((value, thrown) -> release(held, value, thrown));
            } catch (Throwable e) {
                release(held, null, e);
            }
        }

        /** Starts the release. When that has ended, completes the result. */
        private void release(H held, @Nullable T value, @Nullable Throwable thrown) {
            CompletionStage<?> unused = CompletableFuture.completedFuture(held)
                    .thenCompose(Handle::releaseAsync)
                    // The thread that completes a stage may have no room on its stack: try again on another thread.
                    .exceptionallyComposeAsync(e -> held.releaseAsync())
                    .whenComplete((released, e) -> end(held, value, thrown == null ? e : thrown, released))
                    .exceptionally(e -> !result.fail(e));
        }

        private void end(H held, @Nullable T value, @Nullable Throwable thrown, @Nullable Boolean released) {
            LockLostException lost = Boolean.TRUE.equals(released) ? null : lossOf(held);
            if (thrown != null) {
                if (lost != null) {
                    // A failure that came through another stage is wrapped in a CompletionException, which get()
                    // strips: add the loss to the failure inside.
                    Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : null;
                    (cause == null ? thrown : cause).addSuppressed(lost);
                }
                result.fail(thrown);
            } else if (lost != null) {
                result.fail(lost);
            } else {
                complete(value);
            }
        }

        @SuppressWarnings("NullAway") // Null only where the stage's value is.
        private void complete(@Nullable T value) {
            result.succeed(resultOf.apply(value));
        }
    }
}
