package io.github.redislocks.shedlock;

import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * A lock as ShedLock uses it. When a task extends its lock, it gets another object of this class, with the same
 * {@link Possession}.
 */
final class HandleLock extends AbstractSimpleLock {

    private final Possession possession;
    private final Possession.Term term;

    /**
     * Makes the lock of a task.
     *
     * @param configuredNanos when {@code lockAtMostFor} begins to count, by {@link System#nanoTime}
     */
    HandleLock(LockConfiguration configuration, Possession possession, long configuredNanos) {
        super(configuration);
        this.possession = possession;
        this.term = possession.lastFor(configuration.getLockAtMostFor(), configuredNanos);
    }

    @Override
    protected void doUnlock() {
        possession.end(lockConfiguration.getLockAtLeastFor(), term);
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration configuration) {
        RedisLocksProvider.ensureShort(configuration.getLockAtLeastFor());
        long now = System.nanoTime();
        Duration longest = configuration.getLockAtMostFor();
        return term.stop(now) && possession.isHeld() && !longest.isNegative()
                ? Optional.of(new HandleLock(configuration, possession, now))
                : Optional.empty();
    }
}
