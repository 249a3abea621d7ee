package io.github.redislocks;

/**
 * The work of a leader: {@link Locks#leadership}. A term lasts as long as {@link #lead} does.
 *
 * <pre>{@code
 * LeaderWork poll = term -> {
 *     do {
 *         outbox.sendAll(term.fencingToken());
 *     } while (!term.awaitStopping(Duration.ofSeconds(10)));
 * };
 * }</pre>
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface LeaderWork {

    /**
     * Leads for one term. Runs on a thread of its own, and not again before it has returned.
     *
     * <p>It should return soon after it is told to stop: the lock was lost, or the leadership is being closed. It is
     * told by {@link LeaderTerm#isStopping()}, {@link LeaderTerm#awaitStopping} and {@link LeaderTerm#stopping()}, and
     * by an interrupt of its thread, unless {@link LeaderOptions#interrupt} says otherwise. If it returns earlier, the
     * lock is released, and it runs for leader again at once.
     *
     * @throws Exception if the work fails: it is logged, the lock is released, and it runs for leader again after a
     *     pause, at most 1 s at first, and 30 s if it fails again and again. An {@link InterruptedException} or
     *     {@link LockLostException} of work that was told to stop is no failure.
     */
    // The work of users may throw what it likes: it is caught and logged.
    void lead(LeaderTerm term) throws Exception;
}
