package io.github.redislocks;

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
 *   releasing its thread sends the release, or whoever goes on with it
 *   lost      for one of the reasons, and whether that has been told: not yet, being told, told
 * </pre>
 *
 * <p>Small, since a process may hold very many locks. Two holds are equal if they are of the same thread and lock, by
 * which {@link Holds} finds them.
 */
final class Hold extends Holds.Key {

    private static final long RELEASING = -1;
    /** Lost for the first of the reasons, and not told; those for the others follow, downwards, in their order. */
    private static final long LOST = -10;
    /** Of a hold whose release goes on, and with it the turn at the gate. */
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
    final LocalOwner owner;
    final long attempt;
    final long token;
    final boolean previousLost;
    /** Since when the client has had the lock, its local successions included. */
    final long turnStartNanos;
    /** The lost hold of the same thread that its outer code still has to unlock, or null. */
    final @Nullable Hold below;
    /** Whether a request of its attempt may still run: see {@link Succession}. */
    final boolean inDoubt;
    /** Whom its release names, from before that is sent; or null. */
    @Nullable
    Attempt heir;

    private volatile long state;

    /** How often it is held; of the owner's thread. */
    int count = 1;
    /**
     * The count from which on the watchdog renews: of the outermost acquisition without a lease. 0 if there is none.
     */
    private volatile int renewedFrom;
    /** Until when an acquisition with a lease wanted it, if only a claim was given for it so far. */
    final long wantedUntilNanos;
    /** Of at most 24 h, so that it fits. */
    private int leaseMillis;
    /**
     * When the watchdog has to renew or confirm it, or {@link Long#MAX_VALUE}; once it has seen that the hold is lost,
     * minus the time of that.
     */
    volatile long nextRenewalNanos;
    /** Whether a renewal that should have been answered was not, since the last that was. */
    volatile boolean unanswered;

    private int fenceRefreshedSeconds;
    /** How often Redis had become another server when this one last answered for it; of whoever has it renewed. */
    int moves;
    /** Whether a renewal is under way. */
    volatile boolean renewing;
    /**
     * Whether its thread has met an error when it released it, and the watchdog has to go on with that. Set by the
     * thread, without a call for which there may be no room on the stack.
     */
    volatile boolean stranded;

    Hold(Attempt attempt, Attempt.Grant grant, long now, long nextRenewalNanos, @Nullable Hold below) {
        this.lock = attempt.keys.lock();
        this.owner = attempt.owner;
        this.attempt = attempt.number;
        this.token = grant.token();
        this.previousLost = grant.previousLost();
        this.turnStartNanos = grant.turnStartNanos();
        this.below = below;
        this.inDoubt = attempt.isInDoubt();
        this.renewedFrom = attempt.renewed ? 1 : 0;
        this.nextRenewalNanos = nextRenewalNanos;
        this.leaseMillis = Math.toIntExact(attempt.leaseMillis);
        this.wantedUntilNanos = now + attempt.leaseMillis * 1_000_000;
        this.fenceRefreshedSeconds = seconds(now);
        this.moves = attempt.moves;
        this.state = grant.deadlineNanos();
    }

    private static int seconds(long nanos) {
        return (int) TimeUnit.NANOSECONDS.toSeconds(nanos);
    }

    @Override
    String lock() {
        return lock;
    }

    @Override
    Thread thread() {
        return owner.thread;
    }

    Keys keys() {
        return new Keys(lock);
    }

    /** The longest lease that was asked for; of the owner's thread. */
    long leaseMillis() {
        return leaseMillis;
    }

    /** How long ago the memory of its token was last kept alive, to a second; of the watchdog. */
    int secondsSinceFenceRefresh(long now) {
        return seconds(now) - fenceRefreshedSeconds;
    }

    /** Notes that the memory of its token is kept alive now; of the watchdog. */
    void fenceRefreshed(long now) {
        fenceRefreshedSeconds = seconds(now);
    }

    /** Whether it is held and its validity deadline lies ahead. */
    boolean isValid(long now) {
        return state > now && !stranded;
    }

    /** Whether it is held as far as anybody has said, though its deadline may have passed. */
    boolean isOpen() {
        return state > 0;
    }

    /** Whether it ended without a release. */
    boolean isLost() {
        return state <= LOST;
    }

    boolean isReleasing() {
        return state == RELEASING;
    }

    /** The validity deadline; 0 or less if it has ended. */
    long deadlineNanos() {
        return state;
    }

    /** Moves the deadline on; false if the old one has passed or the hold has ended. Never moves it back. */
    boolean extend(long now, long deadlineNanos) {
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
    boolean lose(LockLost.Reason reason) {
        return end(Long.MAX_VALUE, LOST - reason.number);
    }

    /** Ends it as lost if its deadline has passed; true for the one caller that did it. */
    boolean loseIfPast(long now) {
        return end(now, LOST - (unanswered ? LockLost.Reason.UNCONFIRMED : LockLost.Reason.EXPIRED).number);
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
    long beginRelease(long now) {
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
    void notReleased(long deadlineNanos) {
        STATE.compareAndSet(this, RELEASING, deadlineNanos);
    }

    /** Ends a release that found nothing to release. */
    boolean releaseFailed() {
        return STATE.compareAndSet(this, RELEASING, LOST - LockLost.Reason.TAKEN.number);
    }

    /** Ends it as lost though its release goes on. */
    boolean releasedTooLate() {
        return STATE.compareAndSet(this, RELEASING, LOST - UNCONFIRMED_IN_RELEASE);
    }

    /** How it was lost, or null if it was not. */
    LockLost.@Nullable Reason lossReason() {
        long now = state;
        if (now > LOST) {
            return null;
        }
        long number = (LOST - now) % -TELLING;
        for (LockLost.Reason reason : REASONS) {
            if (reason.number == number) {
                return reason;
            }
        }
        return LockLost.Reason.UNCONFIRMED;
    }

    /** Whether its turn at the gate is that of its release, which goes on though it was lost. */
    boolean isReleasedTooLate() {
        long now = state;
        return now <= LOST && (LOST - now) % -TELLING == UNCONFIRMED_IN_RELEASE;
    }

    /** Begins to tell of its loss; true for the one caller that is to do it. */
    boolean beginTelling() {
        long now = state;
        return now <= LOST && now > LOST + TELLING && STATE.compareAndSet(this, now, now + TELLING);
    }

    /** Ends the telling of its loss: done, or to be done by another. */
    void endTelling(boolean done) {
        state = done ? state - TELLING + TOLD : state - TELLING;
    }

    LockLost loss(LockLost.Reason reason) {
        return new LockLost(keys().name(), token, thread().getName(), reason);
    }

    /** Whether the watchdog renews it, rather than let a lease end that was named. */
    boolean isRenewed() {
        return renewedFrom > 0;
    }

    /** Notes when to renew it next, if it is to be renewed. */
    void renewNext(long nanos) {
        nextRenewalNanos = Long.MAX_VALUE;
        // Last: a re-entry that begins the renewal says so first, and names a time of its own then.
        if (isRenewed()) {
            nextRenewalNanos = nanos;
        }
    }

    /** Takes over what a hold had that was given up in a Condition: its count, and from which on it is renewed. */
    void resume(Hold before) {
        count = before.count;
        renewedFrom = before.renewedFrom;
    }

    /** Counts a re-entry; the first that names no lease begins the renewal. */
    void reentered(long wantedMillis, boolean renewed, long renewalNanos) {
        count++;
        leaseMillis = Math.max(leaseMillis, Math.toIntExact(wantedMillis));
        if (renewed && renewedFrom == 0) {
            renewedFrom = count;
            nextRenewalNanos = renewalNanos;
        }
    }

    /** Whether it lasts as long as a caller wants who locks it again, if nothing is sent for it. */
    boolean covers(long now, long wantedMillis, boolean renewed) {
        return renewed
                ? isRenewed() && isValid(now)
                : isValid(now) && state >= now + LockOptions.validityNanos(wantedMillis);
    }

    /** Counts an inner unlock; renewal ends with the acquisition that asked for it, the deadline then stands. */
    void exited() {
        count--;
        if (count < renewedFrom) {
            renewedFrom = 0;
            nextRenewalNanos = Long.MAX_VALUE;
        }
    }
}
