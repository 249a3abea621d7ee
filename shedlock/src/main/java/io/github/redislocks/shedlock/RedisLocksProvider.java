package io.github.redislocks.shedlock;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.Locks;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * Gives ShedLock the locks of this library, under the names of its tasks.
 *
 * <pre>{@code
 * @Bean
 * LockProvider lockProvider(Locks locks) {
 *     return new RedisLocksProvider(locks);
 * }
 * }</pre>
 *
 * <p>A lock is renewed while its process lives, for {@code lockAtMostFor} at most. So, other than with most providers,
 * that time may be generous: the lock of a process that has died is free when its lease ends, which is 30 s or what
 * {@code lease} of the builder says. After {@code lockAtMostFor} the lock is given up, as ShedLock wants it, though its
 * task may still run; {@code KeepAliveLockProvider} extends it as long as that does. {@code lockAtLeastFor} keeps the
 * lock taken, by nobody, until that time after it was acquired; the lease is no shorter then, so that a process that
 * dies earlier changes nothing.
 *
 * @since 0.1.0
 */
public final class RedisLocksProvider implements ExtensibleLockProvider {

    private static final Duration LONGEST_AT_LEAST = Duration.ofDays(1);
    /** The lease of a lock that is kept, unless it is kept for longer. */
    private static final Duration KEPT_LEASE = Duration.ofSeconds(30);

    /** For how long a request that was not answered is made again: a task should not be left out for a short stall. */
    private static final long PATIENCE_NANOS = 3_000_000_000L;

    private static final long PAUSE_MILLIS = 20;

    private final Locks locks;

    /** Of these locks, which somebody else closes. */
    public RedisLocksProvider(Locks locks) {
        this.locks = Objects.requireNonNull(locks, "locks");
    }

    /**
     * Takes the lock of a task if it is free.
     *
     * @throws IllegalArgumentException if {@code lockAtLeastFor} is longer than 24 h, or the name cannot work
     * @throws LockException if the thread is interrupted, which it stays
     * @throws LockUnavailableException if Redis does not answer for 3 s, so that nobody knows whether the lock is free:
     *     the task does not run, and its scheduler logs why
     * @throws UnsupportedOperationException on a quorum, for {@code lockAtLeastFor}
     */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        try {
            LockOptions options = options(configuration);
            long end = System.nanoTime() + PATIENCE_NANOS;
            boolean mayBeOurs = false;
            while (true) {
                long began = System.nanoTime();
                try {
                    Optional<LockHandle> held = locks.reentrantLock(configuration.getName(), options)
                            .tryAcquire(Duration.ZERO);
                    if (held.isPresent() || !mayBeOurs || began - end >= 0) {
                        return held.map(handle -> new HandleLock(configuration, new Possession(handle, began), began));
                    }
                } catch (LockUnavailableException e) {
                    if (began - end >= 0) {
                        throw e;
                    }
                    // A request that it left behind may keep the lock busy until a release reaches Redis.
                    mayBeOurs |= e.holdMayExist();
                }
                Thread.sleep(PAUSE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockException("Interrupted while taking the lock " + configuration.getName(), e);
        }
    }

    private LockOptions options(LockConfiguration configuration) {
        Duration atLeast = configuration.getLockAtLeastFor();
        if (atLeast.isZero()) {
            return LockOptions.defaults();
        }
        ensureShort(atLeast);
        ensureKeeps(configuration.getName());
        return LockOptions.defaults().lease(atLeast.compareTo(KEPT_LEASE) > 0 ? atLeast : KEPT_LEASE);
    }

    /** Throws if no lock can be kept for such a time. */
    static void ensureShort(Duration atLeast) {
        if (atLeast.compareTo(LONGEST_AT_LEAST) > 0) {
            throw new IllegalArgumentException("lockAtLeastFor is " + atLeast.toMillis()
                    + " ms: it must not be longer than 24 h, for which a lock can be kept. Have the task itself remember"
                    + " when it ran last.");
        }
    }

    /** Now: when the task has ended it would be too late, since nobody could release the lock then. */
    private void ensureKeeps(String name) {
        try {
            // A quorum has no fair locks, and no locks that are kept.
            FencedLock unused = locks.reentrantLock(name, LockOptions.defaults().fair(true));
        } catch (UnsupportedOperationException e) {
            throw new UnsupportedOperationException(
                    "lockAtLeastFor of \"" + name
                            + "\" needs a lock that is kept by nobody, which a quorum does not offer."
                            + " Use a single server, Sentinel or a cluster for this task, or no lockAtLeastFor.",
                    e);
        }
    }
}
