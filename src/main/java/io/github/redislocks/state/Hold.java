package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An owner's possession of one lock in Redis. The number that is its state is the validity deadline while it is held.
 *
 * <p>A hold is kept small, since a process may hold very many locks. Two holds are equal if they have the same thread
 * and lock, by which {@link Holds} finds them. One that may not last for ever is a {@link LimitedHold}.
 */
public class Hold extends Leased implements Attempt.Possession {

    private final String lock;
    public final long attempt;
    /** When the client got the lock, before all hand-offs among its own threads. */
    public final long turnStartNanos;
    /** An earlier, lost hold of the same thread and lock that outer code still has to unlock, or null. */
    public final @Nullable Hold below;
    /** Whether a request of the attempt may still run, so that the release names no successor. */
    public final boolean inDoubt;
    /** The successor that the release names, set before the release is sent; or null. */
    private @Nullable Attempt successor;

    /**
     * The hold count of the outermost acquisition that named no lease: from this count on the watchdog renews the hold.
     * 0 if there is none.
     */
    private volatile int renewedFrom;
    /** The longest lease of all acquisitions that are renewed. */
    private volatile int renewedMillis;
    /** When the watchdog has to renew or confirm the hold, or {@link Long#MAX_VALUE}. */
    private volatile long nextRenewalNanos;
    /** When the watchdog first saw that the hold is lost; 0 before that. Used by the watchdog only. */
    private long lossSeenNanos;

    private int fenceRefreshedSeconds;
    /** The failover epoch of the last reply for this hold; used by the renewing thread only. */
    private int failoverEpoch;
    /** Whether a renewal is under way now. */
    private volatile boolean renewing;
    /** Whether the hold was said to be forced since the last renewal began. */
    private volatile boolean doubted;

    public Hold(Attempt attempt, Attempt.Grant grant, long now, long nextRenewalNanos, @Nullable Hold below) {
        super(attempt, grant, now);
        this.lock = attempt.keys.lock();
        this.attempt = attempt.number;
        this.turnStartNanos = grant.turnStartNanos();
        this.below = below;
        this.inDoubt = attempt.isInDoubt();
        this.renewedFrom = attempt.renewed ? 1 : 0;
        this.nextRenewalNanos = nextRenewalNanos;
        this.renewedMillis = attempt.renewed ? Math.toIntExact(attempt.leaseMillis) : 0;
        this.fenceRefreshedSeconds = seconds(now);
        this.failoverEpoch = attempt.failoverEpoch();
        if (attempt.fromCondition) {
            announced();
        }
        begin(grant.deadlineNanos());
    }

    private static int seconds(long nanos) {
        return (int) TimeUnit.NANOSECONDS.toSeconds(nanos);
    }

    @Override
    public String lock() {
        return lock;
    }

    /** The keeper, which takes part in the end of the hold. */
    public Keeper keeper() {
        return owner instanceof Keeper keeper ? keeper : Keeper.NONE;
    }

    /** The possession that a thread or a handle has by the hold; null if nobody has the lock now. */
    public @Nullable Held use() {
        return keeper().use(this);
    }

    /** The last token that was given out under the hold, if that is not its own; else 0. */
    public long lastToken() {
        long last = owner.lastToken();
        return last > token ? last : 0;
    }

    /** The thread that has it; null if a handle has it. */
    @Nullable
    public Thread thread() {
        return owner.thread();
    }

    /** The lease that the watchdog asks for; 0 if no acquisition is renewed. */
    public long renewedMillis() {
        return renewedMillis;
    }

    /** The time between two renewals by the watchdog. */
    public long renewalNanos() {
        return Timing.renewalNanos(renewedMillis);
    }

    /** The end of the lease that the owner wants, of which Redis may have given only a claim yet. */
    public long wantedUntilNanos() {
        return acquiredNanos + leaseMillis() * 1_000_000;
    }

    /** Notes that the watchdog has seen that the hold is lost; only the first call counts. */
    public void lossSeen(long now) {
        if (lossSeenNanos == 0) {
            lossSeenNanos = now;
        }
    }

    /** When the watchdog first saw that the hold is lost; 0 if it has not. */
    public long lossSeenNanos() {
        return lossSeenNanos;
    }

    /** How many seconds ago the fence key, which remembers the token, was last refreshed; for the watchdog only. */
    public int secondsSinceFenceRefresh(long now) {
        return seconds(now) - fenceRefreshedSeconds;
    }

    /** Notes that the fence key is refreshed now; for the watchdog only. */
    public void fenceRefreshed(long now) {
        fenceRefreshedSeconds = seconds(now);
    }

    /** The successor that the release names; null if it names none. */
    @Nullable
    public Attempt successor() {
        return successor;
    }

    /** Sets the successor that the release will name, before it is sent; null for none. */
    public void names(@Nullable Attempt next) {
        successor = next;
    }

    /** When the watchdog has to renew or confirm the hold, or {@link Long#MAX_VALUE}. */
    public long nextRenewalNanos() {
        return nextRenewalNanos;
    }

    /** Sets the time of the next renewal or confirmation. */
    public void renewAt(long nanos) {
        nextRenewalNanos = nanos;
    }

    /** The failover epoch of the last reply for this hold; for the renewing thread only. */
    public int failoverEpoch() {
        return failoverEpoch;
    }

    /** Notes that the server of an epoch has answered for this hold; for the renewing thread only. */
    public void answeredIn(int epoch) {
        failoverEpoch = epoch;
    }

    /** Whether a renewal is under way. */
    public boolean isRenewing() {
        return renewing;
    }

    /** Whether the hold is said to be forced, so that Redis is to be asked for it at once. */
    public boolean isDoubted() {
        return doubted;
    }

    /** Notes that the hold is said to be forced. */
    public void doubted() {
        doubted = true;
    }

    /** Notes that a renewal begins; false if the hold has ended, so that the renewal must not be sent. */
    public boolean beginRenewal() {
        doubted = false;
        renewing = ask(Asker.WATCHDOG, renewedMillis);
        return renewing;
    }

    /** Notes that a renewal ends. */
    public void endRenewal() {
        renewing = false;
    }

    /** How long the hold may last; 0 if for ever. */
    public long maxHoldMillis() {
        return 0;
    }

    /** The owner waits for other locks, and does not work under this one yet: that may last. Of the owner's thread. */
    public void waitsForOthers() {}

    /** The owner has the other locks too: from now on this hold may last as long as a hold may. */
    public void hasOthers(long nanos) {}

    /** Until when the hold may last; {@link Long#MAX_VALUE} if for ever. */
    public long endNanos() {
        return Long.MAX_VALUE;
    }

    /** When to warn that the hold may not last much longer; {@link Long#MAX_VALUE} if not, or not again. */
    public long warningNanos() {
        return Long.MAX_VALUE;
    }

    /** Notes that the warning is given; for the watchdog only. */
    public void warned() {}

    /**
     * Has the release of a handle's hold keep the lock taken until so long after the beginning of the hold: 0 for not
     * at all.
     */
    public void keepFor(long millis) {
        if (owner instanceof HandleOwner handle) {
            handle.keeps(millis);
        }
    }

    /** Whether its release keeps the lock taken. */
    public boolean isToKeep() {
        return owner.keepsMillis() > 0;
    }

    @Override
    public boolean isOfHandle() {
        return owner instanceof HandleOwner;
    }

    @Override
    public void tellHandle(LockLost loss) {
        if (owner instanceof HandleOwner handle) {
            handle.lost(loss);
        }
    }

    @Override
    public boolean isRenewed() {
        return renewedFrom > 0;
    }

    /** Sets the time of the next renewal if the hold is renewed, else none. */
    public void renewNext(long nanos) {
        nextRenewalNanos = Long.MAX_VALUE;
        // Set after the line above: a re-entry that starts the renewal sets renewedFrom first, then a time of its own.
        if (isRenewed()) {
            nextRenewalNanos = nanos;
        }
    }

    /**
     * Takes over from the hold that was given up in a Condition its count and which of its acquisitions are renewed.
     */
    public void resume(Hold before, int times) {
        resume(times);
        renewedMillis = before.renewedMillis;
        renewedFrom = before.renewedFrom;
    }

    /** Counts a re-entry; the first one that names no lease starts the renewal. */
    public void reentered(long wantedMillis, boolean renewed, long renewalNanos) {
        reentered();
        int got = got(wantedMillis);
        if (renewed) {
            renewedMillis = Math.max(renewedMillis, got);
            if (renewedFrom == 0) {
                renewedFrom = count();
                // Keep an earlier time that was set for another reason. If that request is being answered at this
                // moment, one request more is sent.
                nextRenewalNanos = Math.min(nextRenewalNanos, renewalNanos);
            }
        }
    }

    /** From now on the watchdog asks for this lease, unless it asks for a longer one; of the owner's thread. */
    public void renewedFor(long wantedMillis) {
        renewedMillis = Math.max(renewedMillis, got(wantedMillis));
    }

    /** Whether the hold lasts as long as a re-entry wants without a request to Redis. */
    public boolean covers(long now, long wantedMillis, boolean renewed) {
        return renewed ? isRenewed() && isValid(now) : lasts(now, wantedMillis);
    }

    /**
     * Ends its renewal, so that it ends with its lease.
     *
     * @param extended whether that was given anew; if not, a request that is due, as for a grant, is still sent
     */
    public void fixed(boolean extended) {
        renewedFrom = 0;
        if (extended) {
            nextRenewalNanos = Long.MAX_VALUE;
        }
    }

    /** Counts an inner unlock; renewal ends with the acquisition that asked for it, the deadline then stands. */
    @Override
    public void exited() {
        super.exited();
        if (count() < renewedFrom) {
            renewedFrom = 0;
            nextRenewalNanos = Long.MAX_VALUE;
        }
    }
}
