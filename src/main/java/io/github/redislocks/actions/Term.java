package io.github.redislocks.actions;

import io.github.redislocks.LeaderTerm;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Interruption;
import io.github.redislocks.concurrent.Log;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Shown;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A term of a candidate as leader. The term is also the task of the leader's thread: to do the work, and then to
 * release the lock.
 */
public final class Term implements LeaderTerm, Runnable {

    private static final Log LOG = Loggers.LEADERSHIP;

    private final Candidacy candidacy;
    private final LockHandle handle;
    final long sinceNanos;
    private final Interruption interruption = new Interruption();
    private final CompletableFuture<Optional<LockLost>> stopping = new CompletableFuture<>();
    private final CompletionStage<Optional<LockLost>> shown = stopping.minimalCompletionStage();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final AtomicBoolean claimed = new AtomicBoolean();

    private volatile boolean atWork;
    private volatile boolean failed;
    private volatile boolean over;

    Term(Candidacy candidacy, LockHandle handle, long now) {
        this.candidacy = candidacy;
        this.handle = handle;
        this.sinceNanos = now;
    }

    /**
     * Claims the term; returns true to the first caller only. The term's own thread claims the term in order to run,
     * and the agenda's thread claims it after a failure to start that thread.
     */
    boolean claim() {
        return claimed.compareAndSet(false, true);
    }

    public boolean isAtWork() {
        return atWork;
    }

    /** Whether the calling thread runs the work. */
    public boolean isOfCaller() {
        return interruption.isOfCaller();
    }

    boolean hasFailed() {
        return failed;
    }

    /** Whether the lock has been released, or is lost. */
    boolean isOver() {
        return over;
    }

    @Override
    public void run() {
        if (!claim()) {
            return;
        }
        Throwable failure;
        try {
            failure = lead();
            failed = failure != null;
            handle.release();
        } finally {
            over = true;
            candidacy.news();
        }
        if (failure == null) {
            LOG.info("No longer the leader of \"{}\": {}", Shown.of(name()), handle);
        } else {
            LOG.warn("The work of the leader of \"{}\" failed; it runs again after a pause", Shown.of(name()), failure);
        }
    }

    /** Returns why the work failed, or null. */
    private @Nullable Throwable lead() {
        try {
            interruption.begin();
            CompletionStage<Void> unused = EarlyNews.of(handle).thenAccept(loss -> stop(Optional.of(loss)));
            if (!isStopping()) {
                atWork = true;
                LOG.info("Elected leader of \"{}\": {}", Shown.of(name()), handle);
                candidacy.office().work().lead(this);
            }
            return null;
        } catch (Throwable e) {
            boolean told = (e instanceof InterruptedException || e instanceof LockLostException) && isStopping();
            return told ? null : e;
        } finally {
            interruption.end();
            // Also clear an interrupt that did not come from `stop()`: it was meant for the work, and must not disturb
            // the release that follows.
            Thread.interrupted();
            atWork = false;
        }
    }

    /**
     * Stops the work, once: interrupts it if that is configured, and then completes the stage on which users' code may
     * depend.
     */
    void stop(Optional<LockLost> loss) {
        if (stopped.compareAndSet(false, true)) {
            if (candidacy.office().interrupts() && !interruption.isOfCaller()) {
                interruption.interrupt();
            }
            candidacy.wakeAwaiting();
        }
        stopping.complete(loss);
    }

    @Override
    public String name() {
        return candidacy.name();
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
        return candidacy.isClosing() || stopped.get() || !handle.isHeld();
    }

    @Override
    public boolean awaitStopping(Duration time) throws InterruptedException {
        boolean ofWork = interruption.isOfCaller();
        awaitEnd(TimeUnit.NANOSECONDS.convert(time), ofWork);
        boolean stop = isStopping();
        if (stop && ofWork) {
            interruption.end();
            Thread.interrupted();
        }
        return stop;
    }

    private void awaitEnd(long nanos, boolean ofWork) throws InterruptedException {
        candidacy.await(nanos, stopped::get);
        if (!stopped.get() && Thread.interrupted() && !(ofWork && isStopping())) {
            throw new InterruptedException();
        }
    }

    @Override
    public CompletionStage<Optional<LockLost>> stopping() {
        return shown;
    }

    /** The state in words. */
    public String state() {
        return handle.isHeld() ? "leader" : "leader that has lost the lock";
    }

    @Override
    public String toString() {
        return "LeaderTerm " + Shown.of(name()) + '[' + handle + (isStopping() ? ", stopping]" : "]");
    }
}
