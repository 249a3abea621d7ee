package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Settings of one lock object. A setting that is not set here is that of the client. Immutable: each method returns a
 * copy.
 *
 * <pre>{@code
 * FencedLock nightly = locks.reentrantLock("report", LockOptions.defaults().lease(Duration.ofMinutes(5)).fair(true));
 * }</pre>
 *
 * <p>Options belong to the lock object, not to the name. Two objects with the same name are one lock, but each waits
 * and renews by its own options.
 *
 * <p>An option that cannot have an effect is refused with an {@link IllegalArgumentException}. The methods of this
 * class refuse two options that exclude each other. A client with a {@code maxHold} refuses a {@link #residency},
 * unless the options have {@code maxHold(Duration.ZERO)}. {@link Locks#multiLock} refuses a {@link #residency}, since a
 * client does not keep several locks together. {@link LeaderOptions#lock} refuses {@link #residency} and
 * {@code relockAfterLoss(false)}, since these two options concern only threads that lock. For the same reason the two
 * have no effect on a {@link LockHandle} of the lock.
 *
 * @since 0.1.0
 */
public final class LockOptions {

    private static final LockOptions DEFAULTS = new LockOptions(new Values());

    /** The values of the options; null stands for the client's setting. They change only while a copy is made. */
    private static final class Values implements Cloneable {
        @Nullable
        Duration lease;

        boolean renewed = true;

        boolean relockAfterLoss = true;

        boolean fair;

        @Nullable
        Duration maxHold;

        @Nullable
        Duration residency;

        @Override
        protected Values clone() {
            try {
                return (Values) super.clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        List<@Nullable Object> all() {
            return Arrays.asList(lease, renewed, relockAfterLoss, fair, maxHold, residency);
        }
    }

    private final Values values;

    private LockOptions(Values values) {
        Duration lease = values.lease;
        Duration maxHold = values.maxHold;
        if (!values.renewed && lease != null && maxHold != null && !maxHold.isZero() && lease.compareTo(maxHold) > 0) {
            throw new IllegalArgumentException(
                    "The fixedLease is " + Shown.of(lease) + ", and the maxHold of the same options "
                            + Shown.of(maxHold)
                            + ": a hold cannot last longer than its maxHold. Set a fixedLease of at most that, or"
                            + " no maxHold, since a fixed lease is not renewed anyway.");
        }
        Duration residency = Objects.requireNonNullElse(values.residency, Duration.ZERO);
        boolean kept = !residency.isZero();
        if (kept && values.fair) {
            throw new IllegalArgumentException(
                    "The residency is " + Shown.of(residency) + ", and the lock is fair: a client that"
                            + " keeps a lock serves its own threads first, and a fair lock serves all threads in order of arrival."
                            + " Set no residency, or fair(false).");
        }
        Settings.checkMayKeep(residency, Objects.requireNonNullElse(maxHold, Duration.ZERO), "Set only one of them.");
        if (kept && !values.renewed) {
            throw new IllegalArgumentException("The residency is " + Shown.of(residency)
                    + ", and the same options have a fixedLease: a client renews a lock that it keeps, and a fixed lease is not"
                    + " renewed. Set only one of them.");
        }
        this.values = values;
    }

    /**
     * Throws if these options have a residency.
     *
     * @param object what does not support a residency, for the message
     * @param reason why it does not
     */
    void checkNotKept(String object, String reason) {
        Duration residency = values.residency;
        if (residency != null && !residency.isZero()) {
            throw new IllegalArgumentException("The residency is " + Shown.of(residency) + ", of " + object + ": "
                    + reason + " Set no residency.");
        }
    }

    /**
     * Throws if these options have {@code relockAfterLoss(false)}, which needs a thread.
     *
     * @param object what does not support the option, for the message
     */
    void checkMayRelock(String object) {
        if (!values.relockAfterLoss) {
            throw new IllegalArgumentException(
                    "relockAfterLoss is false, of " + object
                            + ": the option refuses threads that lock again, and the lock belongs to a handle. Leave the option out.");
        }
    }

    private LockOptions with(Consumer<Values> change) {
        Values changed = values.clone();
        change.accept(changed);
        return new LockOptions(changed);
    }

    /** Returns the default options: all settings are those of the client, and the lock is not fair. */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Sets the lease of holds. A hold is renewed after each third of its lease while its thread and process live. With
     * a short lease the lock of a crashed holder is free sooner. With a long lease holds survive longer pauses and
     * outages.
     *
     * @param time 100 ms to 24 h
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    public LockOptions lease(Duration time) {
        Settings.checkLease(time);
        return with(copy -> {
            copy.lease = time;
            copy.renewed = true;
        });
    }

    /**
     * Sets a lease that is not renewed, so that holds end with this lease at the latest. A re-entry makes the hold last
     * for at least this lease from then on, and never shortens the hold. To use several fixed leases for one lock, make
     * a lock object for each. A client never keeps a lock that was acquired with a fixed lease, whatever its
     * {@link RedisLocksBuilder#residency}.
     *
     * @param time 100 ms to 24 h
     * @throws IllegalArgumentException if the time is shorter or longer, or longer than a {@link #maxHold} of these
     *     options, or if these options have a {@link #residency}
     */
    public LockOptions fixedLease(Duration time) {
        Settings.checkLease(time);
        return with(copy -> {
            copy.lease = time;
            copy.renewed = false;
        });
    }

    /**
     * Sets whether a thread that has lost the lock may acquire it again before {@code unlock()} has thrown the
     * {@link LockLostException}; true by default. The thread then gets a new hold, with a hold count of 1. With
     * {@code false}, every method that would acquire the lock throws the {@link LockLostException} instead, so that a
     * successful re-entry proves that the outer hold lasts. The thread then has to call {@code unlock()} as often as it
     * locked, even if it no longer holds the lock.
     */
    public LockOptions relockAfterLoss(boolean allowed) {
        return with(copy -> copy.relockAfterLoss = allowed);
    }

    /** Sets whether the lock serves threads of all JVMs in order of arrival; false by default. */
    public LockOptions fair(boolean inOrder) {
        return with(copy -> copy.fair = inOrder);
    }

    /**
     * Sets how long a hold may last, instead of the client's {@link RedisLocksBuilder#maxHold}. After two thirds of
     * this time a warning is logged; at its end, the hold is lost with the reason
     * {@link LockLost.Reason#HELD_TOO_LONG}. For several locks together, the time counts from the acquisition of the
     * last lock.
     *
     * @param time 100 ms to 30 days; zero for no limit
     * @throws IllegalArgumentException if the time is shorter or longer, or shorter than a {@link #fixedLease} of these
     *     options
     */
    public LockOptions maxHold(Duration time) {
        Duration checked = Settings.checkMaxHold(time);
        return with(copy -> copy.maxHold = checked);
    }

    /**
     * Sets for how long the client keeps the lock after its last thread has unlocked it, instead of the client's
     * {@link RedisLocksBuilder#residency}. If the client has a {@link RedisLocksBuilder#maxHold}, set
     * {@code maxHold(Duration.ZERO)} as well.
     *
     * @param time 1 ms to 24 h; zero to release the lock at its unlock
     * @throws IllegalArgumentException if the time is shorter or longer, or if these options have {@link #fair}, a
     *     {@link #fixedLease} or a {@link #maxHold}
     */
    public LockOptions residency(Duration time) {
        Duration checked = Settings.checkResidency(time);
        return with(copy -> copy.residency = checked);
    }

    boolean isFair() {
        return values.fair;
    }

    /** Returns the settings of a client, in which these options replace the settings that they set. */
    Settings over(Settings client) {
        Settings settings = client;
        if (values.lease != null) {
            settings = values.renewed ? settings.withLease(values.lease) : settings.withFixedLease(values.lease);
        }
        if (!values.relockAfterLoss) {
            settings = settings.withRelockAfterLoss(false);
        }
        if (values.maxHold != null) {
            settings = settings.withMaxHold(values.maxHold);
        }
        if (values.residency != null) {
            Settings.checkMayKeep(
                    values.residency,
                    Duration.ofMillis(settings.maxHoldMillis()),
                    "Set maxHold(Duration.ZERO) in these options, since the client has that maxHold, or no residency.");
            settings = settings.withResidency(values.residency);
        }
        return settings;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockOptions that && values.all().equals(that.values.all());
    }

    @Override
    public int hashCode() {
        return values.all().hashCode();
    }

    /** Describes the settings that these options set. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("LockOptions[");
        add(text, values.renewed ? "lease" : "fixedLease", values.lease);
        add(text, "relockAfterLoss", values.relockAfterLoss ? null : Boolean.FALSE);
        add(text, "fair", values.fair ? Boolean.TRUE : null);
        add(text, "maxHold", values.maxHold);
        add(text, "residency", values.residency);
        return text.append(']').toString();
    }

    private static void add(StringBuilder text, String name, @Nullable Object value) {
        if (value != null) {
            text.append(text.charAt(text.length() - 1) == '[' ? "" : ", ")
                    .append(name)
                    .append('=')
                    .append(value instanceof Duration time ? Shown.of(time) : value);
        }
    }
}
