package io.github.redislocks;

import io.github.redislocks.concurrent.Agenda;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Log;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.work.Candidacy;
import io.github.redislocks.work.Term;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * A candidate for the lock of a name, as long as it is open: whenever it gets the lock, it leads for a term, which is
 * one call of its {@link LeaderWork}. {@link Locks#leadership} makes it.
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
 * <p>It waits without a thread; a term has a thread of its own. The lock is held, and renewed, until the work has
 * returned, however long that takes after it was told to stop, and no second term of this object begins before. If the
 * lock is lost, the work is told before another can be elected, as {@link LockHandle#lost()} is; work that goes on
 * nevertheless is beside the next leader, whose greater {@link LeaderTerm#fencingToken()} tells them apart.
 *
 * <p>It goes on running through outages of Redis and failures of its work, and when nobody refers to it any more: until
 * it is closed, or its {@link Locks} is. Thread-safe.
 *
 * @since 0.1.0
 */
public final class Leadership implements AutoCloseable {

    /** For candidates of a {@link Locks} that has no agenda of its own. */
    static final Agenda SHARED = agenda(Clock.SYSTEM, Threads.DAEMONS);

    private static final Log LOG = Loggers.LEADERSHIP;

    private final String name;
    private final LeaderOptions options;
    private final Clock clock;
    private final Candidacy candidacy;
    private final CompletionStage<Void> ended;

    private Leadership(Candidacy.Office office, LeaderOptions options, Candidacy candidacy) {
        this.name = office.name();
        this.options = options;
        this.clock = office.agenda().clock();
        this.candidacy = candidacy;
        this.ended = candidacy.ended().minimalCompletionStage();
    }

    /** Makes the agenda of candidates, with one thread. */
    static Agenda agenda(Clock clock, Threads threads) {
        return new Agenda(clock, threads, "leadership");
    }

    /**
     * Runs for leader from now on.
     *
     * @param ask acquires the lock; called for the first time by this method, which throws what it throws
     * @param isClosed whether it has no purpose to ask any more
     */
    static Leadership run(
            String name,
            LeaderWork work,
            LeaderOptions options,
            Agenda agenda,
            Supplier<CompletableFuture<LockHandle>> ask,
            BooleanSupplier isClosed) {
        Objects.requireNonNull(work, "work");
        Candidacy.Office office = new Candidacy.Office(name, work, options.isInterrupting(), agenda);
        Candidacy candidacy = new Candidacy(office, new Candidacy.Electorate(ask, isClosed));
        candidacy.begin();
        return new Leadership(office, options, candidacy);
    }

    /** The name of the lock. */
    public String name() {
        return name;
    }

    /** Whether its work is done now, and the lock can be relied upon. Local. */
    public boolean isLeader() {
        Term present = candidacy.term();
        return present != null && present.isAtWork() && present.isHeld();
    }

    /** The fencing token of the present term; empty if this is not the leader. Local. */
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

    /** Whether closing has begun, by whatever form of close. */
    public boolean isClosing() {
        return candidacy.isClosing();
    }

    /** As {@link #close(Duration)}, with the {@linkplain LeaderOptions#drain drain} of the options. */
    @Override
    public void close() {
        boolean unused = close(options.drain());
    }

    /**
     * Withdraws the candidate, and if it leads, tells the work to stop and waits for that. The lock is not released
     * before the work has returned: if it has not within the time, this logs a warning and returns, and the lock stays
     * held and renewed until the work returns, the lock is lost, or the {@link Locks} is closed. An interrupt ends the
     * wait and is kept. The work itself may call this, and is not waited for then.
     *
     * @param drain how long to wait, 0 to 24 h, with the time of code that depends on {@link LeaderTerm#stopping()}
     * @return whether all has ended: no work runs, and the lock has been released. If Redis does not answer, the
     *     release goes on in the background, as that of {@link LockHandle#release}; so does the leave of a candidate
     *     that waited
     * @throws IllegalArgumentException if the time is negative or longer
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
     * @return completes when all has ended, on a thread of the library that all candidates of the client need: what
     *     depends on it must not block
     */
    public CompletionStage<Void> closeAsync() {
        candidacy.beginClose();
        return ended;
    }

    /** Names the lock and says what it does now. Asks no server. */
    @Override
    public String toString() {
        Term present = candidacy.term();
        boolean ended = candidacy.ended().isDone();
        String state = ended ? "closed" : present == null ? "candidate" : present.state();
        return "Leadership " + Shown.of(name) + '[' + state + (candidacy.isClosing() && !ended ? ", closing" : "")
                + ']';
    }
}
