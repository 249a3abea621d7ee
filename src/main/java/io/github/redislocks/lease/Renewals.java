package io.github.redislocks.lease;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.Task;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    /** How many losses are remembered for owners that have not called the library since. */
    public static final int LOSSES = 100_000;

    private final RedisAccess access;
    private final Clock clock;
    private final Settings settings;
    private final Holds holds;
    private final Losses losses;
    private final Rescue rescue;
    private final LostHolds lostHolds;
    /** The shortest lease of all lock objects. It limits how long the watchdog rests. */
    private final AtomicLong shortestLeaseMillis;

    private final Doubts doubts = new Doubts();
    /** The number of failovers when the last inspection began. */
    private int lastFailoverEpoch;
    /** When remembered releases were last forgotten. */
    private long forgotNanos;

    /** Does the work on a hold that the hold's thread cannot do itself. */
    public interface Rescue {

        /** Continues a release that the thread could not complete, or could not even begin. */
        void rescue(Hold hold);

        /** Ends in Redis, in the background, a hold that the thread left behind. */
        void leaveLater(Hold hold);

        /** Sends a release once more, in the background, to a server that may not have received it. */
        void releaseAgain(Holds.Released released);
    }

    /** {@code remembered} is the number of losses that are remembered. */
    public Renewals(RedisAccess access, Holds holds, Losses losses, Rescue rescue, int remembered) {
        this.access = access;
        this.clock = access.clock();
        this.settings = access.settings();
        this.holds = holds;
        this.losses = losses;
        this.rescue = rescue;
        this.lostHolds = new LostHolds(holds, losses, remembered);
        this.forgotNanos = access.clock().nanoTime();
        this.shortestLeaseMillis = new AtomicLong(access.settings().leaseMillis());
    }

    /** Notes that there is a lock whose holds are renewed with this lease. */
    public void isInUse(long leaseMillis) {
        shortestLeaseMillis.accumulateAndGet(leaseMillis, Math::min);
    }

    /** After a message, only a hint, that a hold was forced open: asks Redis. False if there is no such hold. */
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

    /** Has the next inspection ask about this lock, whose key another client changed: see {@link Doubts#add}. */
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
        int failoverEpoch = access.epoch().count();
        boolean moved = failoverEpoch != lastFailoverEpoch;
        lostHolds.begin();
        Walk walk = new Walk(now, horizon, failoverEpoch, due);
        walk.lookAt(doubts.take(now));
        try {
            // An error with one hold keeps no other hold from being renewed.
            Steps.forEach(holds.all(), walk::inspect);
        } finally {
            walk.addBatches();
            lostHolds.forgetOldest();
            losses.events.startThreads();
            // Call this after the loop: an error here must not keep holds from being renewed.
            endProlonged();
            if (moved) {
                holds.released().forEach(rescue::releaseAgain);
                // Note the failover last: after an error the next inspection sends the releases.
                lastFailoverEpoch = failoverEpoch;
            }
            if (now - forgotNanos >= settings.leaseMillis() * 1_000_000) {
                forgotNanos = now;
                holds.forgetReleased();
            }
        }
        // The deadline of a hold that ended during this loop reads as 0 or less: then inspect again at once.
        return walk.next <= 0 ? now : walk.next;
    }

    /** An inspection of all holds. */
    private final class Walk {

        private final long now;
        private final long horizon;
        private final int failoverEpoch;
        private final Batch due;
        private final Map<Kind, List<Hold>> together = new HashMap<>();
        private int batches;
        /** When the next inspection is due. */
        private long next = Long.MAX_VALUE;

        Walk(long now, long horizon, int failoverEpoch, Batch due) {
            this.now = now;
            this.horizon = horizon;
            this.failoverEpoch = failoverEpoch;
            this.due = due;
        }

        void lookAt(long nanos) {
            next = Math.min(next, nanos);
        }

        void inspect(Hold hold) {
            try {
                inspectItself(hold);
            } finally {
                // Report earlier losses last: an error in such a report must not keep the hold from being renewed.
                lookAt(lostHolds.inspectBelow(hold, now));
            }
        }

        /** Applies the rules for one hold, in this order. */
        private void inspectItself(Hold hold) {
            if (hold.stranded) {
                rescue.rescue(hold);
            }
            if (hasEnded(hold)) {
                return;
            }
            lookAt(hold.deadlineNanos());
            if (hold.warningNanos() <= now) {
                losses.isEnding(hold, now);
            }
            lookAt(hold.warningNanos());
            askIfUnsure(hold);
            if (hold.nextRenewalNanos() > horizon) {
                lookAt(hold.nextRenewalNanos());
            } else if (hold.isRenewed() && !hold.owner.isAlive()) {
                // The owner has ended, so nobody can unlock. Only renewed holds are abandoned: a lease that the caller
                // chose runs to its end.
                abandon(hold);
            } else if (!hold.isRenewing()) {
                renew(hold);
            }
        }

        /** Declares the loss if the deadline has passed; returns true if the hold is lost or being released. */
        private boolean hasEnded(Hold hold) {
            if (hold.isValid(now) || losses.isValid(hold)) {
                return false;
            }
            // A hold that is being released is inspected again later: an error may end the release without waking the
            // watchdog.
            lookAt(hold.isLost() ? lostHolds.inspect(hold, now) : now + Losses.LOOK_AGAIN_NANOS);
            return true;
        }

        /** Makes a renewal due now after a failover, or a change of the key: Redis may not have the hold any more. */
        private void askIfUnsure(Hold hold) {
            if (!hold.isRenewing() && hold.failoverEpoch() != failoverEpoch) {
                boolean moved = failoverEpoch != lastFailoverEpoch;
                if (moved || !isAskedSoon(hold)) {
                    hold.renewAt(now);
                }
            }
            if (doubts.has(hold)) {
                askAtOnce(hold);
            }
        }

        private void renew(Hold hold) {
            long lease = hold.owner.leaseMillis(hold.renewedMillis());
            if (!isForBatch(hold, lease, now)) {
                add(new ArrayList<>(List.of(hold)), lease, 0);
                return;
            }
            Kind kind = new Kind(hold.owner.isShared(), lease);
            List<Hold> batch = together.computeIfAbsent(kind, any -> new ArrayList<>());
            batch.add(hold);
            if (batch.size() >= BATCH) {
                together.remove(kind);
                add(batch, lease, batches++);
            }
        }

        void addBatches() {
            together.forEach((kind, batch) -> add(batch, kind.leaseMillis, batches++));
            together.clear();
        }

        private void add(List<Hold> holds, long lease, int batch) {
            due.add(holds.get(0).lock(), new Renewal(access, losses, holds, lease, batch));
        }
    }

    /** The kind of the holds of one batch. */
    private record Kind(boolean shared, long leaseMillis) {}

    /** Ends in Redis lost holds that renewals may have prolonged: else others would wait for those leases. */
    private void endProlonged() {
        for (Hold hold = losses.nextProlonged(); hold != null; hold = losses.nextProlonged()) {
            rescue.leaveLater(hold);
            losses.isSeenTo();
        }
    }

    /**
     * Whether the next renewal is due within one retry pause. If it is due later although a failover came, a reply of
     * the old master has set the time, and the hold has to be renewed at once.
     */
    private boolean isAskedSoon(Hold hold) {
        // Read the clock again: the failure that set this time may have come after the inspection began.
        return hold.nextRenewalNanos() <= clock.nanoTime() + Renewal.pauseNanos(settings, hold);
    }

    private boolean isForBatch(Hold hold, long lease, long now) {
        return access.monitored().hasOneSlot()
                && !LockKeys.arePermits(hold.lock())
                && hold.isRenewed()
                && hold.leaseAt(now, lease) == lease
                && (hold.owner.isShared()
                        || (lease == settings.leaseMillis() && !Renewal.isFenceDue(settings, hold, now)));
    }

    private void abandon(Hold hold) {
        if (losses.lose(hold, LockLost.Reason.ABANDONED)) {
            rescue.leaveLater(hold);
        }
    }
}
