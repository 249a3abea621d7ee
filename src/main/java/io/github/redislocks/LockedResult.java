package io.github.redislocks;

import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The result of {@link LeasedLock#tryCallWithLock}: the value that the action returned, or the fact that the action did
 * not run because the lock was busy. Unlike an {@link java.util.Optional}, a {@code LockedResult} distinguishes an
 * action that returned null from an action that did not run.
 *
 * <pre>{@code
 * Receipt receipt = lock.tryCallWithLock(Duration.ofSeconds(2), this::pay).orElseThrow(BusyException::new);
 * }</pre>
 *
 * @param <T> the type of the action's value
 * @since 0.1.0
 */
public final class LockedResult<T extends @Nullable Object> {

    private static final LockedResult<?> BUSY = new LockedResult<>(false, null);

    private final boolean ran;
    private final @Nullable T value;

    private LockedResult(boolean ran, @Nullable T value) {
        this.ran = ran;
        this.value = value;
    }

    /** The result of an action that ran. */
    public static <T extends @Nullable Object> LockedResult<T> of(T value) {
        return new LockedResult<>(true, value);
    }

    /** The result of an action that did not run, since the lock was busy. */
    @SuppressWarnings("unchecked") // BUSY has no value, so its type does not matter.
    public static <T extends @Nullable Object> LockedResult<T> busy() {
        return (LockedResult<T>) BUSY;
    }

    /** Whether the action ran. */
    public boolean ran() {
        return ran;
    }

    /**
     * Returns the result of the action.
     *
     * @throws NoSuchElementException if the action did not run
     */
    public T get() {
        return orElseThrow(() -> new NoSuchElementException(
                "The lock was busy, so the action did not run: ask ran() first, or use orElse or orElseThrow."));
    }

    /** Returns the result of the action, or {@code other} if the action did not run. */
    public T orElse(T other) {
        return ran ? value() : other;
    }

    /**
     * Returns the result of the action.
     *
     * @throws X if the action did not run
     */
    public <X extends Throwable> T orElseThrow(Supplier<? extends X> exception) throws X {
        if (!ran) {
            throw exception.get();
        }
        return value();
    }

    @SuppressWarnings("NullAway") // T may be a type that permits null.
    private T value() {
        return value;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockedResult<?> that && ran == that.ran && Objects.equals(value, that.value);
    }

    @Override
    public int hashCode() {
        return Objects.hash(ran, value);
    }

    @Override
    public String toString() {
        return ran ? "LockedResult[" + value + ']' : "LockedResult[busy]";
    }
}
