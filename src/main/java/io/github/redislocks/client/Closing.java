package io.github.redislocks.client;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.BackgroundLog;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.AsyncAcquisitions;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Mailbox;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The end of a client, in this order: new work, waiters, calls under way, holds, threads, connections. An error keeps
 * no later step from being done.
 */
final class Closing {

    /** The time between two checks whether holds and calls under way have ended. */
    private static final long TICK_NANOS = 2_000_000;

    private final Clock clock;
    private final Settings settings;
    private final Redis redis;
    private final MonitoredRedis monitored;
    private final Holds holds;
    private final Attempts attempts;
    private final AsyncAcquisitions async;
    private final Losses losses;
    private final Mailbox mailbox;
    private final Residences residences;
    private final Watchdog watchdog;
    private final BackgroundLog log;

    private final AtomicBoolean begun = new AtomicBoolean();
    /** The end of draining: until when holds may last. */
    private final AtomicLong drainEndNanos = new AtomicLong(Long.MAX_VALUE);

    private final CountDownLatch done = new CountDownLatch(1);
    private final List<Call> leaves = new ArrayList<>();
    /** When draining ended: all holds had ended, or the time was over. */
    private long drainedNanos;
    /** The steps of the close. Made together with the client, since there may be no memory when the client closes. */
    private final Steps steps;

    Closing(RedisAccess access, WaitingParts parts, AsyncAcquisitions async, Residences residences, BackgroundLog log) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.monitored = access.monitored();
        this.redis = access.redis();
        this.holds = parts.holds();
        this.attempts = parts.attempts();
        this.async = async;
        this.losses = parts.losses();
        this.mailbox = parts.mailbox();
        this.residences = residences;
        this.watchdog = parts.watchdog();
        this.log = log;
        this.steps = new Steps(
                attempts::drain,
                residences::close,
                this::awaitHolds,
                attempts::close,
                this::drained,
                this::awaitCalls,
                this::loseHolds,
                // Wait once more: an unlock may have begun before loseHolds() reached its hold. No further unlock can
                // begin.
                this::awaitCalls,
                this::tellUntold,
                this::awaitTold,
                this::sendLeaves,
                this::closeAsync,
                mailbox::close,
                watchdog::close,
                monitored::close,
                redis::close,
                this::joinThreads,
                watchdog::giveUp,
                // Wait for the log entries about holds that ended during the close.
                this::awaitLog);
    }

    /** Whether the close has begun. */
    boolean hasBegun() {
        return begun.get();
    }

    /**
     * Ends everything. Before that, lets holders finish, at most for {@code drainNanos}. A second call returns when the
     * first has ended, unless its thread is interrupted; the shorter of the two times applies to both calls.
     */
    void run(long drainNanos) {
        // Check the stack before `begun` is set: after a StackOverflowError a second call would treat the close as
        // done.
        StackSpace.ensure();
        long now = clock.nanoTime();
        long end = now + drainNanos;
        drainEndNanos.accumulateAndGet(end < now ? Long.MAX_VALUE : end, Math::min);
        if (!begun.compareAndSet(false, true)) {
            awaitDone();
            return;
        }
        try {
            steps.run();
        } finally {
            done.countDown();
        }
    }

    private void awaitDone() {
        try {
            done.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until no lock is held, until the end of draining or an interrupt of the closing thread. */
    private void awaitHolds() {
        while (clock.nanoTime() < drainEndNanos.get()
                && isInUse()
                && !Thread.currentThread().isInterrupted()) {
            clock.park(this, TICK_NANOS);
        }
    }

    /**
     * Whether a thread has a hold, or a call that may lead to one. Checks the calls first, since a call ends after its
     * hold exists. With a Condition the order is the reverse: the call that will get the hold back begins before the
     * hold ends. So if such a call has begun during the checks, both checks may have missed the thread, and this method
     * returns true.
     */
    private boolean isInUse() {
        long before = attempts.begunInConditions();
        return !attempts.isEmpty() || hasHolds() || attempts.begunInConditions() != before;
    }

    private boolean hasHolds() {
        for (Hold hold : holds.all()) {
            if (hold.isOpenOrReleasing()) {
                return true;
            }
        }
        return false;
    }

    private void drained() {
        drainedNanos = clock.nanoTime();
    }

    /**
     * Waits until calls under way have ended, for two command timeouts or until an interrupt of the closing thread. If
     * a server was away, waits until a further request to it has failed.
     */
    private void awaitCalls() {
        long deadline = drainedNanos + 2 * settings.commandTimeoutNanos();
        while (isBusy()
                && clock.nanoTime() < deadline
                && !Thread.currentThread().isInterrupted()) {
            clock.park(this, TICK_NANOS);
        }
    }

    /**
     * Whether calls are under way, or pending commands of earlier calls. A command counts if its server answers at
     * present, or if no request to the server that was sent after draining has failed.
     */
    private boolean isBusy() {
        return !attempts.isEmpty()
                || async.count() > 0
                || isReleasing()
                || losses.hasProlonged()
                || watchdog.hasCommands(drainedNanos);
    }

    private boolean isReleasing() {
        for (Hold hold : holds.all()) {
            if (hold.isReleasing()) {
                return true;
            }
        }
        return false;
    }

    private void loseHolds() {
        Steps.forEach(holds.all(), hold -> {
            if (hold.lose(LockLost.Reason.CLOSED)) {
                // Note the leave first: tellUntold() repeats the report, and nothing repeats the leave.
                leaves.add(Scripts.leave(hold.keys(), hold.owner, hold.attempt, true));
                losses.ended(hold);
            }
        });
    }

    /**
     * Notifies the listeners of losses whose report was stopped by an error, since the watchdog will not inspect them
     * again.
     */
    private void tellUntold() {
        for (Hold hold : holds.all()) {
            losses.ended(hold);
        }
        residences.tellUntold();
    }

    private void awaitTold() {
        losses.awaitTold(settings.commandTimeout());
    }

    private void sendLeaves() {
        if (!leaves.isEmpty()) {
            redis.runAll(leaves, settings.commandTimeoutNanos());
        }
    }

    private void closeAsync() {
        async.close(settings.commandTimeout());
    }

    private void joinThreads() {
        Threads.join(watchdog.threads(), mailbox.reader(), settings.commandTimeout());
    }

    private void awaitLog() {
        log.await(settings.commandTimeout());
    }
}
