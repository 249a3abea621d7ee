package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One owner's possession of one lock, all its re-entries together. Its state is one number, changed by compare-and-set
 * only, so that of all that may happen to a hold at once (a renewal, a loss, a release) exactly one comes first, and a
 * hold that was once seen as ended never comes back:
 *
 * <pre>
 *   held      the validity deadline
 *   releasing its thread sends the release, or the watchdog does in its place
 *   lost      for one of the reasons, and whether that has been told: not yet, being told, told
 * </pre>
 *
 * <p>Small, since a process may hold very many locks. Two holds are equal if they are of the same thread and lock, by
 * which {@link Holds} finds them.
 */
public final class Hold extends HoldKey implements LossSubject, Attempt.Possession {

    private static final long RELEASING = -1;
    /** Lost for the first of the reasons, and not told; those for the others follow, downwards, in their order. */
    private static final long LOST = -10;
    /** Of a hold whose release goes on, and with it the turn in the local queue. */
    private static final long UNCONFIRMED_IN_RELEASE = 9;
    /**
     * How far the states of a loss that is being told are below those of one that is not, and those of one that was.
     */
    private static final long TELLING = -10;

    private static final long TOLD = -20;
    private static final LockLost.Reason[] REASONS = LockLost.Reason.values();
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Hold.class, "state", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final String lock;
    public final Owner owner;
    public final long attempt;
    public final long token;
    public final boolean previousLost;
    /** When its thread got it. */
    public final long acquiredNanos;
    /** Since when the client has had the lock, its local successions included. */
    public final long turnStartNanos;
    /** The lost hold of the same thread that its outer code still has to unlock, or null. */
    public final @Nullable Hold below;
    /** Whether a request of its attempt may still run: see the package waiting. */
    public final boolean inDoubt;
    /** The successor that its release names, from before the release is sent; or null. */
    private @Nullable Attempt successor;

    private volatile long state;

    /** How often it is held; of the owner's thread. */
    private int count = 1;
    /**
     * The count from which on the watchdog renews: of the outermost acquisition without a lease. 0 if there is none.
     */
    private volatile int renewedFrom;
    /** The lease that its acquisition asked for. */
    private final int wantedMillis;
    /** Of at most 24 h, so that it fits. */
    private int leaseMillis;
    /** The longest lease of an acquisition that is renewed. */
    private volatile int renewedMillis;
    /** When the watchdog has to renew or confirm it, or {@link Long#MAX_VALUE}. */
    private volatile long nextRenewalNanos;
    /** When the watchdog first saw that it is lost; 0 before that. Of the watchdog. */
    private long lossSeenNanos;
    /** Whether a renewal that should have been answered was not, since the last that was. */
    private volatile boolean unanswered;

    private int fenceRefreshedSeconds;
    /** The failover epoch of the last answer for this hold; of the thread that has it renewed. */
    private int failoverEpoch;
    /** Whether a renewal is under way. */
    private volatile boolean renewing;
    /**
     * Whether its thread has met an error when it released it, and the watchdog has to go on with that. Set by the
     * thread, without a call for which there may be no room on the stack.
     */
    public volatile boolean stranded;
    /** Whether the listener has been told of its loss; of the thread that tells. */
    private volatile boolean told;

    public Hold(Attempt attempt, Attempt.Grant grant, long now, long nextRenewalNanos, @Nullable Hold below) {
        this.lock = attempt.keys.lock();
        this.owner = attempt.owner;
        this.attempt = attempt.number;
        this.token = grant.token();
        this.previousLost = grant.previousLost();
        this.acquiredNanos = now;
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
        this.state = grant.deadlineNanos();
    }

    private static int seconds(long nanos) {
        return (int) TimeUnit.NANOSECONDS.toSeconds(nanos);
    }

    @Override
    public String lock() {
        return lock;
    }

    @Override
    public Object holder() {
        return owner.holder;
    }

    /** The thread that has it; null if a handle has it. */
    @Nullable
    public Thread thread() {
        return owner.thread();
    }

    public LockKeys keys() {
        return new LockKeys(lock);
    }

    /** How often it is held; of a lost one: how often its thread has still to unlock it. Of the owner's thread. */
    public int count() {
        return count;
    }

    /** The longest lease that was asked for; of the owner's thread. */
    public long leaseMillis() {
        return leaseMillis;
    }

    /** The lease that the watchdog asks for; 0 if nothing has been renewed. */
    public long renewedMillis() {
        return renewedMillis;
    }

    /** How often the watchdog renews it. */
    public long renewalNanos() {
        return Timing.renewalNanos(renewedMillis);
    }

    /** Until when its acquisition wanted it, which is not granted yet if only a claim was. */
    public long wantedUntilNanos() {
        return acquiredNanos + wantedMillis * 1_000_000L;
    }

    /** Notes that the watchdog sees that it is lost; the first time counts. */
    public void lossSeen(long now) {
        if (lossSeenNanos == 0) {
            lossSeenNanos = now;
        }
    }

    /** When the watchdog first saw that it is lost; 0 if it has not. */
    public long lossSeenNanos() {
        return lossSeenNanos;
    }

    /** How long ago the memory of its token was last kept alive, to a second; of the watchdog. */
    public int secondsSinceFenceRefresh(long now) {
        return seconds(now) - fenceRefreshedSeconds;
    }

    /** Notes that the memory of its token is kept alive now; of the watchdog. */
    public void fenceRefreshed(long now) {
        fenceRefreshedSeconds = seconds(now);
    }

    /** The successor that its release names; null if it names none. */
    @Nullable
    public Attempt successor() {
        return successor;
    }

    /** Its release, not sent yet, names a successor, or none if null. */
    public void names(@Nullable Attempt next) {
        successor = next;
    }

    /** When the watchdog has to renew or confirm it, or {@link Long#MAX_VALUE}. */
    public long nextRenewalNanos() {
        return nextRenewalNanos;
    }

    /** Brings the next renewal or confirmation forward, or puts it off. */
    public void renewAt(long nanos) {
        nextRenewalNanos = nanos;
    }

    /** The failover epoch of the last answer for this hold; of the thread that has it renewed. */
    public int failoverEpoch() {
        return failoverEpoch;
    }

    /** The server of an epoch has answered for this hold; of the thread that has it renewed. */
    public void answeredIn(int epoch) {
        failoverEpoch = epoch;
    }

    /** Whether a renewal is under way. */
    public boolean isRenewing() {
        return renewing;
    }

    /** A renewal is under way, or no longer. */
    public void renewing(boolean underWay) {
        renewing = underWay;
    }

    /** Whether a request that should have confirmed it has brought no answer, since the last that did. */
    public void unanswered(boolean now) {
        unanswered = now;
    }

    /** Whether it is held and its validity deadline lies ahead. */
    public boolean isValid(long now) {
        return state > now && !stranded;
    }

    /** Whether it is held as far as anybody has said, though its deadline may have passed. */
    public boolean isOpen() {
        return state > 0;
    }

    /** Whether it ended without a release. */
    @Override
    public boolean isLost() {
        return state <= LOST;
    }

    public boolean isReleasing() {
        return state == RELEASING;
    }

    /** The validity deadline; 0 or less if it has ended. */
    public long deadlineNanos() {
        return state;
    }

    /** Moves the deadline on; false if the old one has passed or the hold has ended. Never moves it back. */
    public boolean extend(long now, long deadlineNanos) {
        while (true) {
            long old = state;
            if (old <= now) {
                return false;
            }
            if (old >= deadlineNanos || STATE.compareAndSet(this, old, deadlineNanos)) {
                return true;
            }
        }
    }

    /** Ends it as lost; true for the one caller that did it. */
    public boolean lose(LockLost.Reason reason) {
        return end(Long.MAX_VALUE, lost(reason));
    }

    /** Ends it as lost if its deadline has passed; true for the one caller that did it. */
    public boolean loseIfPast(long now) {
        return end(now, lost(unanswered ? LockLost.Reason.UNCONFIRMED : LockLost.Reason.EXPIRED));
    }

    private boolean end(long ifAtMost, long ended) {
        while (true) {
            long old = state;
            if (old <= 0 || old > ifAtMost) {
                return false;
            }
            if (STATE.compareAndSet(this, old, ended)) {
                return true;
            }
        }
    }

    /**
     * Begins the release, which is how it ends unless that fails; returns the deadline until which it was valid, or 0
     * if it has ended or its deadline passed.
     */
    public long beginRelease(long now) {
        while (true) {
            long old = state;
            if (old <= now) {
                return 0;
            }
            if (STATE.compareAndSet(this, old, RELEASING)) {
                return old;
            }
        }
    }

    /** Takes a release back that Redis refused before it changed anything. */
    public void notReleased(long deadlineNanos) {
        STATE.compareAndSet(this, RELEASING, deadlineNanos);
    }

    /** Ends a release that found nothing to release. */
    public boolean releaseFailed() {
        return STATE.compareAndSet(this, RELEASING, lost(LockLost.Reason.TAKEN));
    }

    /** Ends it as lost though its release goes on. */
    public boolean releasedTooLate() {
        return STATE.compareAndSet(this, RELEASING, LOST - UNCONFIRMED_IN_RELEASE);
    }

    /** The state of one that was lost for a reason, which nobody has been told. */
    private static long lost(LockLost.Reason reason) {
        int number = 0;
        while (REASONS[number] != reason) {
            number++;
        }
        return LOST - number;
    }

    /** How it was lost, or null if it was not. */
    public LockLost.@Nullable Reason lossReason() {
        long now = state;
        if (now > LOST) {
            return null;
        }
        long number = (LOST - now) % -TELLING;
        return number < REASONS.length ? REASONS[(int) number] : LockLost.Reason.UNCONFIRMED;
    }

    /** Whether its turn in the local queue is that of its release, which goes on though it was lost. */
    public boolean isReleasedTooLate() {
        long now = state;
        return now <= LOST && (LOST - now) % -TELLING == UNCONFIRMED_IN_RELEASE;
    }

    /** Begins to tell of its loss; true for the one caller that is to do it. */
    public boolean beginTelling() {
        long now = state;
        return now <= LOST && now > LOST + TELLING && STATE.compareAndSet(this, now, now + TELLING);
    }

    /** Ends the telling of its loss: done, or to be done by another. */
    public void endTelling(boolean done) {
        state = done ? state - TELLING + TOLD : state - TELLING;
    }

    @Override
    public boolean isToldFirst() {
        boolean first = !told;
        told = true;
        return first;
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

    public LockLost loss(LockLost.Reason reason) {
        return LockLost.of(keys().name(), token, owner.description(), reason);
    }

    /** Whether the watchdog renews it, rather than let a lease end that was named. */
    public boolean isRenewed() {
        return renewedFrom > 0;
    }

    /** Notes when to renew it next, if it is to be renewed. */
    public void renewNext(long nanos) {
        nextRenewalNanos = Long.MAX_VALUE;
        // Last: a re-entry that begins the renewal says so first, and names a time of its own then.
        if (isRenewed()) {
            nextRenewalNanos = nanos;
        }
    }

    /** Takes over what a hold had that was given up in a Condition: its count, and from which on it is renewed. */
    public void resume(Hold before) {
        count = before.count;
        renewedMillis = before.renewedMillis;
        renewedFrom = before.renewedFrom;
    }

    /** Counts a re-entry; the first that names no lease begins the renewal. */
    public void reentered(long wantedMillis, boolean renewed, long renewalNanos) {
        count++;
        leaseMillis = Math.max(leaseMillis, Math.toIntExact(wantedMillis));
        if (renewed) {
            renewedMillis = Math.max(renewedMillis, Math.toIntExact(wantedMillis));
            if (renewedFrom == 0) {
                renewedFrom = count;
                nextRenewalNanos = renewalNanos;
            }
        }
    }

    /** Whether the hold lasts as long as a re-entry wants, if no request is sent for it. */
    public boolean covers(long now, long wantedMillis, boolean renewed) {
        return renewed
                ? isRenewed() && isValid(now)
                : isValid(now) && state >= now + Timing.validityNanos(wantedMillis);
    }

    /** Its thread has unlocked it once, though it is lost; true if it has nothing more to unlock. */
    public boolean unlockedAfterLoss() {
        count--;
        return count == 0;
    }

    /** Its thread has also to unlock another that it lost: one record is enough for both. */
    public void standsFor(Hold lost) {
        count += lost.count;
    }

    /** Counts an inner unlock; renewal ends with the acquisition that asked for it, the deadline then stands. */
    public void exited() {
        count--;
        if (count < renewedFrom) {
            renewedFrom = 0;
            nextRenewalNanos = Long.MAX_VALUE;
        }
    }
}
