package io.github.redislocks.lease;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.script.TokenMemory;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Leased;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.Job;
import io.github.redislocks.watchdog.Task;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The watchdog task for holds: renews them, confirms grants, and declares losses. */
public final class Renewals implements Task {

    /** How many holds one script renews: about 0.2 ms of Redis' time. */
    public static final int BATCH = 32;

    /**
     * How long the watchdog rests after an inspection, for each hold beyond the first thousand: about 100 times as long
     * as the inspection of one hold takes. The rest depends on the number of holds, and not on the duration of the
     * inspection, which means nothing on a busy machine.
     */
    private static final long REST_NANOS = 4_000;

    private static final long FEW = 1_000;

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    /** By how much the next renewal of each batch of an inspection is earlier than that of the previous batch. */
    private static final long SPREAD_NANOS = 1_000_000;

    /** How many losses are remembered for owners that have not called the library since. */
    public static final int LOSSES = 100_000;
    /** The pause before a report that failed is tried again. */
    private static final long UNTOLD_NANOS = 100_000_000;
    /** The time between two checks whether the thread of a lost hold is still alive. */
    private static final long LOOK_AGAIN_NANOS = 60_000_000_000L;

    private final Clock clock;
    private final Settings settings;
    private final MonitoredRedis redis;
    private final FailoverEpoch epoch;
    private final Holds holds;
    private final Losses losses;
    private final Rescue rescue;
    private final int fenceRefreshSeconds;
    private final int remembered;
    /** The shortest lease of all locks that were made, which limits the watchdog's rest. */
    private final AtomicLong shortestLeaseMillis;

    private final Doubts doubts = new Doubts();
    /** The number of failovers when the last inspection began. */
    private int lastFailoverEpoch;
    /** When remembered releases were last forgotten. */
    private long forgotNanos;

    /** Continues the work on a hold that its thread cannot do itself. */
    public interface Rescue {

        /** Continues a release that the thread could not end, or not even begin. */
        void rescue(Hold hold);

        /** Ends in Redis, in the background, a hold that the thread left behind. */
        void leaveLater(Hold hold);

        /** Sends a release once more, in the background, to a server that may not have received it. */
        void releaseAgain(Holds.Released released);
    }

    /**
     * Makes the task.
     *
     * @param remembered the number of losses that are remembered
     */
    public Renewals(RedisAccess access, Holds holds, Losses losses, Rescue rescue, int remembered) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.redis = access.monitored();
        this.epoch = access.epoch();
        this.holds = holds;
        this.losses = losses;
        this.rescue = rescue;
        this.fenceRefreshSeconds = TokenMemory.refreshSeconds(access.settings().tokenMemory());
        this.remembered = remembered;
        this.forgotNanos = access.clock().nanoTime();
        this.shortestLeaseMillis = new AtomicLong(access.settings().leaseMillis());
    }

    /** Notes that there is a lock whose holds are renewed with this lease. */
    public void isInUse(long leaseMillis) {
        shortestLeaseMillis.accumulateAndGet(leaseMillis, Math::min);
    }

    /**
     * Asks Redis at once about a hold that was forced open according to a message. The message is only a hint; the
     * answer of Redis decides.
     *
     * @return whether there is such a hold
     */
    public boolean askAtOnce(long attempt, long token) {
        for (Hold hold : holds.all()) {
            if (hold.attempt == attempt && hold.token == token && hold.isOpen()) {
                askAtOnce(hold);
                return true;
            }
        }
        return false;
    }

    /**
     * Asks Redis at once about the holds of handles, which may have been forced open while no message could arrive;
     * returns whether there are any.
     */
    public boolean askForHandles() {
        boolean any = false;
        for (Hold hold : holds.all()) {
            if (hold.isOfHandle() && hold.isOpen()) {
                askAtOnce(hold);
                any = true;
            }
        }
        return any;
    }

    private void askAtOnce(Hold hold) {
        hold.doubted();
        hold.renewAt(clock.nanoTime());
    }

    /**
     * Has the next inspection ask Redis about the hold of a lock whose key another client has changed, or about all
     * holds if {@code lock} is null. Returns the time at which that inspection is due.
     */
    public long doubt(@Nullable String lock) {
        return doubts.add(lock);
    }

    @Override
    public long restNanos() {
        long many = Math.max(0, holds.count() - FEW);
        return Math.min(many * REST_NANOS, Timing.renewalNanos(shortestLeaseMillis.get()) / 8);
    }

    @Override
    public long inspect(long now, long horizon, Batch due) {
        long next = doubts.take(now);
        int failoverEpoch = epoch.count();
        boolean moved = failoverEpoch != lastFailoverEpoch;
        lastFailoverEpoch = failoverEpoch;
        List<Hold> together = new ArrayList<>();
        int batches = 0;
        int lost = 0;
        Throwable met = null;
        for (Hold hold : holds.all()) {
            try {
                if (hold.stranded) {
                    rescue.rescue(hold);
                }
                if (hold.below != null && hold.below.isUntold()) {
                    // The thread has locked again, but an error prevented the report of its earlier loss: repeat the
                    // report.
                    losses.ended(hold.below);
                    next = Math.min(next, now + UNTOLD_NANOS);
                }
                if (!hold.isValid(now) && !losses.isValid(hold)) {
                    if (hold.isLost()) {
                        losses.ended(hold);
                        next = Math.min(next, age(hold, now));
                        lost++;
                    } else {
                        // The hold is being released. Inspect it again later: an error may end the release without
                        // waking the watchdog.
                        next = Math.min(next, now + LOOK_AGAIN_NANOS);
                    }
                    continue;
                }
            } catch (RuntimeException | Error e) {
                // Throw the error later, so that the other holds are renewed nevertheless.
                met = e;
                continue;
            }
            next = Math.min(next, hold.deadlineNanos());
            long warning = hold.warningNanos();
            if (warning <= now) {
                losses.isEnding(hold, now);
            } else {
                next = Math.min(next, warning);
            }
            boolean renewing = hold.isRenewing();
            if (!renewing && hold.failoverEpoch() != failoverEpoch && (moved || !isAskedSoon(hold))) {
                hold.renewAt(now);
            }
            if (doubts.has(hold)) {
                askAtOnce(hold);
            }
            long renewal = hold.nextRenewalNanos();
            if (renewal > horizon) {
                next = Math.min(next, renewal);
            } else if (hold.isRenewed() && !hold.owner.isAlive()) {
                // The owner has ended, so nobody can unlock. Only renewed holds are abandoned: a lease that the caller
                // chose runs to its end.
                abandon(hold);
            } else if (!renewing && !isForBatch(hold, now)) {
                add(new ArrayList<>(List.of(hold)), 0, due);
            } else if (!renewing) {
                together.add(hold);
                if (together.size() == BATCH) {
                    add(together, batches++, due);
                    together = new ArrayList<>();
                }
            }
        }
        if (!together.isEmpty()) {
            add(together, batches, due);
        }
        if (lost > remembered) {
            forgetOldest(lost - remembered);
        }
        losses.events.startThreads();
        // Call this after the loop: an error here must not keep holds from being renewed.
        endProlonged();
        if (moved) {
            holds.released().forEach(rescue::releaseAgain);
        }
        if (now - forgotNanos >= settings.leaseMillis() * 1_000_000) {
            forgotNanos = now;
            holds.forgetReleased();
        }
        Steps.rethrow(met);
        // The deadline of a hold that ended during this loop reads as 0 or less: then inspect again at once.
        return next <= 0 ? now : next;
    }

    /**
     * Ends lost holds in Redis that renewals have prolonged, or may prolong. Otherwise others would wait for those
     * leases.
     */
    private void endProlonged() {
        for (Hold hold = losses.nextProlonged(); hold != null; hold = losses.nextProlonged()) {
            rescue.leaveLater(hold);
            losses.isSeenTo();
        }
    }

    private void add(List<Hold> holds, int batch, Batch due) {
        due.add(holds.get(0).lock(), new Renewal(holds, batch, lastFailoverEpoch));
    }

    /**
     * Whether the next renewal is at most one retry pause away. If it is not, and a failover came since, then the time
     * was set by a reply of the old master, so the hold is renewed now.
     */
    private boolean isAskedSoon(Hold hold) {
        // Read the clock again: the failure that set this time may have come after the inspection began.
        return hold.nextRenewalNanos() <= clock.nanoTime() + pauseNanos(hold);
    }

    /** How long after a failure a renewal is tried again. */
    private long pauseNanos(Hold hold) {
        long renewal = hold.isRenewed() ? hold.renewalNanos() : settings.renewalNanos();
        return Math.max(MIN_PAUSE_NANOS, renewal / 10);
    }

    private boolean isForBatch(Hold hold, long now) {
        return redis.hasOneSlot()
                && hold.isRenewed()
                && hold.renewedMillis() == settings.leaseMillis()
                && hold.leaseAt(now, settings.leaseMillis()) == settings.leaseMillis()
                && !isFenceDue(hold, now);
    }

    private boolean isFenceDue(Hold hold, long now) {
        return hold.secondsSinceFenceRefresh(now) > fenceRefreshSeconds;
    }

    /** Keeps the record of a loss while its thread lives, which may still unlock; returns when to check again. */
    private long age(Hold hold, long now) {
        if (!hold.owner.isAlive()) {
            holds.forget(hold);
            return Long.MAX_VALUE;
        }
        hold.lossSeen(now);
        return now + (hold.isUntold() ? UNTOLD_NANOS : LOOK_AGAIN_NANOS);
    }

    /** Forgets the records of the losses that have been known longest. */
    private void forgetOldest(int count) {
        holds.all().stream()
                .filter(Hold::isLost)
                .sorted(Comparator.comparingLong(Hold::lossSeenNanos))
                .limit(count)
                .toList()
                .forEach(holds::forget);
    }

    private void abandon(Hold hold) {
        if (losses.lose(hold, LockLost.Reason.ABANDONED)) {
            rescue.leaveLater(hold);
        }
    }

    /** A renewal of some holds, or the confirmation of a grant. Both send the same request, for the wanted lease. */
    private final class Renewal implements Job {

        private final List<Hold> holds;
        private final int batch;
        private final int failoverEpoch;
        private long leaseMillis;

        Renewal(List<Hold> holds, int batch, int failoverEpoch) {
            this.holds = holds;
            this.batch = batch;
            this.failoverEpoch = failoverEpoch;
        }

        @Override
        public boolean begin() {
            for (int i = holds.size() - 1; i >= 0; i--) {
                if (!holds.get(i).beginRenewal()) {
                    holds.remove(i);
                }
            }
            return !holds.isEmpty();
        }

        @Override
        public void end() {
            for (int i = 0; i < holds.size(); i++) {
                holds.get(i).endRenewal();
            }
        }

        @Override
        public int size() {
            return holds.size();
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            Call call = renewal(sentNanos);
            return (settings.watchDeletions() ? Scripts.watched(call) : call).with(settings.acks());
        }

        private Call renewal(long sentNanos) {
            Hold first = holds.get(0);
            // In a batch, ask for the default lease even if an inner unlock has ended the renewal of a hold: each hold
            // was renewed with that lease when the batch was made.
            if (holds.size() > 1) {
                leaseMillis = settings.leaseMillis();
            } else {
                leaseMillis = first.isRenewed()
                        ? first.renewedMillis()
                        : Math.max(1, (first.wantedUntilNanos() - sentNanos) / 1_000_000);
            }
            for (int i = 0; i < holds.size(); i++) {
                // When the batch was made, each hold had at least the whole lease left before its maxHold. It may be
                // less now, since the batch may have waited.
                leaseMillis = holds.get(i).leaseAt(sentNanos, leaseMillis);
            }
            if (holds.size() > 1) {
                return Scripts.renewAll(holds, leaseMillis);
            }
            boolean fence = isFenceDue(first, sentNanos);
            if (fence) {
                first.fenceRefreshed(sentNanos);
            }
            return Scripts.renew(first, leaseMillis, fence);
        }

        /**
         * Whether the holds rely on messages of the mailbox: recalls, and reports of changed keys. The latter do not
         * matter yet for a hold that is only about to be watched.
         */
        @Override
        public boolean wantsPing() {
            for (Hold hold : holds) {
                if (hold.owner.givesWay()) {
                    return true;
                }
            }
            return settings.watchDeletions() && clock.nanoTime() - holds.get(0).acquiredNanos >= patienceNanos();
        }

        @Override
        public long patienceNanos() {
            return holds.get(0).isRenewed() ? holds.get(0).renewalNanos() : settings.renewalNanos();
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            int renewed = 0;
            boolean acknowledged = (holds.size() == 1 && Answer.isGone(reply))
                    || redis.isAcknowledged(holds.get(0).lock(), reply, sentNanos);
            for (int i = 0; i < holds.size(); i++) {
                Hold hold = holds.get(i);
                try {
                    boolean held = Answer.isKept(reply, i, holds.size());
                    if (hold.owner.givesWay() && Answer.isWaitedFor(reply, i, holds.size())) {
                        // Report it although a message said the same: that message may have been lost.
                        hold.owner.wanted(hold.attempt);
                    }
                    if (acknowledged || !held) {
                        judge(hold, held, reply, sentNanos);
                        renewed += held ? 1 : 0;
                    } else {
                        // The replicas have not confirmed the extension, so it does not count: after a failover the
                        // hold would end earlier. Without a failover, Redis keeps the hold longer than this client
                        // believes, so the request stays open.
                        tryAgain(hold);
                    }
                } finally {
                    // Clear this last: otherwise, after a failover, the watchdog could schedule a renewal at the new
                    // server, and then this reply of the old server would overwrite that schedule.
                    hold.endRenewal();
                }
            }
            losses.events.renewed(renewed);
        }

        private void judge(Hold hold, boolean held, Reply reply, long sentNanos) {
            long now = clock.nanoTime();
            hold.answeredIn(failoverEpoch);
            if (held) {
                hold.renewNext(sentNanos + renewalNanos(hold) - spreadNanos());
                if (hold.extend(now, sentNanos, leaseMillis)) {
                    hold.answered(Leased.Asker.WATCHDOG, !reply.resent());
                }
                if (hold.isDoubted()) {
                    // A message came while this renewal was under way, and the reply may be older than the message. So
                    // ask again at once.
                    hold.renewAt(now);
                }
            } else {
                losses.taken(hold);
            }
        }

        /**
         * The time between two renewals of a hold; in a batch, that of the default lease, as when the batch was made,
         * or of a shorter one that was asked for.
         */
        private long renewalNanos(Hold hold) {
            return holds.size() > 1 ? Timing.renewalNanos(leaseMillis) : hold.renewalNanos();
        }

        /**
         * By how much the next renewal is earlier than usual. So the renewals of many holds that began together spread
         * over time.
         */
        private long spreadNanos() {
            return Math.min(batch * SPREAD_NANOS, settings.renewalNanos() / 8);
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            if (holds.size() > 1) {
                redis.refused(failure);
            }
            for (Hold hold : holds) {
                tryAgain(hold);
                hold.endRenewal();
            }
        }

        private void tryAgain(Hold hold) {
            long now = clock.nanoTime();
            hold.renewAt(failoverEpoch == epoch.count() ? now + pauseNanos(hold) : now);
        }
    }
}
