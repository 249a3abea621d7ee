package io.github.redislocks.lease;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.script.ShareScripts;
import io.github.redislocks.script.TokenMemory;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Leased;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.watchdog.Job;
import java.util.List;

/** A renewal of some holds, or the confirmation of a grant. Both send the same request, for the wanted lease. */
final class Renewal implements Job {

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    /**
     * An inspection makes several batches. The next renewal of each batch is due this much earlier than the next
     * renewal of the previous batch, so that the batches spread over time.
     */
    private static final long SPREAD_NANOS = 1_000_000;

    private final Clock clock;
    private final Settings settings;
    private final MonitoredRedis redis;
    private final FailoverEpoch epoch;
    private final Losses losses;
    private final List<Hold> holds;
    private final int batch;
    private final int failoverEpoch;
    private long leaseMillis;

    /** Makes a renewal. Removes from {@code holds} those that end before the renewal is sent. */
    Renewal(RedisAccess access, Losses losses, List<Hold> holds, long leaseMillis, int batch) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.redis = access.monitored();
        this.epoch = access.epoch();
        this.losses = losses;
        this.holds = holds;
        this.leaseMillis = leaseMillis;
        this.batch = batch;
        this.failoverEpoch = epoch.count();
    }

    /** How long after a failure a renewal is tried again. */
    static long pauseNanos(Settings settings, Hold hold) {
        return Math.max(MIN_PAUSE_NANOS, usualNanos(settings, hold) / 10);
    }

    /** The time between two renewals of a hold. For a hold that is not renewed, this is the client's default. */
    private static long usualNanos(Settings settings, Hold hold) {
        return hold.isRenewed() ? hold.renewalNanos() : settings.renewalNanos();
    }

    /** Returns true if the next renewal of a hold has to refresh the fence key too, which remembers the token. */
    static boolean isFenceDue(Settings settings, Hold hold, long now) {
        return hold.secondsSinceFenceRefresh(now) > TokenMemory.refreshSeconds(settings.tokenMemory());
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
        // A batch keeps the lease with which it was made, even if an inner unlock has ended the renewal of a hold.
        if (holds.size() == 1) {
            leaseMillis = first.isRenewed()
                    ? first.owner.leaseMillis(first.renewedMillis())
                    : Math.max(1, (first.wantedUntilNanos() - sentNanos) / 1_000_000);
        }
        for (int i = 0; i < holds.size(); i++) {
            // When the batch was made, each hold had at least the whole lease left before its maxHold. Less may be left
            // now, since the batch may have waited.
            leaseMillis = holds.get(i).leaseAt(sentNanos, leaseMillis);
        }
        if (holds.size() > 1) {
            return first.owner.isShared()
                    ? ShareScripts.renewAll(holds, leaseMillis)
                    : Scripts.renewAll(holds, leaseMillis);
        }
        boolean fence = isFenceDue(settings, first, sentNanos);
        if (fence) {
            first.fenceRefreshed(sentNanos);
        }
        return Scripts.renew(first, leaseMillis, fence);
    }

    /**
     * Whether the holds rely on messages of the mailbox. A client that keeps a lock relies on recalls. With
     * {@code watchDeletions}, a hold relies on reports of a changed key, but only after its first renewal, which begins
     * the watching.
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
        return usualNanos(settings, holds.get(0));
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
                if (hold.owner.givesWay() && held) {
                    // A message reports the waiter too, but that message may have been lost.
                    hold.owner.renewed(hold.attempt, Answer.isWaitedFor(reply, i, holds.size()), sentNanos);
                }
                if (acknowledged || !held) {
                    judge(hold, held, reply, sentNanos);
                    renewed += held ? 1 : 0;
                } else {
                    // The replicas have not confirmed the extension, so it does not count: after a failover the hold
                    // would end earlier. Without a failover, Redis keeps the hold longer than this client believes, so
                    // leave the request open (see Leased).
                    tryAgain(hold);
                }
            } finally {
                // End the renewal last: otherwise, after a failover, the watchdog could schedule a renewal at the new
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
            hold.renewNext(sentNanos + renewalNanos(hold) - spreadNanos(hold));
            if (hold.extend(now, sentNanos, leaseMillis)) {
                hold.answered(Leased.Asker.WATCHDOG, !reply.resent());
            }
            if (hold.isDoubted()) {
                // A message came while this renewal was under way, and the reply may be older than the message. So ask
                // again at once.
                hold.renewAt(now);
            }
        } else {
            losses.taken(hold);
        }
    }

    /** The time between two renewals of a hold. In a batch, this is the time for the lease that the batch asked for. */
    private long renewalNanos(Hold hold) {
        return holds.size() > 1 ? Timing.renewalNanos(leaseMillis) : hold.renewalNanos();
    }

    /** The next renewal is this much earlier, so that those of holds that began together spread over time. */
    private long spreadNanos(Hold hold) {
        return Math.min(batch * SPREAD_NANOS, renewalNanos(hold) / 8);
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
        hold.renewAt(failoverEpoch == epoch.count() ? now + pauseNanos(settings, hold) : now);
    }
}
