package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An event that the library reports to a {@link LockListener}. Immutable; two events of one class are equal if all
 * values that {@link #toString} shows are equal.
 *
 * @since 0.1.0
 */
public abstract class LockEvent {

    LockEvent() {}

    /**
     * The subject of an event. Later versions may add modes, so a {@code switch} needs a default.
     *
     * @since 0.1.0
     */
    public enum Mode {
        /** A lock that one owner has alone, such as a {@link RedisReentrantLock} or the write lock. */
        WRITE,
        /** The read lock of a {@link RedisReentrantReadWriteLock}. */
        READ,
        /** {@link Permits} of a pool. */
        PERMITS
    }

    /** The values of the event, each with its name. Two events of a class are equal if these are equal. */
    abstract List<Map.Entry<String, Object>> values();

    @Override
    public final boolean equals(@Nullable Object other) {
        return other instanceof LockEvent that && getClass() == that.getClass() && values().equals(that.values());
    }

    @Override
    public final int hashCode() {
        return values().hashCode();
    }

    /** Describes the event by its class and its values, in one line. */
    @Override
    public final String toString() {
        return values().stream()
                .map(value -> value.getKey() + '=' + shown(value.getValue()))
                .collect(Collectors.joining(", ", getClass().getSimpleName() + '[', "]"));
    }

    private static String shown(Object value) {
        return value instanceof Duration time ? Shown.of(time) : Shown.of(String.valueOf(value));
    }
}
