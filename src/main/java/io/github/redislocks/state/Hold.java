package io.github.redislocks.state;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An owner's possession of one lock in Redis. While it is held, its state is the validity deadline.
 *
 * <p>A hold is kept small, since a process may hold very many locks. Two holds are equal if they have the same thread
 * and lock, by which {@link Holds} finds them. A hold with a {@code maxHold} is a {@link LimitedHold}.
 */
public class Hold extends Leased implements Footprint.Possession {

    private final String lock;
    public final long attempt;
    /** When the client got the lock, before all hand-offs among its own threads. */
    public final long turnStartNanos;
    /** An earlier hold of the same thread and lock that was lost and that outer code still has to unlock; or null. */
    public final @Nullable Hold below;
    /** Whether a request of the attempt may still run, so that the release names no successor. */
    public final boolean inDoubt;
    /** The successor that the release names, set before the release is sent; or null. */
    private @Nullable Attempt successor;

    /**
     * The hold count from which on the watchdog renews the hold: the count of the outermost acquisition whose lease is
     * renewed. If the count falls below it, the renewal ends. 0: the hold is not renewed.
     */
    private volatile int renewedFrom;
    /** The longest lease of all acquisitions that are renewed. */
    private volatile int renewedMillis;
    /** When the watchdog has to renew or confirm the hold; {@link Long#MAX_VALUE} for never. */
    private volatile long nextRenewalNanos;
    /** When the watchdog first saw that the hold is lost; 0 before that. Used by the watchdog only. */
    private long lossSeenNanos;

    private int fenceRefreshedSeconds;
    /** The failover epoch of the last reply about this hold. Used by the renewing thread only. */
    private int failoverEpoch;
    /** Whether a renewal is under way now. */
    private volatile boolean renewing;
    /** Whether a message has said since the last renewal began that the hold was forced open. */
    private volatile boolean doubted;

    /** Whether an error has stopped the owner's thread, so that the watchdog has to release the lock. */
    public volatile boolean stranded;

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
        if (attempt.isFromCondition()) {
            announced();
        }
        begin(grant.deadlineNanos());
    }

    private static int seconds(long nanos) {
        return (int) TimeUnit.NANOSECONDS.toSeconds(nanos);
    }

    /** The request by which the owner gets the hold back after a wait in a Condition. */
    public Attempt.Request request() {
        return new Attempt.Request(leaseMillis(), isRenewed(), true, maxHoldMillis());
    }

    @Override
    public String lock() {
        return lock;
    }

    /** The owner as a {@link Keeper}; {@link Keeper#NONE} if the owner has the hold for itself. */
    public Keeper keeper() {
        return owner instanceof Keeper keeper ? keeper : Keeper.NONE;
    }

    /** The possession by which a thread or a handle has the lock under this hold; null if none has the lock now. */
    public @Nullable Held use() {
        return keeper().use(this);
    }

    /** The last token that was given out under the hold; 0 if that is the hold's own token. */
    public long lastToken() {
        long last = owner.lastToken();
        return last > token ? last : 0;
    }

    /** The thread that has the hold; null if a handle has it. */
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

    /** The end of the lease that the owner wants. Until the grant is confirmed, Redis has given only a claim. */
    public long wantedUntilNanos() {
        return acquiredNanos + leaseMillis() * 1_000_000;
    }

    /** Notes that the watchdog has seen that the hold is lost. Only the first call has an effect. */
    public void lossSeen(long now) {
        if (lossSeenNanos == 0) {
            lossSeenNanos = now;
        }
    }

    public long lossSeenNanos() {
        return lossSeenNanos;
    }

    /** How many seconds ago the fence key, which remembers the token, was last refreshed. Used by the watchdog only. */
    public int secondsSinceFenceRefresh(long now) {
        return seconds(now) - fenceRefreshedSeconds;
    }

    /** The fence key gets its full lifetime again now. Called by the watchdog only. */
    public void fenceRefreshed(long now) {
        fenceRefreshedSeconds = seconds(now);
    }

    @Nullable
    public Attempt successor() {
        return successor;
    }

    /** Sets the successor that the release names, before the release is sent; null for none. */
    public void names(@Nullable Attempt next) {
        successor = next;
    }

    public long nextRenewalNanos() {
        return nextRenewalNanos;
    }

    public void renewAt(long nanos) {
        nextRenewalNanos = nanos;
    }

    public int failoverEpoch() {
        return failoverEpoch;
    }

    /** Notes that the server of an epoch has answered about this hold. Called by the renewing thread only. */
    public void answeredIn(int epoch) {
        failoverEpoch = epoch;
    }

    public boolean isRenewing() {
        return renewing;
    }

    public boolean isDoubted() {
        return doubted;
    }

    /** Notes a message that says that the hold was forced open. */
    public void doubted() {
        doubted = true;
    }

    /** Notes that a renewal begins; returns false if the hold has ended, so that the renewal must not be sent. */
    public boolean beginRenewal() {
        doubted = false;
        renewing = ask(Asker.WATCHDOG, owner.leaseMillis(renewedMillis));
        return renewing;
    }

    public void endRenewal() {
        renewing = false;
    }

    @Override
    public boolean isValid(long now) {
        return super.isValid(now) && !stranded;
    }

    @Override
    public boolean isAnnounced() {
        // If an error stranded the hold, no caller acquired it, and its acquisition is never published.
        return super.isAnnounced() || stranded;
    }

    /** How long the hold may last; 0 for no limit. */
    public long maxHoldMillis() {
        return 0;
    }

    /**
     * Notes that the owner waits for other locks and does not work under this one yet, so that the time of
     * {@code maxHold} does not begin. Called by the owner's thread.
     */
    public void waitsForOthers() {}

    /** Notes that the owner has the other locks too: the time of {@code maxHold} begins now. */
    public void hasOthers(long nanos) {}

    /** Until when the hold may last; {@link Long#MAX_VALUE} for no limit. */
    public long endNanos() {
        return Long.MAX_VALUE;
    }

    /** When to warn of the end by {@code maxHold}; {@link Long#MAX_VALUE} for never, or once that was done. */
    public long warningNanos() {
        return Long.MAX_VALUE;
    }

    /** Notes that the warning was given. Called by the watchdog only. */
    public void warned() {}

    /** Sets how long after the beginning of a handle's hold its release keeps the lock taken; 0 to free the lock. */
    public void keepFor(long millis) {
        if (owner instanceof HandleOwner handle) {
            handle.keeps(millis);
        }
    }

    /** Whether the release keeps the lock taken. */
    public boolean isToKeep() {
        return owner.keepsMillis() > 0;
    }

    @Override
    public boolean isRenewed() {
        return renewedFrom > 0;
    }

    /** Sets the time of the next renewal if the hold is renewed; otherwise sets no time. */
    public void renewNext(long nanos) {
        nextRenewalNanos = Long.MAX_VALUE;
        // Check `isRenewed` only after the line above. A re-entry that starts the renewal sets renewedFrom first and
        // the time second, so MAX_VALUE either comes before that time or is replaced here.
        if (isRenewed()) {
            nextRenewalNanos = nanos;
        }
    }

    /** Takes over the count and the renewals of the hold that was given up for a wait in a Condition. */
    public void resume(Hold before, int times) {
        resume(times);
        renewedMillis = before.renewedMillis;
        renewedFrom = before.renewedFrom;
    }

    /** Counts a re-entry. The first re-entry whose lease is renewed starts the renewal. */
    public void reentered(long wantedMillis, boolean renewed, long renewalNanos) {
        reentered();
        int got = got(wantedMillis);
        if (renewed) {
            renewedMillis = Math.max(renewedMillis, got);
            if (renewedFrom == 0) {
                renewedFrom = count();
                // Keep an earlier time, which was set for another request. If the answer to that request arrives while
                // this statement runs, the watchdog sends one needless request.
                nextRenewalNanos = Math.min(nextRenewalNanos, renewalNanos);
            }
        }
    }

    /** From now on the watchdog asks for this lease or a longer one. Called by the owner's thread. */
    public void renewedFor(long wantedMillis) {
        renewedMillis = Math.max(renewedMillis, got(wantedMillis));
    }

    /** Whether the hold lasts as long as a re-entry wants, so that the re-entry needs no request. */
    public boolean covers(long now, long wantedMillis, boolean renewed) {
        return renewed ? isRenewed() && isValid(now) : lasts(now, wantedMillis);
    }

    /**
     * Ends the renewal if the innermost acquisition asked for it. The hold then ends with its lease.
     *
     * @param extended whether Redis has just extended that lease, so that no more requests are needed; if false, the
     *     next planned request, such as the confirmation of a grant, is still sent
     */
    public void fixed(boolean extended) {
        if (renewedFrom == count()) {
            renewedFrom = 0;
            if (extended) {
                nextRenewalNanos = Long.MAX_VALUE;
            }
        }
    }

    /** The renewal ends with the acquisition that asked for it; the deadline then stays as it is. */
    @Override
    public void exited() {
        super.exited();
        if (count() < renewedFrom) {
            renewedFrom = 0;
            nextRenewalNanos = Long.MAX_VALUE;
        }
    }
}
