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
     * Leads for one term, on a separate thread. The next term of the candidate begins only after this method has
     * returned.
     *
     * <p>When the lock was lost or the leadership is being closed, the work should stop: the method should return soon.
     * {@link LeaderTerm#isStopping()}, {@link LeaderTerm#awaitStopping} and {@link LeaderTerm#stopping()} report this
     * to the method, as does an interrupt of its thread, unless {@link LeaderOptions#interrupt interrupt(false)} is
     * set. If the method returns earlier, the lock is released, and the candidate competes for the lock again at once.
     *
     * @throws Exception if the work fails. The failure is logged, the lock is released, and the candidate competes
     *     again after a pause of at most 1 s, which grows up to 30 s while the work fails repeatedly. An
     *     {@link InterruptedException} or {@link LockLostException} of work that should stop is no failure
     */
    // Users' work may throw any exception: the caller catches and logs it.
    void lead(LeaderTerm term) throws Exception;
}
