package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Keeper;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A client as the owner of one lock, which its threads pass on among themselves without a request.
 *
 * <p>In Redis the lock has one hold, the <i>lease</i>, whose owner is this residence. In the client, the threads queue
 * for the <i>turn</i>. Only the thread that has the turn may have a {@link ThreadHold}, acquire the lease, or release
 * it; so a lease is never released under a thread that relies on it. A lease may be lost at any time: the thread that
 * declares the loss also ends the hold under the lease, and then the turn.
 *
 * <pre>
 *   turn free, no lease        the client does not have the lock
 *   turn free, lease           kept: nobody has the lock, and the next thread needs no request
 *   turn taken, no holder      a thread acquires, checks or releases the lease; or the lease is released in the
 *                              background, and the turn ends with that
 *   turn taken, holder         a thread has the lock
 * </pre>
 */
public final class Residence extends Owner implements Keeper, ThreadHold.Host {

    /** The start of a residence's id, behind the client's id. The scripts know it. */
    static final String KIND = "r";

    // lazySet is enough where `turn.end()` follows: its volatile write publishes this one.
    private static final AtomicReferenceFieldUpdater<Residence, @Nullable ThreadHold> HOLDING =
            AtomicReferenceFieldUpdater.newUpdater(Residence.class, ThreadHold.class, "holding");

    private static final int SPINS = 100;
    private static final long YIELD_NANOS = 20_000;

    public final LockKeys keys;
    public final Turn turn;
    private final Clock clock;
    private final ThreadLosses losses;
    private final Holds holds;
    private final AtomicReference<@Nullable Hold> lease = new AtomicReference<>();
    /** The lease that is being released in the background, whose end also ends the turn; null if there is none. */
    private final AtomicReference<@Nullable Hold> releasing = new AtomicReference<>();
    /** The use of the last lease that has begun; written under the turn. Null before the first. */
    private volatile @Nullable Usage usage;

    private volatile @Nullable ThreadHold holding;
    /** The tries of other clients that are answered once it is clear whether a thread has the lock. */
    private final Queue<Runnable> tries = new ConcurrentLinkedQueue<>();
    /** The thread that acquires the lease; null if none does. */
    private volatile @Nullable Thread waiter;
    /** Whether another client may have waited in Redis when the lease was acquired. Written under the turn. */
    private volatile boolean foundOthers;
    /** The highest attempt whose lease another client has recalled. */
    private final AtomicLong recalled = new AtomicLong();
    /** When that attempt was first recalled. */
    private volatile long recalledNanos;

    private volatile long keepNanos;
    /** When the watchdog last had Redis asked for the lease. Used by the watchdog only. */
    private long lookedNanos;

    /**
     * Makes a residence without a lease.
     *
     * @param id the owner's id in Redis: the id of the client, a colon, {@link #KIND} and a number
     * @param losses of threads
     * @param holds of the client in Redis
     */
    public Residence(Clock clock, String id, LockKeys keys, ThreadLosses losses, Holds holds) {
        super(id, Residence.class);
        this.clock = clock;
        this.keys = keys;
        this.losses = losses;
        this.holds = holds;
        this.turn = new Turn(clock);
    }

    /** Sets for how long an unused lease is kept. */
    void keepFor(long nanos) {
        keepNanos = nanos;
    }

    /** For how long an unused lease is kept. */
    long keepNanos() {
        return keepNanos;
    }

    /** When the watchdog last had Redis asked for the lease. Used by the watchdog only. */
    long lookedNanos() {
        return lookedNanos;
    }

    /** Notes that the watchdog has Redis asked for the lease. Used by the watchdog only. */
    void looked(long now) {
        lookedNanos = now;
    }

    /** The result of a try, which does not wait. */
    public enum Found {
        /** The turn was free; the try has it now. */
        TURN,
        /** A thread has the lock. */
        HOLDER,
        /**
         * A thread has the turn, and asks Redis for the lock, or takes too long to release it. Only Redis can say who
         * has the lock.
         */
        UNKNOWN
    }

    /**
     * Takes the turn before threads that wait for it, or says why it is not free. Waits at most for the given time
     * until the thread that has the turn is the holder or has failed; after that time Redis has to say who holds the
     * lock.
     */
    public Found tryTurnOrSay(long mostNanos) {
        long began = clock.nanoTime();
        for (int i = 1; ; i++) {
            if (turn.tryTakeFirst()) {
                return Found.TURN;
            }
            if (holding() != null) {
                return Found.HOLDER;
            }
            if (lease() == null || (i % SPINS == 0 && clock.nanoTime() - began >= mostNanos)) {
                return Found.UNKNOWN;
            }
            // The thread with the turn is about to become the holder, or to release the lease: wait until it has.
            if (i % SPINS == 0) {
                LockSupport.parkNanos(this, YIELD_NANOS);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** The hold of the client in Redis, valid or not, until the end of its release is known; null if there is none. */
    public @Nullable Hold lease() {
        return lease.get();
    }

    /** Notes the lease that was acquired. Call under the turn. */
    public void begin(Hold acquired) {
        // Set the lease first, so that the residence has it after any error that follows.
        lease.set(acquired);
        // The thread that declared the loss of the lease before may find neither that lease nor its use any more.
        // Report
        // the loss before the use is replaced, so that an error leaves the report to the next lease.
        losses.tellUnlocked(usage);
        usage = new Usage(acquired);
        turn.beginSlice(clock.nanoTime());
    }

    /** Notes that a lease has ended. Any thread may call this, and repeat it. */
    public void ended(Hold from) {
        lease.compareAndSet(from, null);
    }

    /** Notes that a lease is being released in the background. Call under the turn, which ends with the release. */
    void releases(Hold from) {
        releasing.set(from);
    }

    /** Ends the turn of a release in the background, once; returns true if this call did. */
    boolean released(Hold from) {
        boolean first = releasing.compareAndSet(from, null);
        if (first) {
            turn.end();
        }
        return first;
    }

    /** Notes that another client tries the lock; the task answers it. */
    void ask(Runnable answer) {
        tries.add(answer);
    }

    /** Returns true if tries are to be answered. */
    boolean isAsked() {
        return !tries.isEmpty();
    }

    /** Takes the next task that answers a try; null if there is none. */
    @Nullable
    Runnable nextAsked() {
        return tries.poll();
    }

    @Override
    public void foundOthers(boolean found) {
        foundOthers = found;
    }

    /** Whether another client may have waited in Redis when the lease was acquired. Call under the turn. */
    boolean foundOthers() {
        return foundOthers;
    }

    /**
     * Notes that another client wants the lock that this residence acquired by {@code attempt}. The attempt may not
     * have led to a lease yet.
     */
    public void recall(long attempt, long now) {
        long before = recalled.get();
        while (before < attempt) {
            // Set the time before the recall, so that a thread that sees the recall also sees its time.
            recalledNanos = now;
            if (recalled.compareAndSet(before, attempt)) {
                return;
            }
            before = recalled.get();
        }
    }

    /** Whether another client has recalled this lease. */
    boolean isRecalled(Hold from) {
        return recalled.get() >= from.attempt;
    }

    /** Makes the event of a lease that is given up for {@code reason}. Call under the turn. */
    GivingUp givingUp(Hold from, LockGivenUp.Reason reason) {
        Usage use = usage(from);
        // If the tryLock() of another client is the reason, no time of a recall was noted: count from now.
        long since = isRecalled(from) ? recalledNanos : clock.nanoTime();
        return new GivingUp(keys, reason, from.acquiredNanos, use == null ? 0 : use.acquisitions(), since);
    }

    /** When the last thread unlocked, or the lease began. */
    long unlockedNanos(Hold from) {
        Usage use = usage;
        return use == null ? from.acquiredNanos : Math.max(use.unlockedNanos(), from.acquiredNanos);
    }

    @Override
    public long lastToken() {
        Usage use = usage;
        return use == null ? 0 : use.lastToken();
    }

    @Override
    public void confirmed(long sentNanos) {
        Usage use = usage;
        if (use != null) {
            use.confirmed(sentNanos);
        }
    }

    @Override
    public boolean givesWay() {
        return true;
    }

    @Override
    public void wanted(long attempt) {
        recall(attempt, clock.nanoTime());
    }

    /** The hold of the thread that has the lock; null if none has. */
    public @Nullable ThreadHold holding() {
        ThreadHold local = holding;
        return local == null || local.isBeginning() ? null : local;
    }

    /** The hold of {@code thread}; null if it does not have the lock. */
    @Nullable
    ThreadHold heldBy(Thread thread) {
        ThreadHold local = holding;
        return local != null && local.owner.holder == thread ? local : null;
    }

    @Override
    public @Nullable ThreadHold use(Hold hold) {
        return holding;
    }

    /** The use of a lease, under which the calling thread has the turn; null if that is not the last lease. */
    @Nullable
    Usage usage(Hold from) {
        Usage use = usage;
        return use != null && use.isOf(from) ? use : null;
    }

    /**
     * Makes the calling thread, which has the turn, the holder. Null if the lease has ended meanwhile, or if Redis has
     * to be asked before there is a token. A thread that declared the loss of the lease may not have seen the hold:
     * call {@link ThreadLosses#begun} next.
     */
    public @Nullable ThreadHold take(Hold from, Owner owner, long now) {
        Usage use = usage(from);
        long next = use == null ? 0 : use.nextToken(now);
        if (use == null || next == 0) {
            return null;
        }
        ThreadHold made = new ThreadHold(from, owner, next, use.lastToken() == 0 && from.previousLost, now);
        holding = made;
        // Check again: a thread that declared the loss before the line above saw no holder.
        if (!from.isOpen()) {
            holding = null;
            return null;
        }
        // Give the token after the check, so that no loss is reported for a token that no thread got.
        use.gave(next);
        made.begin();
        return made;
    }

    /**
     * Ends a hold whose release its thread has begun, and the turn. Does nothing if the hold was lost in the release:
     * the turn ended with the loss.
     */
    @SuppressWarnings("ReferenceEquality")
    public void passOn(ThreadHold hold, long now) {
        if (holding == hold) {
            Usage use = usage;
            if (use != null) {
                use.unlocked(now);
            }
            HOLDING.lazySet(this, null);
            turn.end();
        }
    }

    /** Returns true while a thread has begun the release of its hold and not ended it. */
    @SuppressWarnings("ReferenceEquality")
    boolean isEnding(ThreadHold hold) {
        return holding == hold && hold.isReleasing();
    }

    /** Ends the hold of a thread on its behalf, and the turn with it. A repeated call does nothing. */
    public void end(ThreadHold hold) {
        if (HOLDING.compareAndSet(this, hold, null)) {
            turn.end();
        }
    }

    /**
     * Ends a hold that was lost, and the turn with it, and adds the record of the loss, which stays until its thread's
     * unlock. A repeated call does nothing.
     */
    @Override
    @SuppressWarnings("ReferenceEquality")
    public void lost(ThreadHold hold) {
        if (holding == hold) {
            losses.add(hold);
            Usage use = usage(hold.lease);
            if (use != null) {
                use.told();
            }
            end(hold);
        }
    }

    /**
     * Handles the loss of the lease. The listeners are notified only if a thread has the lock, or if another client
     * ended the lease and a thread may have had the lock at that time. If a thread is releasing its hold, or reporting
     * its loss, that thread ends the hold; the lease stays known until then.
     */
    @Override
    public FollowUp lost(Hold from, LockLost.Reason reason) {
        ThreadHold local = holding();
        try {
            // Call `ended` even if the hold is lost already: an error may have stopped the earlier call.
            if (local != null && local.isUnder(from) && (local.lose(reason) || local.isLost())) {
                losses.ended(local);
            }
        } finally {
            // End the turn even after an error. The next thread, which waits for this turn, may have removed the lease
            // from the residence already; then the watchdog could not find the lease and end the turn.
            losses.endTurn(from);
        }
        if (!forget(from)) {
            return FollowUp.LATER;
        }
        // If the next lease has begun meanwhile, its beginning has notified the listeners.
        losses.tellUnlocked(usage(from));
        return FollowUp.DONE;
    }

    /** Forgets a lease that was lost; returns false while a thread's hold under the lease has not ended. */
    boolean forget(Hold from) {
        ended(from);
        ThreadHold local = holding;
        if (local != null && local.isUnder(from)) {
            return false;
        }
        holds.forget(from);
        return true;
    }

    @Override
    public void rescued(Hold from) {
        ended(from);
    }

    /** Notes that the calling thread acquires the lease. */
    void waits() {
        waiter = Thread.currentThread();
    }

    /** Notes that no thread acquires the lease any more. */
    void rests() {
        waiter = null;
    }

    @Override
    @Nullable
    public Thread thread() {
        Thread waiting = waiter;
        ThreadHold local = holding;
        return waiting != null || local == null ? waiting : local.owner.thread();
    }

    @Override
    public void wake() {
        Thread waiting = waiter;
        if (waiting != Thread.currentThread()) {
            LockSupport.unpark(waiting);
        }
    }

    /** Whether the thread that has the lock is alive; true if no thread has it, since a kept lock needs no thread. */
    @Override
    @SuppressWarnings("ReferenceEquality")
    public boolean isAlive() {
        ThreadHold local = holding;
        // Check again: the thread may have unlocked before it ended, and another may have the lock now.
        return local == null || local.owner.isAlive() || holding != local;
    }

    @Override
    public String description() {
        ThreadHold local = holding;
        return local == null ? "no thread" : local.owner.description();
    }
}
