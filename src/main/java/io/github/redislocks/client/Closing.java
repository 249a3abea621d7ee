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
import io.github.redislocks.shared.Shares;
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
 * Closes a client. Ends, in this order: new calls, waiters, calls under way, holds, threads, connections. After an
 * error in one step, the later steps are done all the same.
 */
final class Closing {

    /** The pause between two checks whether all holds, or all calls under way, have ended. */
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
    /** When draining ends at the latest: draining lets holders finish their work before their holds are ended. */
    private final AtomicLong drainEndNanos = new AtomicLong(Long.MAX_VALUE);

    private final CountDownLatch done = new CountDownLatch(1);
    private final List<Call> leaves = new ArrayList<>();
    /** When draining ended, since all holds had ended or the time was over. */
    private long drainedNanos;
    /** The steps of the close. Made together with the client, since there may be no memory when the client closes. */
    private final Steps steps;

    Closing(
            RedisAccess access,
            WaitingParts parts,
            AsyncAcquisitions async,
            Residences residences,
            Shares shares,
            BackgroundLog log) {
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
                shares::close,
                this::awaitHolds,
                attempts::close,
                this::drained,
                this::awaitCalls,
                this::loseHolds,
                // Wait again: an unlock may have begun before loseHolds() reached its hold. After loseHolds() no unlock
                // can begin.
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
     * Closes the client, after waiting for holders to finish, for {@code drainNanos} at most. A concurrent second call
     * waits for the first one, unless the second call's thread is interrupted. Both calls use the shorter of their
     * times.
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

    /** Waits until no lock is held, draining ends, or the closing thread is interrupted. */
    private void awaitHolds() {
        while (clock.nanoTime() < drainEndNanos.get()
                && isInUse()
                && !Thread.currentThread().isInterrupted()) {
            clock.park(this, TICK_NANOS);
        }
    }

    /**
     * Whether there is a hold, or a call that may still get one. The calls are checked before the holds, since a call
     * ends only after its hold exists. A wait in a Condition goes the other way: it ends a hold after the call that
     * will get the hold back has begun. If such a call began during the two checks, both may have missed it, so the
     * method returns true.
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
     * Waits until no call is under way any more, for two command timeouts at most, or until the closing thread is
     * interrupted. A call to a server that is away counts until one more request to that server has failed.
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
     * Whether there are calls under way, or pending commands of earlier calls. A pending command does not count if its
     * server is away and a request sent to that server after draining has failed.
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
                // Add the leave before the report: if the report fails, tellUntold() repeats it, but nothing would
                // repeat the leave.
                leaves.add(Scripts.leave(hold.keys(), hold.owner, hold.attempt, true));
                losses.ended(hold);
            }
        });
    }

    /** Reports the losses whose report was stopped by an error. The watchdog, which repeats such reports, has ended. */
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
