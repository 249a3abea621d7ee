package io.github.redislocks;

import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How one lock object differs from what its {@link Locks} does otherwise. Immutable: each method returns a copy, and
 * what is not set is as the client has it.
 *
 * <pre>{@code
 * FencedLock nightly = locks.lock("report", LockOptions.defaults().lease(Duration.ofMinutes(5)).fair(true));
 * }</pre>
 *
 * <p>Options belong to the lock object and not to the name: two objects of one name are one lock, and each waits and
 * renews in its own way.
 *
 * @since 0.1.0
 */
public final class LockOptions {

    private static final LockOptions DEFAULTS = new LockOptions(null, true, null, null, false);

    private final @Nullable Duration lease;
    private final boolean renewed;
    private final @Nullable Duration retryFor;
    private final @Nullable Boolean localReentry;
    private final boolean fair;

    private LockOptions(
            @Nullable Duration lease,
            boolean renewed,
            @Nullable Duration retryFor,
            @Nullable Boolean localReentry,
            boolean fair) {
        this.lease = lease;
        this.renewed = renewed;
        this.retryFor = retryFor;
        this.localReentry = localReentry;
        this.fair = fair;
    }

    /** Everything as the client has it; not fair. */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Holds last for this long in Redis if nobody renews them, and are renewed every third of it for as long as their
     * thread and process live. A short lease frees the lock of a crashed holder sooner; a long one bears longer pauses
     * and outages.
     *
     * @param time 100 ms to 24 h
     * @throws IllegalArgumentException if it is shorter or longer
     */
    public LockOptions lease(Duration time) {
        Settings.checkLease(time);
        return new LockOptions(time, true, retryFor, localReentry, fair);
    }

    /**
     * Holds end after this time at the latest: nobody renews them. Every method that names no lease behaves as the one
     * that names this one, so {@code lock()} as {@link FencedLock#lock(Duration)}.
     *
     * @param time 100 ms to 24 h
     * @throws IllegalArgumentException if it is shorter or longer
     */
    public LockOptions fixedLease(Duration time) {
        Settings.checkLease(time);
        return new LockOptions(time, false, retryFor, localReentry, fair);
    }

    /**
     * How long {@code lock()} goes on trying, from the start of an outage of Redis.
     *
     * @param time 0, to give up at the first failure, to 24 h
     * @throws IllegalArgumentException if it is negative or longer
     */
    public LockOptions retryFor(Duration time) {
        return new LockOptions(lease, renewed, Settings.checkRetryFor(time), localReentry, fair);
    }

    /**
     * Whether a thread that holds the lock locks it again without a request: {@link RedisLocks.Builder#localReentry}.
     */
    public LockOptions localReentry(boolean local) {
        return new LockOptions(lease, renewed, retryFor, local, fair);
    }

    /** Whether the lock serves threads in the order in which they came, over all JVMs: {@link Locks#fairLock}. */
    public LockOptions fair(boolean inOrder) {
        return new LockOptions(lease, renewed, retryFor, localReentry, inOrder);
    }

    boolean isFair() {
        return fair;
    }

    boolean isRenewed() {
        return renewed;
    }

    /** The settings of a client, with these in their place. */
    Settings over(Settings client) {
        Settings settings = client;
        if (lease != null) {
            settings = settings.withLease(lease);
        }
        if (retryFor != null) {
            settings = settings.withRetryFor(retryFor);
        }
        if (localReentry != null) {
            settings = settings.withLocalReentry(localReentry);
        }
        return settings;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockOptions that
                && Objects.equals(lease, that.lease)
                && renewed == that.renewed
                && Objects.equals(retryFor, that.retryFor)
                && Objects.equals(localReentry, that.localReentry)
                && fair == that.fair;
    }

    @Override
    public int hashCode() {
        return Objects.hash(lease, renewed, retryFor, localReentry, fair);
    }

    /** Names what differs from the client's. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("LockOptions[");
        add(text, renewed ? "lease" : "fixedLease", lease);
        add(text, "retryFor", retryFor);
        add(text, "localReentry", localReentry);
        add(text, "fair", fair ? Boolean.TRUE : null);
        return text.append(']').toString();
    }

    private static void add(StringBuilder text, String name, @Nullable Object value) {
        if (value != null) {
            text.append(text.charAt(text.length() - 1) == '[' ? "" : ", ")
                    .append(name)
                    .append('=')
                    .append(value);
        }
    }
}
