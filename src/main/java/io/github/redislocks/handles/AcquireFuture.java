package io.github.redislocks.handles;

import io.github.redislocks.Handle;
import io.github.redislocks.concurrent.EndableFuture;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The future of an acquisition for which no thread waits. */
public final class AcquireFuture<H extends Handle, R> extends EndableFuture<R> {

    private final Function<H, R> resultOf;
    private final @Nullable R busy;

    /**
     * Makes a future.
     *
     * @param resultOf makes the result from the acquired handle
     * @param busy the result if the lock was busy until the time was over; null if the acquisition has no time limit
     */
    public AcquireFuture(Function<H, R> resultOf, @Nullable R busy) {
        this.resultOf = resultOf;
        this.busy = busy;
    }

    /** The future of an acquisition without a time limit. */
    public static <H extends Handle> AcquireFuture<H, H> waiting() {
        return new AcquireFuture<>(handle -> handle, null);
    }

    /** The future of an acquisition with a time limit. Its result is empty if the lock was busy. */
    public static <H extends Handle> AcquireFuture<H, Optional<H>> trying() {
        return new AcquireFuture<>(Optional::of, Optional.empty());
    }

    /**
     * Makes the action that completes the future with the acquired handle. The action returns false if the caller has
     * completed the future before; then nobody gets the handle. Call this before the acquisition begins: an error in
     * this method must not leave a lock that is held.
     */
    BooleanSupplier grantOf(H handle) {
        R result = resultOf.apply(handle);
        return () -> succeed(result);
    }

    void busy() {
        if (busy == null) {
            fail(new IllegalStateException("An acquisition without a time ended by a time"));
        } else {
            succeed(busy);
        }
    }

    void failed(Throwable failure) {
        if (!(failure instanceof CancellationException)) {
            fail(failure);
        }
    }
}
