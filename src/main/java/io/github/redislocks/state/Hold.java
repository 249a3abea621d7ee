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
public class Hold extends Held implements Attempt.Possession {

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
    /** The lease that the first acquisition asked for. */
    private final int wantedMillis;
    /** At most 24 h, so that it fits into an int. */
    private int leaseMillis;
    /** The longest lease that Redis was asked for by a re-entry. */
    private int askedMillis;
    /** Whether a request of the owner's thread may give a lease that lasts longer than the deadline says, or has. */
    private volatile boolean outlasting;
    /** Whether a renewal went unanswered at any time, so that it may still run; of the renewing thread. */
    private volatile boolean renewedLate;
    /** The longest lease of all acquisitions that are renewed. */
    private volatile int renewedMillis;
    /** When the watchdog has to renew or confirm the hold, or {@link Long#MAX_VALUE}. */
    private volatile long nextRenewalNanos;
    /** When the watchdog first saw that the hold is lost; 0 before that. Used by the watchdog only. */
    private long lossSeenNanos;
    /** Whether a renewal has gone unanswered since the last reply. */
    private volatile boolean unanswered;
    /** Whether a request of the owner's thread has gone unanswered since the last reply. */
    private volatile boolean asking;

    private int fenceRefreshedSeconds;
    /** The failover epoch of the last reply for this hold; used by the renewing thread only. */
    private int failoverEpoch;
    /** Whether a renewal is under way now. */
    private volatile boolean renewing;
    /** Whether the hold was said to be forced since the last renewal began. */
    private volatile boolean doubted;

    public Hold(Attempt attempt, Attempt.Grant grant, long now, long nextRenewalNanos, @Nullable Hold below) {
        super(attempt.owner, grant.token(), grant.previousLost(), now);
        this.lock = attempt.keys.lock();
        this.attempt = attempt.number;
        this.turnStartNanos = grant.turnStartNanos();
        this.below = below;
        this.inDoubt = attempt.isInDoubt();
        this.renewedFrom = attempt.renewed ? 1 : 0;
        this.nextRenewalNanos = nextRenewalNanos;
        this.leaseMillis = Math.toIntExact(attempt.leaseMillis);
        this.renewedMillis = attempt.renewed ? leaseMillis : 0;
        this.wantedMillis = leaseMillis;
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

    /** The longest lease that was asked for; of the owner's thread. */
    public long leaseMillis() {
        return leaseMillis;
    }

    /** The lease that the watchdog asks for; 0 if no acquisition is renewed. */
    public long renewedMillis() {
        return renewedMillis;
    }

    /** The time between two renewals by the watchdog. */
    public long renewalNanos() {
        return Timing.renewalNanos(renewedMillis);
    }

    /**
     * The end of the lease that the acquisition wanted, which may not be granted yet: a grant first lasts for a claim.
     */
    public long wantedUntilNanos() {
        return acquiredNanos + wantedMillis * 1_000_000L;
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

    /** Notes that the hold is said to be forced; or that a renewal begins, which will tell. */
    public void doubted(boolean now) {
        doubted = now;
    }

    /** Notes that a renewal begins or ends. */
    public void renewing(boolean underWay) {
        renewing = underWay;
    }

    /** Whether a request that should have confirmed the hold has gone unanswered since the last reply. */
    public boolean isUnanswered() {
        return unanswered || asking;
    }

    /** Notes that a renewal is asked for, and not answered yet. */
    public void renewalAsked() {
        unanswered = true;
    }

    /** Notes that a renewal is answered which has confirmed the hold. */
    public void renewalAnswered() {
        unanswered = false;
        asking = false;
    }

    /**
     * Notes that a request of the owner's thread is answered which has confirmed the hold. Where it is renewed, that
     * says nothing of a renewal, which may be under way.
     */
    public void reentryAnswered() {
        asking = false;
        if (!isRenewed()) {
            unanswered = false;
        }
    }

    /** Whether a request of the owner's thread has gone unanswered since the last reply; of that thread. */
    public boolean isAsking() {
        return asking;
    }

    /** Notes whether a request of the owner's thread has gone unanswered since the last reply; of that thread. */
    public void asking(boolean now) {
        asking = now;
    }

    /** Notes that a renewal, or a copy of one, may run after it was given up; of the renewing thread. */
    public void mayBeRenewedLate() {
        renewedLate = true;
    }

    /** Moves the deadline forward, never back; false if the old deadline has passed or the hold has ended. */
    public boolean extend(long now, long deadlineNanos) {
        while (true) {
            long old = state();
            if (old <= now) {
                return false;
            }
            if (old >= deadlineNanos || changeState(old, deadlineNanos)) {
                return true;
            }
        }
    }

    /**
     * Moves the deadline forward as far as a lease allows that Redis has given; false as {@link #extend(long, long)}.
     */
    public final boolean extend(long now, long sentNanos, long leaseMillis) {
        boolean valid = extend(now, sentNanos + Timing.validityNanos(leaseMillis));
        if (valid) {
            leasedUntil(sentNanos + leaseMillis * 1_000_000);
            owner.confirmed(sentNanos);
        }
        return valid;
    }

    /** Notes the end of a lease that Redis has given. */
    void leasedUntil(long nanos) {}

    /** Whether no lease can make the hold last longer than the one that it has. */
    boolean isLastLease() {
        return false;
    }

    /** How long the hold may last; 0 if for ever. */
    public long maxHoldMillis() {
        return 0;
    }

    /** The lease to ask for at a time when one is wanted: shorter if the hold may not last for so long. */
    public long leaseAt(long nanos, long wantedMillis) {
        return wantedMillis;
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

    /** Ends the hold as lost if its deadline has passed; true for the one caller that ended it. */
    public boolean loseIfPast(long now) {
        return lose(now, reasonPast());
    }

    /** Why the hold is lost if its deadline has passed. */
    private LockLost.Reason reasonPast() {
        LockLost.Reason reason = isUnanswered() ? LockLost.Reason.UNCONFIRMED : LockLost.Reason.EXPIRED;
        return isLastLease() ? LockLost.Reason.HELD_TOO_LONG : reason;
    }

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

    /**
     * Ends the hold as lost because its release found nothing to release.
     *
     * @param past whether the deadline had passed by then, which explains the loss
     */
    public boolean releaseFailed(boolean past) {
        return lostInRelease(past ? reasonPast() : LockLost.Reason.TAKEN);
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

    /** Whether the watchdog renews the hold; false if the caller named a lease, which ends by itself. */
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
        int wanted = Math.toIntExact(leaseAt(acquiredNanos, wantedMillis));
        leaseMillis = Math.max(leaseMillis, wanted);
        if (renewed) {
            renewedMillis = Math.max(renewedMillis, wanted);
            if (renewedFrom == 0) {
                renewedFrom = count();
                // Keep an earlier time that was set for another reason. If that request is being answered at this
                // moment, one request more is sent.
                nextRenewalNanos = Math.min(nextRenewalNanos, renewalNanos);
            }
        }
    }

    /** Notes that Redis is about to be asked for this lease, which it may give and not say; of the owner's thread. */
    public void asks(long millis) {
        askedMillis = Math.max(askedMillis, Math.toIntExact(millis));
        outlasting = true;
    }

    /**
     * Notes that Redis has answered what it was asked for: it may have given no more than the deadline says, unless an
     * earlier question went unanswered, whose lease no later answer takes back.
     *
     * @param before what {@link #mayOutlast} said before the question
     */
    public void isTold(boolean before) {
        outlasting = before;
    }

    /** Whether Redis may have given a lease that lasts longer than the deadline says, or may still do so. */
    public boolean mayOutlast() {
        return outlasting || renewedLate;
    }

    /** The longest lease that Redis may have given, whether it said so or not. */
    public long longestLeaseMillis() {
        return Math.max(leaseMillis, askedMillis);
    }

    /** From now on the watchdog asks for this lease, unless it asks for a longer one; of the owner's thread. */
    public void renewedFor(long wantedMillis) {
        int wanted = Math.toIntExact(leaseAt(acquiredNanos, wantedMillis));
        leaseMillis = Math.max(leaseMillis, wanted);
        renewedMillis = Math.max(renewedMillis, wanted);
    }

    /** Whether the hold lasts as long as a re-entry wants without a request to Redis. */
    public boolean covers(long now, long wantedMillis, boolean renewed) {
        return renewed
                ? isRenewed() && isValid(now)
                : isValid(now) && (isLastLease() || state() >= now + Timing.validityNanos(wantedMillis));
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
