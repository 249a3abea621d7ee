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
 * A lock provider of ShedLock that uses the locks of this library. The name of a task is the name of its lock.
 *
 * <pre>{@code
 * @Bean
 * LockProvider lockProvider(Locks locks) {
 *     return new RedisLocksProvider(locks);
 * }
 * }</pre>
 *
 * <p>A lock is renewed while its process lives, for {@code lockAtMostFor} at most. So, unlike with most providers,
 * {@code lockAtMostFor} may be generous: if the process dies, the lock is free when its lease ends, after 30 s or the
 * {@code lease} of the builder. After {@code lockAtMostFor} the lock is released even if its task still runs, as
 * ShedLock demands; {@code KeepAliveLockProvider} extends the lock as long as the task runs. With
 * {@code lockAtLeastFor} the lock stays unavailable for that time after its acquisition, although nobody holds it. The
 * lease is at least as long, so the lock stays unavailable even if the process dies.
 *
 * @since 0.1.0
 */
public final class RedisLocksProvider implements ExtensibleLockProvider {

    private static final Duration LONGEST_AT_LEAST = Duration.ofDays(1);
    /** The least lease of a lock with a {@code lockAtLeastFor}. */
    private static final Duration KEPT_LEASE = Duration.ofSeconds(30);

    /** How long an unanswered request is repeated, so that no task is skipped because of a short stall of Redis. */
    private static final long PATIENCE_NANOS = 3_000_000_000L;

    private static final long PAUSE_MILLIS = 20;

    private final Locks locks;

    /** Makes a provider that uses the given locks, and does not close them. */
    public RedisLocksProvider(Locks locks) {
        this.locks = Objects.requireNonNull(locks, "locks");
    }

    /**
     * Takes the lock of a task if it is free.
     *
     * @throws IllegalArgumentException if {@code lockAtLeastFor} is longer than 24 h, or the name cannot work
     * @throws LockException if the thread is interrupted; its interrupt flag stays set
     * @throws LockUnavailableException if Redis does not answer for 3 s, so that nobody knows whether the lock is free;
     *     the task does not run, and its scheduler logs the exception
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
                    // The failed request may have taken the lock: then the lock is busy until the release of that hold
                    // reaches Redis.
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

    /** Throws if {@code lockAtLeastFor} is longer than {@link LockHandle#releaseAfter} permits. */
    static void ensureShort(Duration atLeast) {
        if (atLeast.compareTo(LONGEST_AT_LEAST) > 0) {
            throw new IllegalArgumentException("lockAtLeastFor is " + atLeast.toMillis()
                    + " ms: it must not be longer than 24 h. For a longer time, have the task itself record"
                    + " when it ran last.");
        }
    }

    /**
     * Throws if this Redis does not support {@code releaseAfter}. Call before the task runs: after the task it would be
     * too late.
     */
    private void ensureKeeps(String name) {
        try {
            // Make a fair lock as a test: a quorum supports neither fair locks nor releaseAfter, and refuses the fair
            // lock.
            FencedLock unused = locks.reentrantLock(name, LockOptions.defaults().fair(true));
        } catch (UnsupportedOperationException e) {
            throw new UnsupportedOperationException(
                    "lockAtLeastFor of \"" + name
                            + "\" needs releaseAfter, which a quorum does not support."
                            + " Use a single server, Sentinel or a cluster for this task, or no lockAtLeastFor.",
                    e);
        }
    }
}
