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
     * Makes a future. Its result is {@code busy} if the lock stays busy; {@code busy} is null if the acquisition waits
     * for ever.
     */
    public AcquireFuture(Function<H, R> resultOf, @Nullable R busy) {
        this.resultOf = resultOf;
        this.busy = busy;
    }

    /** The future of an acquisition that waits as long as it takes. */
    public static <H extends Handle> AcquireFuture<H, H> waiting() {
        return new AcquireFuture<>(handle -> handle, null);
    }

    /** The future of a try. */
    public static <H extends Handle> AcquireFuture<H, Optional<H>> trying() {
        return new AcquireFuture<>(Optional::of, Optional.empty());
    }

    /**
     * Makes the action that gives the acquired handle to the caller. The action returns false if the caller has ended
     * the future, and nobody has the handle. Called before the acquisition begins, so that after an error here no lock
     * is held.
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
