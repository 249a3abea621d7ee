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
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * The locks of {@link Locks} for Spring Integration 7.1, in the place of its {@code RedisLockRegistry}.
 *
 * <pre>{@code
 * @Bean
 * RedisLocksRegistry lockRegistry(Locks locks) {
 *     return new RedisLocksRegistry(locks, "flows");
 * }
 * }</pre>
 *
 * <p>A hold is renewed while its thread lives, so that no time to live has to be longer than the work; one that names a
 * time to live ends with it. There is no task scheduler to set. A lock object holds nothing, so that none has to be
 * removed. Closing the {@link Locks} is the business of who made it. Thread-safe.
 *
 * <p>After a loss {@code unlock()} throws a {@link io.github.redislocks.LockLostException}, and until then every method
 * that locks throws it too ({@link LockOptions#relockAfterLoss}): a {@code LockRegistryLeaderInitiator}, which locks
 * once more at each heartbeat, ends its leadership by that.
 *
 * @since 0.1.0
 */
public final class RedisLocksRegistry
        implements RenewableLockRegistry<DistributedLock>, ExpirableLockRegistry<DistributedLock> {

    /** Types of keys that have the same text in every JVM. */
    private static final Set<Class<?>> TEXTS =
            Set.of(String.class, UUID.class, Long.class, Integer.class, Short.class, Byte.class, Character.class);

    /** Without them a leader would take a new hold for one more entry into the hold that it has lost. */
    private static final LockOptions OPTIONS = LockOptions.defaults().relockAfterLoss(false);

    private final Locks locks;
    private final String prefix;

    /** Makes a registry in which the name of a lock is its key. */
    public RedisLocksRegistry(Locks locks) {
        this.locks = Objects.requireNonNull(locks, "locks");
        this.prefix = "";
    }

    /**
     * Makes a registry in which the name of a lock is its key behind a prefix and a colon.
     *
     * @param registryKey the prefix, by which registries are told apart
     * @throws IllegalArgumentException if it is empty
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
     * @throws IllegalArgumentException if it is something else, whose text may differ from one JVM to the next
     */
    @Override
    public DistributedLock obtain(Object lockKey) {
        return new RegisteredLock(fencedLock(lockKey));
    }

    /**
     * The lock of a key with all that it can do, such as its fencing token.
     *
     * @throws IllegalArgumentException as {@link #obtain}
     */
    public FencedLock fencedLock(Object lockKey) {
        return lock(lockKey, OPTIONS);
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
     * Makes sure that the calling thread holds the lock, and begins its lease anew. Of a hold without a time to live
     * the watchdog does that anyway.
     *
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock; a
     *     {@link io.github.redislocks.LockLostException} if it did and has lost it
     * @throws io.github.redislocks.LockUnavailableException if Redis does not answer; the hold is as it was
     */
    @Override
    public void renewLock(Object lockKey) {
        renew(fencedLock(lockKey));
    }

    /**
     * Has the calling thread's hold last for the given time at least; a longer hold is not shortened.
     *
     * @param ttl 100 ms to 24 h
     * @throws IllegalMonitorStateException as {@link #renewLock(Object)}
     * @throws IllegalArgumentException if the time is shorter or longer
     */
    @Override
    public void renewLock(Object lockKey, Duration ttl) {
        renew(lock(lockKey, OPTIONS.fixedLease(ttl)));
    }

    private static void renew(FencedLock lock) {
        lock.ensureHeld();
        // By a re-entry, which throws if the lock was lost meanwhile.
        boolean unused = lock.tryLock();
        lock.unlock();
    }

    /** Does nothing: a lock object holds nothing, and this registry keeps none. */
    @Override
    public void expireUnusedOlderThan(long age) {}

    /** As {@link LockRegistry} has it, for people. */
    @Override
    public String toString() {
        return "RedisLocksRegistry[" + prefix + "…]";
    }
}
