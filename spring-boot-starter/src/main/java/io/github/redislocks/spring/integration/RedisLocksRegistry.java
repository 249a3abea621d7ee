package io.github.redislocks.spring.integration;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockOptions;
import io.github.redislocks.Locks;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * A registry of Spring Integration 7.1 with the locks of {@link Locks}, which replaces its {@code RedisLockRegistry}.
 *
 * <pre>{@code
 * @Bean
 * RedisLocksRegistry lockRegistry(Locks locks) {
 *     return new RedisLocksRegistry(locks, "flows");
 * }
 * }</pre>
 *
 * <p>A hold is renewed while its thread lives, so you need no time to live that is longer than the work. A hold that is
 * acquired with a time to live ends with that time. A task scheduler is not needed. Lock objects have no state that has
 * to be removed. The registry does not close the {@link Locks}. Thread-safe.
 *
 * <p>After a loss {@code unlock()} throws a {@link io.github.redislocks.LockLostException}. Until that unlock every
 * method that locks throws the exception as well ({@link LockOptions#relockAfterLoss}). So a
 * {@code LockRegistryLeaderInitiator}, which locks again at each heartbeat, notices the loss and ends its leadership.
 *
 * @since 0.1.0
 */
public final class RedisLocksRegistry
        implements RenewableLockRegistry<DistributedLock>, ExpirableLockRegistry<DistributedLock> {

    /** The types of keys that have the same text in every JVM. */
    private static final Set<Class<?>> TEXTS =
            Set.of(String.class, UUID.class, Long.class, Integer.class, Short.class, Byte.class, Character.class);

    /**
     * The options of all locks. With relockAfterLoss, a leader that has lost its hold would get a new hold at its
     * heartbeat, and not notice the loss.
     */
    private static final LockOptions OPTIONS = LockOptions.defaults().relockAfterLoss(false);

    private final Locks locks;
    private final String prefix;

    /** Makes a registry in which the name of a lock is its key. */
    public RedisLocksRegistry(Locks locks) {
        this.locks = Objects.requireNonNull(locks, "locks");
        this.prefix = "";
    }

    /**
     * Makes a registry in which the name of a lock is a prefix, a colon and the key.
     *
     * @param registryKey the prefix, which must differ between registries
     * @throws IllegalArgumentException if the prefix is empty
     */
    public RedisLocksRegistry(Locks locks, String registryKey) {
        if (registryKey.isBlank()) {
            throw new IllegalArgumentException("The registryKey is \"" + registryKey
                    + "\": it must tell this registry apart from others. Use the constructor without one if there is"
                    + " only one.");
        }
        this.locks = Objects.requireNonNull(locks, "locks");
        this.prefix = registryKey + ':';
    }

    /**
     * {@inheritDoc}
     *
     * @param lockKey a text, a whole number, a character, a UUID or an enum constant
     * @throws IllegalArgumentException if the key has another type, whose text may differ between JVMs
     */
    @Override
    public DistributedLock obtain(Object lockKey) {
        return new RegisteredLock(fencedLock(lockKey), ttl -> leasedLock(lockKey, ttl));
    }

    /**
     * Returns the key's lock as a lock of this library, with methods such as {@code fencingToken()}.
     *
     * @throws IllegalArgumentException as {@link #obtain}
     */
    public FencedLock fencedLock(Object lockKey) {
        return lock(lockKey, OPTIONS);
    }

    private FencedLock leasedLock(Object lockKey, Duration ttl) {
        return lock(lockKey, OPTIONS.fixedLease(ttl));
    }

    private FencedLock lock(Object lockKey, LockOptions options) {
        return locks.reentrantLock(name(lockKey), options);
    }

    private String name(Object lockKey) {
        Objects.requireNonNull(lockKey, "lockKey");
        if (!TEXTS.contains(lockKey.getClass()) && !(lockKey instanceof Enum<?>)) {
            throw new IllegalArgumentException(
                    "The lockKey is a " + lockKey.getClass().getName()
                            + ": it must be a text, a whole number, a character, a UUID or an enum constant, which have the same"
                            + " text in every JVM. Pass a text that names what is to be locked.");
        }
        String text = lockKey instanceof Enum<?> constant ? constant.name() : lockKey.toString();
        return prefix + text;
    }

    /**
     * Checks that the calling thread holds the lock, and renews its lease. A hold without a time to live is also
     * renewed in the background.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock; a
     *     {@link io.github.redislocks.LockLostException} if the thread held the lock and has lost it
     * @throws io.github.redislocks.LockUnavailableException if Redis does not answer; the hold is unchanged then
     */
    @Override
    public void renewLock(Object lockKey) {
        renew(fencedLock(lockKey));
    }

    /**
     * Extends the calling thread's hold, so that it lasts for at least the given time from now on. Never shortens a
     * hold.
     *
     * @param ttl 100 ms to 24 h
     * @throws IllegalMonitorStateException as {@link #renewLock(Object)}
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    @Override
    public void renewLock(Object lockKey, Duration ttl) {
        renew(leasedLock(lockKey, ttl));
    }

    private static void renew(FencedLock lock) {
        lock.ensureHeld();
        // Renew by a re-entry, which throws if the lock was lost meanwhile.
        boolean unused = lock.tryLock();
        lock.unlock();
    }

    /** Does nothing: this registry stores no lock objects. */
    @Override
    public void expireUnusedOlderThan(long age) {}

    /** Describes the registry, for people. */
    @Override
    public String toString() {
        return "RedisLocksRegistry[" + prefix + "…]";
    }
}
