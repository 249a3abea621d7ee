package io.github.redislocks.actions;

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
 * A candidate for leader. The candidate waits for the answer to its request, pauses, has a term, or waits until a lock
 * that led to no term is released. Only the thread of the agenda changes this state; other threads can only ask the
 * candidacy to end.
 */
public final class Candidacy extends Agenda.Matter {

    private static final Log LOG = Loggers.LEADERSHIP;
    /** The longest pause. If work ran for longer than this before it failed, the shortest pause is next. */
    private static final long LONG_NANOS = TimeUnit.SECONDS.toNanos(30);
    /**
     * A failure counts as a new outage if the last failure was longer ago than this. The time is longer than a pause
     * and a request together.
     */
    private static final long NEXT_OUTAGE_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** How many characters of the candidate's name are in the name of its thread. */
    private static final int SHOWN = 40;

    /**
     * The office of the candidate.
     *
     * @param interrupts whether the thread of the work is interrupted when the work should end
     */
    public record Office(String name, LeaderWork work, boolean interrupts) {}

    /**
     * The parts of the client that a candidate needs.
     *
     * @param agenda drives the candidate
     * @param ask starts an acquisition of the lock
     * @param isClosed whether the client is closed, so that no request can succeed
     */
    public record Electorate(Agenda agenda, Supplier<CompletableFuture<LockHandle>> ask, BooleanSupplier isClosed) {}

    private final Office office;
    private final Electorate electorate;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    /** The threads in {@link #await}, which wait for the end of a term or of the candidacy. */
    private final Set<Thread> awaiting = ConcurrentHashMap.newKeySet();

    private volatile boolean closing;
    /** Whether {@link #begin} has made the first request, or has failed to. Until then the candidacy takes no step. */
    private volatile boolean begun;
    /** The present term: from the start of its thread until its lock has been released. */
    private volatile @Nullable Term term;

    private final Backoff unavailable = Backoff.ofCandidates();
    private final Backoff failedWork = Backoff.ofWork();
    /** The lock that the candidate asked for; null if no request is open. */
    private @Nullable CompletableFuture<LockHandle> asked;
    /** Whether the answer to the open request will wake the agenda. */
    private boolean watched;
    /** The last release of a lock that led to no term; null if there was none. */
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

    /** Completes when the candidacy has ended, with its last term and release. */
    public CompletableFuture<Void> ended() {
        return ended;
    }

    /**
     * Waits until {@code end} is true, at most for {@code nanos}, or until an interrupt. Leaves the interrupt flag set.
     */
    public void await(long nanos, BooleanSupplier end) {
        Clock clock = electorate.agenda().clock();
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

    /** Wakes the threads that wait, so that they check their condition again. */
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

    /**
     * Asks for the lock for the first time; from now on the agenda drives the candidacy. If the request throws, this
     * method throws the same, and the candidacy ends.
     */
    public void begin() {
        electorate.agenda().add(this);
        try {
            asked = electorate.ask().get();
        } finally {
            if (asked == null) {
                // The candidate could not ask for the lock: end it with its first step.
                closing = true;
            }
            begun = true;
            news();
        }
    }

    /** Begins to end the candidacy, and stops the work. Any thread may call this. */
    public void beginClose() {
        closing = true;
        // Read the term after setting `closing`: a thread that begins a term at this moment either sees `closing`, or
        // has set its term early enough for this read.
        Term present = term;
        if (present != null) {
            present.stop(Optional.empty());
        }
        news();
    }

    /** Has the agenda take the next step. Any thread may call this. */
    void news() {
        electorate.agenda().news(this);
    }

    @Override
    protected void wrapUp() {
        beginClose();
    }

    @Override
    protected long goOn(long now) {
        if (!begun) {
            return Agenda.NEWS_ONLY;
        }
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

    /**
     * Handles the answer if it has come. Returns false if the candidate has to wait: for the answer, or for the end of
     * the term that the answer began.
     */
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
                    "No leader of \"{}\" can be elected in this process now; the candidate asks until it works",
                    Shown.of(name()),
                    failure);
            unavailable.reset();
        }
        troubled = true;
        troubledNanos = now;
        pauseEndNanos = now + unavailable.next();
    }

    /** Begins a term; returns false if that failed, or if the candidacy is closing. */
    private boolean elected(LockHandle handle, long now) {
        if (closing) {
            giveBack(handle);
            return false;
        }
        Term next = null;
        try {
            next = new Term(this, handle, now);
            Thread thread = electorate.agenda().threads().make("leader-" + shown(), next);
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
            // If giveBack() fails for want of memory too, nobody has the handle any more, and the watchdog releases its
            // hold.
            giveBack(handle);
            return false;
        }
    }

    /** Releases a lock that leads to no term. The candidacy asks again only after this release. */
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
