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
 * A candidate that tries to lead, from its creation by {@link Locks#leadership} until it is closed. Whenever the
 * candidate acquires the lock of its name, it leads for a <em>term</em>, which is one call of its {@link LeaderWork}.
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
 * <p>A candidate that waits needs no thread; a term has a thread of its own. The lock is held and renewed until the
 * work has returned, however long that takes after the work was asked to stop. Only then can this candidate begin
 * another term. If the lock is lost, the work is asked to stop before another candidate can be elected, with the
 * exceptions that {@link LockHandle#lost()} names. If the work goes on nevertheless, it runs beside that of the next
 * leader; a resource can tell them apart by the {@link LeaderTerm#fencingToken()}, since the next leader's is greater.
 *
 * <p>The candidate survives outages of Redis and failures of its work, and stays a candidate even if nobody refers to
 * this object any more: until it is closed, or its {@link Locks} is closed. Thread-safe.
 *
 * @since 0.1.0
 */
public final class Leadership implements AutoCloseable {

    /** The agenda for the candidates of a {@link Locks} that has no agenda of its own. */
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

    /** Makes an agenda, which drives its candidates by one thread. */
    static Agenda agenda(Clock clock, Threads threads) {
        return new Agenda(clock, threads, "leadership");
    }

    /**
     * Makes a candidate, and starts its first acquisition.
     *
     * @param electorate its {@code ask} is called for the first time, and the exceptions of that call are thrown
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

    /** Whether this candidate leads: its work is running and its hold of the lock is valid. Asks no server. */
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

    /** As {@link #close(Duration)}, with the {@linkplain LeaderOptions#drain drain} of the options. */
    @Override
    public void close() {
        boolean unused = close(options.drain());
    }

    /**
     * Withdraws the candidate; if it leads, asks the work to stop and waits until the work has returned. The lock is
     * not released before: if the work does not return within the time, this method logs a warning and returns, and the
     * lock stays held and renewed until the work returns, the lock is lost, or the {@link Locks} is closed. An
     * interrupt ends the wait; the interrupt flag stays set. If the work itself calls this method, the method does not
     * wait.
     *
     * @param drain how long to wait, 0 to 24 h; includes the time of code that depends on {@link LeaderTerm#stopping()}
     * @return true if the work has ended and the lock was released, or the candidate did not lead; false if the work
     *     still runs. If Redis does not answer, the release continues in the background, as that of
     *     {@link LockHandle#release}, and so does the withdrawal of a waiting candidate
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
     * As {@link #close(Duration)}, without waiting.
     *
     * @return a stage that completes once the work has ended and the lock was released. It completes on a thread that
     *     all candidates of the client need, so dependent stages must not block
     */
    public CompletionStage<Void> closeAsync() {
        candidacy.beginClose();
        return ended;
    }

    /** Names the lock and the present state of the candidate. Asks no server. */
    @Override
    public String toString() {
        Term present = candidacy.term();
        boolean ended = candidacy.ended().isDone();
        String state = ended ? "closed" : present == null ? "candidate" : present.state();
        return "Leadership " + Shown.of(name) + '[' + state + (candidacy.isClosing() && !ended ? ", closing" : "")
                + ']';
    }
}
