package io.github.redislocks.work;

import io.github.redislocks.LeaderWork;
import io.github.redislocks.LockHandle;
import io.github.redislocks.concurrent.Agenda;
import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Log;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Shown;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A candidate for leader: waits for an answer, pauses, has a term, or waits until a lock that it does not want any more
 * is released. The thread of the agenda does all transitions, and other threads tell it to end.
 */
public final class Candidacy extends Agenda.Matter {

    private static final Log LOG = Loggers.LEADERSHIP;
    /** As long as the longest pause: work that failed after such a time has not just failed again. */
    private static final long LONG_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** Longer than the pause and the request between two failures of one outage. */
    private static final long NEXT_OUTAGE_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** How much of the name a thread's name has. */
    private static final int SHOWN = 40;

    /**
     * The office of the candidate.
     *
     * @param interrupts whether the thread of the work is interrupted when the work should end
     */
    public record Office(String name, LeaderWork work, boolean interrupts, Agenda agenda) {}

    /**
     * Whom it asks.
     *
     * @param ask acquires the lock
     * @param isClosed whether it has no purpose to ask any more
     */
    public record Electorate(Supplier<CompletableFuture<LockHandle>> ask, BooleanSupplier isClosed) {}

    private final Office office;
    private final Electorate electorate;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    /** The threads that wait for the end of a term or of all, by the client's clock. */
    private final Set<Thread> awaiting = ConcurrentHashMap.newKeySet();

    private volatile boolean closing;
    /** From its thread's start until its lock has been released. */
    private volatile @Nullable Term term;

    private final Backoff unavailable = Backoff.ofCandidates();
    private final Backoff failedWork = Backoff.ofWork();
    /** The lock that the candidate asked for, and whether its answer will be news. */
    private @Nullable CompletableFuture<LockHandle> asked;

    private boolean watched;
    /** The release of a lock that came too late. */
    private @Nullable CompletableFuture<Boolean> returned;

    private long pauseEndNanos;
    private boolean troubled;
    private long troubledNanos;

    public Candidacy(Office office, Electorate electorate) {
        this.office = office;
        this.electorate = electorate;
    }

    String name() {
        return office.name();
    }

    Office office() {
        return office;
    }

    /** Completes when all has ended. */
    public CompletableFuture<Void> ended() {
        return ended;
    }

    /** Waits until an end, for a time at most, or until an interrupt, which is kept. */
    public void await(long nanos, BooleanSupplier end) {
        Clock clock = office.agenda().clock();
        long began = clock.nanoTime();
        Thread caller = Thread.currentThread();
        awaiting.add(caller);
        try {
            while (!end.getAsBoolean() && !caller.isInterrupted() && clock.nanoTime() - began < nanos) {
                clock.parkFrom(began, this, nanos);
            }
        } finally {
            awaiting.remove(caller);
        }
    }

    /** Has the threads that wait look whether the end has come. */
    void wakeAwaiting() {
        for (Thread waiter : awaiting) {
            LockSupport.unpark(waiter);
        }
    }

    public boolean isClosing() {
        return closing;
    }

    /** The present term, or null. */
    @Nullable
    public Term term() {
        return term;
    }

    /** Asks for the first time, which may throw, and is gone on with from now on. */
    public void begin() {
        CompletableFuture<LockHandle> first = electorate.ask().get();
        asked = first;
        try {
            office.agenda().add(this);
        } catch (Throwable e) {
            first.cancel(true);
            throw e;
        }
        news();
    }

    /** Begins to end it, and tells the work to stop. By any thread. */
    public void beginClose() {
        closing = true;
        // Read the term after `closing` is set: a thread that begins a term at this moment sees `closing`, or its term
        // is seen here.
        Term present = term;
        if (present != null) {
            present.stop(Optional.empty());
        }
        news();
    }

    /** Says that there is something to go on with. By any thread. */
    void news() {
        office.agenda().news(this);
    }

    @Override
    protected void wrapUp() {
        beginClose();
    }

    @Override
    protected long goOn(long now) {
        Term last = term;
        if (last != null) {
            if (!last.isOver()) {
                return Agenda.NEWS_ONLY;
            }
            pauseAfter(last, now);
            term = null;
        }
        if (asked != null && !answered(asked, now)) {
            return Agenda.NEWS_ONLY;
        }
        if (returned != null && !returned.isDone()) {
            return Agenda.NEWS_ONLY;
        }
        if (closing || electorate.isClosed().getAsBoolean()) {
            closing = true;
            ended.complete(null);
            wakeAwaiting();
            return Agenda.ENDED;
        }
        if (now < pauseEndNanos) {
            return pauseEndNanos;
        }
        return ask(now);
    }

    private long ask(long now) {
        try {
            CompletableFuture<LockHandle> next = electorate.ask().get();
            watched = false;
            asked = next;
        } catch (RuntimeException e) {
            failed(e, now);
        }
        return now;
    }

    /** Whether there is nothing more to wait for: neither an answer nor the end of a term that began with it. */
    private boolean answered(CompletableFuture<LockHandle> answer, long now) {
        if (closing) {
            answer.cancel(true);
        }
        if (!answer.isDone()) {
            if (!watched) {
                CompletableFuture<LockHandle> unused = answer.whenComplete((held, failure) -> news());
                watched = true;
            }
            return false;
        }
        asked = null;
        try {
            return !elected(answer.join(), now);
        } catch (CancellationException e) {
            if (!closing) {
                failed(e, now);
            }
        } catch (CompletionException e) {
            failed(e.getCause() == null ? e : e.getCause(), now);
        }
        return true;
    }

    private void failed(Throwable failure, long now) {
        if (closing || electorate.isClosed().getAsBoolean()) {
            return;
        }
        if (!troubled || now - troubledNanos > NEXT_OUTAGE_NANOS) {
            LOG.warn(
                    "Nobody here can be elected leader of \"{}\" now, which is tried until it works",
                    Shown.of(name()),
                    failure);
            unavailable.reset();
        }
        troubled = true;
        troubledNanos = now;
        pauseEndNanos = now + unavailable.next();
    }

    /** Begins a term; false if it could not, or is not wanted. */
    private boolean elected(LockHandle handle, long now) {
        if (closing) {
            giveBack(handle);
            return false;
        }
        Term next = null;
        try {
            next = new Term(this, handle, now);
            Thread thread = office.agenda().threads().make("leader-" + shown(), next);
            term = next;
            thread.start();
            troubled = false;
            return true;
        } catch (Throwable e) {
            if (next != null && !next.claim()) {
                return true;
            }
            term = null;
            failed(e, now);
            // If there is no memory for this call either, nobody has the handle any more, and the watchdog releases its
            // hold.
            giveBack(handle);
            return false;
        }
    }

    /** Releases what leads to no term; until that is done, nothing follows. */
    private void giveBack(LockHandle handle) {
        CompletableFuture<Boolean> release = handle.releaseAsync().toCompletableFuture();
        CompletableFuture<Boolean> unused = release.whenComplete((released, failure) -> news());
        returned = release;
    }

    private void pauseAfter(Term last, long now) {
        if (!last.hasFailed()) {
            failedWork.reset();
            return;
        }
        if (now - last.sinceNanos > LONG_NANOS) {
            failedWork.reset();
        }
        pauseEndNanos = now + failedWork.next();
    }

    private String shown() {
        return Shown.of(name().length() > SHOWN ? name().substring(0, SHOWN) : name());
    }
}
