package io.github.redislocks;

import io.github.redislocks.actions.Candidacy;
import io.github.redislocks.actions.Term;
import io.github.redislocks.concurrent.Agenda;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Log;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A candidate for leader, from its creation by {@link Locks#leadership} until it is closed. Whenever the candidate
 * acquires its lock, it leads for a <em>term</em>, which is one call of its {@link LeaderWork}.
 *
 * <pre>{@code
 * Leadership leadership = locks.leadership("outbox", term -> {
 *     do {
 *         outbox.sendAll(term.fencingToken());
 *     } while (!term.awaitStopping(Duration.ofSeconds(10)));
 * });
 * // when the service stops:
 * leadership.close();
 * }</pre>
 *
 * <p>A candidate that waits needs no thread; a term has a separate thread. The lock is held and renewed until the work
 * has returned, however long that takes after the work was asked to stop. Only then can this candidate begin another
 * term. If the lock is lost, the work is asked to stop before another candidate can be elected, with the exceptions
 * that {@link LockHandle#lost()} names. Work that does not stop then runs beside the work of the next leader. A
 * resource can tell the two apart by the {@link LeaderTerm#fencingToken()}, since the next leader has a greater token.
 *
 * <p>The candidate survives outages of Redis and failures of its work. It stays a candidate until it or its
 * {@link Locks} is closed, even if nobody refers to this object any more. Thread-safe.
 *
 * @since 0.1.0
 */
public final class Leadership implements AutoCloseable {

    /** Drives the candidates of a {@link Locks} that is not a {@link RedisLocks}. */
    static final Agenda SHARED = agenda(Clock.SYSTEM, Threads.DAEMONS);

    private static final Log LOG = Loggers.LEADERSHIP;

    private final String name;
    private final LeaderOptions options;
    private final Clock clock;
    private final Candidacy candidacy;
    private final CompletionStage<Void> ended;

    private Leadership(String name, LeaderOptions options, Clock clock, Candidacy candidacy) {
        this.name = name;
        this.options = options;
        this.clock = clock;
        this.candidacy = candidacy;
        this.ended = candidacy.ended().minimalCompletionStage();
    }

    /** Makes an agenda: one thread that drives candidates. */
    static Agenda agenda(Clock clock, Threads threads) {
        return new Agenda(clock, threads, "leadership");
    }

    /**
     * Makes a candidate, and starts its first acquisition.
     *
     * @param electorate asks for the lock; an exception of the first {@code ask} is thrown by this method
     */
    static Leadership run(String name, LeaderWork work, LeaderOptions options, Candidacy.Electorate electorate) {
        Objects.requireNonNull(work, "work");
        Candidacy.Office office = new Candidacy.Office(name, work, options.isInterrupting());
        Candidacy candidacy = new Candidacy(office, electorate);
        candidacy.begin();
        return new Leadership(name, options, electorate.agenda().clock(), candidacy);
    }

    /** The name of the lock. */
    public String name() {
        return name;
    }

    /** Whether this candidate leads: its work is running, and its hold of the lock is valid. Asks no server. */
    public boolean isLeader() {
        Term present = candidacy.term();
        return present != null && present.isAtWork() && present.isHeld();
    }

    /** The fencing token of the present term; empty if this candidate does not lead. Asks no server. */
    public OptionalLong fencingToken() {
        Term present = candidacy.term();
        try {
            return present != null && present.isAtWork()
                    ? OptionalLong.of(present.fencingToken())
                    : OptionalLong.empty();
        } catch (IllegalMonitorStateException lostOrReleased) {
            return OptionalLong.empty();
        }
    }

    /** Whether one of the close methods has been called. */
    public boolean isClosing() {
        return candidacy.isClosing();
    }

    /** Closes as {@link #close(Duration)} does, with the {@linkplain LeaderOptions#drain drain} of the options. */
    @Override
    public void close() {
        boolean unused = close(options.drain());
    }

    /**
     * Withdraws the candidate. If it leads, asks the work to stop and waits until the work has returned; the lock is
     * released after that. If the work does not return within the time, this method logs a warning and returns. The
     * lock then stays held and renewed until the work returns, the lock is lost, or the {@link Locks} is closed. An
     * interrupt ends the wait; the interrupt flag stays set. If the work itself calls this method, the method does not
     * wait.
     *
     * @param drain how long to wait, 0 to 24 h; this includes the time of stages that depend on
     *     {@link LeaderTerm#stopping()}
     * @return true if the work has ended and the lock was released, or if the candidate did not lead; false if the work
     *     still runs. If Redis does not answer, the release of the lock, or the withdrawal of a waiting candidate,
     *     continues in the background
     * @throws IllegalArgumentException if the time is negative or longer than 24 h
     */
    public boolean close(Duration drain) {
        long nanos = LeaderOptions.checkDrain(drain).toNanos();
        long began = clock.nanoTime();
        candidacy.beginClose();
        Term present = candidacy.term();
        if (present != null && present.isOfCaller()) {
            return false;
        }
        CompletableFuture<Void> ended = candidacy.ended();
        candidacy.await(nanos - (clock.nanoTime() - began), ended::isDone);
        if (!ended.isDone()) {
            LOG.warn(
                    "The work of the leader of \"{}\" has not ended within {}: the lock stays held",
                    name,
                    Shown.of(drain));
        }
        return ended.isDone();
    }

    /**
     * Closes as {@link #close(Duration)} does, but without waiting.
     *
     * @return a stage that completes once the work has ended and the lock was released. It completes on a thread that
     *     all candidates of the client need, so dependent stages must not block
     */
    public CompletionStage<Void> closeAsync() {
        candidacy.beginClose();
        return ended;
    }

    /** Describes the candidate: the name of the lock and the present state. Asks no server. */
    @Override
    public String toString() {
        Term present = candidacy.term();
        boolean ended = candidacy.ended().isDone();
        String state = ended ? "closed" : present == null ? "candidate" : present.state();
        return "Leadership " + Shown.of(name) + '[' + state + (candidacy.isClosing() && !ended ? ", closing" : "")
                + ']';
    }
}
