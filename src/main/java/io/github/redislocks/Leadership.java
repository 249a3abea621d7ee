package io.github.redislocks;

import io.github.redislocks.concurrent.Agenda;
import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Interruption;
import io.github.redislocks.concurrent.Log;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
    /** As long as the longest pause: work that failed after such a time has not just failed again. */
    private static final long LONG_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** Longer than the pause and the request between two failures of one outage. */
    private static final long NEXT_OUTAGE_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** How much of the name a thread's name has. */
    private static final int SHOWN = 40;

    private final String name;
    private final LeaderWork work;
    private final LeaderOptions options;
    private final Agenda agenda;
    private final Candidacy candidacy;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private volatile boolean closing;
    /** From its thread's start until its lock has been released. */
    private volatile @Nullable Term term;

    private Leadership(String name, LeaderWork work, LeaderOptions options, Agenda agenda, Candidacy.Electorate by) {
        this.name = name;
        this.work = Objects.requireNonNull(work, "work");
        this.options = options;
        this.agenda = agenda;
        this.candidacy = new Candidacy(by);
    }

    /** What goes on with candidates, by one thread. */
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
        Leadership made = new Leadership(name, work, options, agenda, new Candidacy.Electorate(ask, isClosed));
        made.candidacy.begin();
        return made;
    }

    /** The name of the lock. */
    public String name() {
        return name;
    }

    /** Whether its work is done now, and the lock can be relied upon. Local. */
    public boolean isLeader() {
        Term present = term;
        return present != null && present.atWork && present.isHeld();
    }

    /** The fencing token of the present term; empty if this is not the leader. Local. */
    public OptionalLong fencingToken() {
        Term present = term;
        try {
            return present != null && present.atWork ? OptionalLong.of(present.fencingToken()) : OptionalLong.empty();
        } catch (IllegalMonitorStateException lostOrReleased) {
            return OptionalLong.empty();
        }
    }

    /** Whether closing has begun, by whatever form of close. */
    public boolean isClosing() {
        return closing;
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
     * @param drain how long to wait, 0 to 24 h
     * @return whether all has ended: no work runs, and the lock has been released
     * @throws IllegalArgumentException if the time is negative or longer
     */
    public boolean close(Duration drain) {
        long deadline =
                agenda.clock().nanoTime() + LeaderOptions.checkDrain(drain).toNanos();
        beginClose();
        Term present = term;
        if (present != null && present.interruption.isOfCaller()) {
            return false;
        }
        Thread waiter = Thread.currentThread();
        CompletableFuture<Void> unused = ended.whenComplete((done, e) -> LockSupport.unpark(waiter));
        while (!ended.isDone() && agenda.clock().nanoTime() < deadline && !waiter.isInterrupted()) {
            agenda.clock().parkUntil(this, deadline);
        }
        if (!ended.isDone()) {
            LOG.warn("The work of the leader of \"{}\" has not ended within {}: the lock stays held", name, drain);
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
        beginClose();
        return ended.minimalCompletionStage();
    }

    private void beginClose() {
        closing = true;
        // Whichever thread begins a term at this moment sees that this is closing.
        Term present = term;
        if (present != null) {
            present.stop(Optional.empty());
        }
        agenda.news(candidacy);
    }

    /** Names the lock and says what it does now. Asks no server. */
    @Override
    public String toString() {
        Term present = term;
        String state = ended.isDone() ? "closed" : present == null ? "candidate" : present.state();
        return "Leadership " + name + '[' + state + (closing && !ended.isDone() ? ", closing" : "") + ']';
    }

    /** What runs for leader. All but {@link #begin}, {@link #accept} and {@link #wrapUp} is done by one thread. */
    private final class Candidacy extends Agenda.Matter implements BiConsumer<LockHandle, Throwable> {

        private record Electorate(Supplier<CompletableFuture<LockHandle>> ask, BooleanSupplier isClosed) {}

        private final Electorate electorate;
        private final Backoff unavailable = Backoff.ofCandidates();
        private final Backoff failedWork = Backoff.ofWork();
        /** What was asked for, and whether its answer will be news. */
        private @Nullable CompletableFuture<LockHandle> asked;

        private boolean watched;
        private long pauseEndNanos;
        private boolean troubled;
        private long troubledNanos;

        Candidacy(Electorate electorate) {
            this.electorate = electorate;
        }

        void begin() {
            CompletableFuture<LockHandle> first = electorate.ask.get();
            asked = first;
            boolean begun = false;
            try {
                agenda.add(this);
                begun = true;
            } finally {
                if (!begun) {
                    first.cancel(true);
                }
            }
            agenda.news(this);
        }

        /** There is an answer. */
        @Override
        public void accept(@Nullable LockHandle handle, @Nullable Throwable failure) {
            agenda.news(this);
        }

        @Override
        protected void wrapUp() {
            beginClose();
        }

        @Override
        protected long goOn(long now) {
            Term last = term;
            if (last != null) {
                if (!last.over) {
                    return Agenda.NEWS_ONLY;
                }
                pauseAfter(last, now);
                term = null;
            }
            if (asked != null && !answered(asked, now)) {
                return Agenda.NEWS_ONLY;
            }
            if (closing || electorate.isClosed.getAsBoolean()) {
                closing = true;
                ended.complete(null);
                return Agenda.ENDED;
            }
            if (now < pauseEndNanos) {
                return pauseEndNanos;
            }
            return ask(now);
        }

        private long ask(long now) {
            try {
                CompletableFuture<LockHandle> next = electorate.ask.get();
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
                    CompletableFuture<LockHandle> unused = answer.whenComplete(this);
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
            if (closing || electorate.isClosed.getAsBoolean()) {
                return;
            }
            if (!troubled || now - troubledNanos > NEXT_OUTAGE_NANOS) {
                LOG.warn(
                        "Nobody here can be elected leader of \"{}\" now, which is tried until it works",
                        name,
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
                CompletionStage<Boolean> unused = handle.releaseAsync();
                return false;
            }
            Term next = null;
            try {
                next = new Term(handle, now);
                Thread thread = agenda.threads().make("leader-" + shown(), next);
                term = next;
                thread.start();
                troubled = false;
                return true;
            } catch (Throwable e) {
                if (next != null && !next.claimed.compareAndSet(false, true)) {
                    return true;
                }
                term = null;
                failed(e, now);
                // If there is no memory for that either, nobody has the handle any more, and the watchdog releases it.
                CompletionStage<Boolean> unused = handle.releaseAsync();
                return false;
            }
        }

        private void pauseAfter(Term last, long now) {
            if (!last.failed) {
                failedWork.reset();
                return;
            }
            if (now - last.sinceNanos > LONG_NANOS) {
                failedWork.reset();
            }
            pauseEndNanos = now + failedWork.next();
        }

        private String shown() {
            return name.length() > SHOWN ? name.substring(0, SHOWN) : name;
        }
    }

    /** One term, and what its thread runs. */
    private final class Term implements LeaderTerm, Runnable {

        private final LockHandle handle;
        private final long sinceNanos;
        private final Interruption interruption = new Interruption();
        private final CompletableFuture<Optional<LockLost>> stopping = new CompletableFuture<>();
        private final AtomicBoolean stopped = new AtomicBoolean();
        /** By its thread, or by who could not start one. */
        private final AtomicBoolean claimed = new AtomicBoolean();

        private volatile boolean atWork;
        private volatile boolean failed;
        /** Whether the lock has been released, or is lost. */
        private volatile boolean over;

        Term(LockHandle handle, long now) {
            this.handle = handle;
            this.sinceNanos = now;
        }

        @Override
        public void run() {
            if (!claimed.compareAndSet(false, true)) {
                return;
            }
            Throwable failure = null;
            try {
                failure = lead();
                handle.release();
            } catch (Throwable e) {
                failure = failure == null ? e : failure;
            } finally {
                failed = failure != null;
                over = true;
                agenda.news(candidacy);
            }
            if (failure == null) {
                LOG.info("No longer the leader of \"{}\": {}", name, handle);
            } else {
                LOG.warn("The work of the leader of \"{}\" failed; it runs again after a pause", name, failure);
            }
        }

        /** Returns why the work failed, or null. */
        private @Nullable Throwable lead() {
            try {
                CompletionStage<LockLost> unused = handle.lost().whenComplete(onLoss());
                interruption.begin();
                if (!isStopping()) {
                    atWork = true;
                    LOG.info("Elected leader of \"{}\": {}", name, handle);
                    work.lead(this);
                }
                return null;
            } catch (Throwable e) {
                boolean told = (e instanceof InterruptedException || e instanceof LockLostException) && isStopping();
                return told ? null : e;
            } finally {
                interruption.end();
                // Of whoever interrupted it besides: what follows is not for the work.
                Thread.interrupted();
                atWork = false;
            }
        }

        /** Not a lambda: a lambda whose first linking meets an error may fail for ever. */
        private BiConsumer<LockLost, Throwable> onLoss() {
            return new BiConsumer<>() {
                @Override
                public void accept(LockLost loss, @Nullable Throwable failure) {
                    stop(Optional.of(loss));
                }
            };
        }

        /** Tells the work to stop, once. */
        void stop(Optional<LockLost> loss) {
            if (stopped.compareAndSet(false, true)) {
                if (options.isInterrupting() && !interruption.isOfCaller()) {
                    interruption.interrupt();
                }
                stopping.complete(loss);
            }
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public long fencingToken() {
            return handle.fencingToken();
        }

        @Override
        public boolean isHeld() {
            return handle.isHeld();
        }

        @Override
        public void ensureHeld() {
            handle.ensureHeld();
        }

        @Override
        public Duration remainingLease() {
            return handle.remainingLease();
        }

        @Override
        public boolean previousHolderLost() {
            return handle.previousHolderLost();
        }

        @Override
        public boolean isStopping() {
            return closing || stopped.get() || !handle.isHeld();
        }

        @Override
        public boolean awaitStopping(Duration time) throws InterruptedException {
            boolean ofWork = interruption.isOfCaller();
            try {
                Optional<LockLost> unused = stopping.get(TimeUnit.NANOSECONDS.convert(time), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                // The question below is asked in any case.
            } catch (ExecutionException e) {
                throw new AssertionError("Nothing fails", e);
            } catch (InterruptedException e) {
                if (!ofWork || !isStopping()) {
                    throw e;
                }
            }
            boolean stop = isStopping();
            if (stop && ofWork) {
                interruption.end();
                Thread.interrupted();
            }
            return stop;
        }

        @Override
        public CompletionStage<Optional<LockLost>> stopping() {
            return stopping.minimalCompletionStage();
        }

        private String state() {
            return handle.isHeld() ? "leader" : "leader that has lost the lock";
        }

        @Override
        public String toString() {
            return "LeaderTerm " + name + '[' + handle + (isStopping() ? ", stopping]" : "]");
        }
    }
}
