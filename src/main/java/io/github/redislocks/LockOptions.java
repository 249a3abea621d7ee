package io.github.redislocks;

import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Settings of one lock object that differ from those of its {@link Locks}. Immutable: each method returns a copy. What
 * is not set is as in the client.
 *
 * <pre>{@code
 * FencedLock nightly = locks.lock("report", LockOptions.defaults().lease(Duration.ofMinutes(5)).fair(true));
 * }</pre>
 *
 * <p>Options belong to the lock object and not to the name: two objects with the same name are one lock, and each waits
 * and renews by its own options.
 *
 * @since 0.1.0
 */
public final class LockOptions {

    private static final LockOptions DEFAULTS = new LockOptions(null, true, null, null, false, false);

    private final @Nullable Duration lease;
    private final boolean renewed;
    private final @Nullable Duration retryFor;
    private final @Nullable Boolean localReentry;
    private final boolean fair;
    private final boolean interruptOnLoss;

    private LockOptions(
            @Nullable Duration lease,
            boolean renewed,
            @Nullable Duration retryFor,
            @Nullable Boolean localReentry,
            boolean fair,
            boolean interruptOnLoss) {
        this.lease = lease;
        this.renewed = renewed;
        this.retryFor = retryFor;
        this.localReentry = localReentry;
        this.fair = fair;
        this.interruptOnLoss = interruptOnLoss;
    }

    /** All settings of the client; not fair. */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Sets the lease that Redis keeps for holds, which are renewed after each third of it while their thread and
     * process live. A short lease frees the lock of a crashed holder sooner; a long lease outlasts longer pauses and
     * outages.
     *
     * @param time 100 ms to 24 h
     * @throws IllegalArgumentException if it is shorter or longer
     */
    public LockOptions lease(Duration time) {
        Settings.checkLease(time);
        return new LockOptions(time, true, retryFor, localReentry, fair, interruptOnLoss);
    }

    /**
     * Sets a lease that is not renewed, so that holds end with it at the latest. Every method without a lease then
     * behaves as the method with this lease, for instance {@code lock()} as {@link FencedLock#lock(Duration)}.
     *
     * @param time 100 ms to 24 h
     * @throws IllegalArgumentException if it is shorter or longer
     */
    public LockOptions fixedLease(Duration time) {
        Settings.checkLease(time);
        return new LockOptions(time, false, retryFor, localReentry, fair, interruptOnLoss);
    }

    /**
     * Sets how long {@code lock()} goes on trying, from the start of an outage of Redis.
     *
     * @param time 0, to give up at the first failure, to 24 h
     * @throws IllegalArgumentException if it is negative or longer
     */
    public LockOptions retryFor(Duration time) {
        return new LockOptions(lease, renewed, Settings.checkRetryFor(time), localReentry, fair, interruptOnLoss);
    }

    /**
     * Sets whether a thread that holds the lock re-enters it without a request:
     * {@link RedisLocks.Builder#localReentry}.
     */
    public LockOptions localReentry(boolean local) {
        return new LockOptions(lease, renewed, retryFor, local, fair, interruptOnLoss);
    }

    /** Sets whether the lock serves threads of all JVMs in order of arrival: {@link Locks#fairLock}. */
    public LockOptions fair(boolean inOrder) {
        return new LockOptions(lease, renewed, retryFor, localReentry, inOrder, interruptOnLoss);
    }

    /**
     * Sets whether a loss of the lock interrupts the thread that runs an action under it, in
     * {@link Locks#callWithHandle(String, LockOptions, HandleCall)} and {@link Locks#runWithHandle(String, LockOptions,
     * HandleRun)}: once, and never after the action has ended. Other methods refuse these options, since they do not
     * know which thread works under the lock; {@link LockHandle#lost()} is for them.
     */
    public LockOptions interruptOnLoss(boolean interrupt) {
        return new LockOptions(lease, renewed, retryFor, localReentry, fair, interrupt);
    }

    boolean isInterruptedOnLoss() {
        return interruptOnLoss;
    }

    /** Throws if an option is set that only actions with a handle understand. */
    LockOptions withoutAction() {
        if (interruptOnLoss) {
            throw new IllegalArgumentException("interruptOnLoss(true) needs an action, whose thread it interrupts: use"
                    + " callWithHandle or runWithHandle, or ask the handle for lost() and interrupt your thread.");
        }
        return this;
    }

    boolean isFair() {
        return fair;
    }

    boolean isRenewed() {
        return renewed;
    }

    /** The settings of a client, replaced by those that are set here. */
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
                && fair == that.fair
                && interruptOnLoss == that.interruptOnLoss;
    }

    @Override
    public int hashCode() {
        return Objects.hash(lease, renewed, retryFor, localReentry, fair, interruptOnLoss);
    }

    /** Names the settings that differ from the client's. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("LockOptions[");
        add(text, renewed ? "lease" : "fixedLease", lease);
        add(text, "retryFor", retryFor);
        add(text, "localReentry", localReentry);
        add(text, "fair", fair ? Boolean.TRUE : null);
        add(text, "interruptOnLoss", interruptOnLoss ? Boolean.TRUE : null);
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
