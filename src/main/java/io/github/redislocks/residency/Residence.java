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
 * A client as the owner of one lock in Redis. The threads of the client pass the lock on among themselves without a
 * request.
 *
 * <p>In Redis the lock has one hold, the <i>lease</i>, whose owner is this residence. In the client, the threads queue
 * for the <i>turn</i>. Only the thread that has the turn may acquire the lease, release it, or have a
 * {@link ThreadHold} under it; so no lease is released while another thread relies on it. A thread that declares the
 * loss of the lease also ends the thread hold under it, and then the turn.
 *
 * <pre>
 *   turn free, no lease        the client does not have the lock
 *   turn free, lease           kept: no thread has the lock, and the next one needs no request
 *   turn taken, no holder      a thread acquires, checks or releases the lease; or the lease is released in the
 *                              background, and the turn ends with that
 *   turn taken, holder         a thread has the lock
 * </pre>
 */
public final class Residence extends Owner implements Keeper, ThreadHold.Host {

    /** Begins the part of a residence's id after the client's id. The scripts recognize residences by it. */
    static final String KIND = "r";

    // lazySet is enough in passOn(): the volatile write in the following turn.end() publishes the change.
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
    /** The lease that is being released in the background, or null. The end of the release ends the turn. */
    private final AtomicReference<@Nullable Hold> releasing = new AtomicReference<>();
    /** The usage of the latest lease; null before the first lease. Written by the thread that has the turn. */
    private volatile @Nullable Usage usage;

    private volatile @Nullable ThreadHold holding;
    /** Tasks that answer the tries of other clients. They run once it is clear whether a thread has the lock. */
    private final Queue<Runnable> tries = new ConcurrentLinkedQueue<>();
    /** The thread that is acquiring the lease, or null. */
    private volatile @Nullable Thread waiter;
    /** Whether another client may have waited in Redis when the lease was acquired. Guarded by the turn. */
    private volatile boolean foundOthers;
    /** The number of the latest attempt whose lease another client has recalled. */
    private final AtomicLong recalled = new AtomicLong();
    /** When the lease of the attempt {@link #recalled} was first recalled. */
    private volatile long recalledNanos;

    private volatile long keepNanos;
    /** When the watchdog last made the client ask Redis about the lease. Used by the watchdog only. */
    private long lookedNanos;

    /**
     * Makes a residence without a lease.
     *
     * @param id the owner's id in Redis: the id of the client, a colon, {@link #KIND} and a number
     * @param losses the losses of thread holds
     * @param holds the client's holds in Redis
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

    /** When the watchdog last made the client ask Redis about the lease. Used by the watchdog only. */
    long lookedNanos() {
        return lookedNanos;
    }

    /** Notes that the watchdog makes the client ask Redis about the lease. Called by the watchdog only. */
    void looked(long now) {
        lookedNanos = now;
    }

    /** The findings of a try without a wait. */
    public enum Found {
        /** The turn was free. The calling thread has it now. */
        TURN,
        /** A thread has the lock. */
        HOLDER,
        /**
         * Another thread has the turn but not the lock: it is acquiring or releasing the lease. Only Redis knows who
         * has the lock.
         */
        UNKNOWN
    }

    /**
     * Takes the turn before threads that wait for it, or says why the turn is not free. If the thread that has the turn
     * is about to get the lock or to release the lease, waits for that, for {@code mostNanos} at most.
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
            // The thread that has the turn is about to get the lock, or to release the lease: wait for that.
            if (i % SPINS == 0) {
                LockSupport.parkNanos(this, YIELD_NANOS);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** The client's hold in Redis, valid or not, until its end is known; null if there is none. */
    public @Nullable Hold lease() {
        return lease.get();
    }

    /** Notes that the calling thread, which has the turn, has acquired the lease. */
    public void begin(Hold acquired) {
        // Set the lease first, so that an error in the following lines does not lose it.
        lease.set(acquired);
        // Report the loss of the previous lease, if the thread that declared it has not done so. Report before `usage`
        // is replaced: after an error, the next lease repeats the report.
        losses.tellUnlocked(usage);
        usage = new Usage(acquired);
        turn.beginSlice(clock.nanoTime());
    }

    /** Notes that a lease has ended. Any thread may call this, any number of times. */
    public void ended(Hold from) {
        lease.compareAndSet(from, null);
    }

    /** Notes that a lease is being released in the background. The end of the release will end the turn. */
    void releases(Hold from) {
        releasing.set(from);
    }

    /** Ends the turn after a release in the background. Only the first call does so, and returns true. */
    boolean released(Hold from) {
        boolean first = releasing.compareAndSet(from, null);
        if (first) {
            turn.end();
        }
        return first;
    }

    /** Notes that another client tries to get the lock. The task answers that client. */
    void ask(Runnable answer) {
        tries.add(answer);
    }

    /** Returns true if tries of other clients wait for an answer. */
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

    /** Whether another client may have waited in Redis when the lease was acquired. Call while having the turn. */
    boolean foundOthers() {
        return foundOthers;
    }

    /** Notes that another client wants the lock that this residence acquired, or is acquiring, by {@code attempt}. */
    public void recall(long attempt, long now) {
        long before = recalled.get();
        while (before < attempt) {
            // Write the time first, so that a thread that sees the recall also sees its time.
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

    /** Makes the event of a lease that is given up. Call while having the turn. */
    GivingUp givingUp(Hold from, LockGivenUp.Reason reason) {
        Usage use = usage(from);
        // A tryLock() of another client notes no recall: use the present time.
        long since = isRecalled(from) ? recalledNanos : clock.nanoTime();
        return new GivingUp(keys, reason, from.acquiredNanos, use == null ? 0 : use.acquisitions(), since);
    }

    /** When the last thread unlocked; before the first unlock, when the lease was acquired. */
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

    /** The hold of the thread that has the lock; null if no thread has the lock. */
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

    /** The usage of the given lease; null if that is not the latest lease. The calling thread has the turn. */
    @Nullable
    Usage usage(Hold from) {
        Usage use = usage;
        return use != null && use.isOf(from) ? use : null;
    }

    /**
     * Gives the lock to the calling thread, which has the turn; null if the lease has ended, or has no token until
     * Redis confirms it. Call {@link ThreadLosses#begun} next: a thread that declares the loss of the lease now may not
     * see this hold.
     */
    public @Nullable ThreadHold take(Hold from, Owner owner, long now) {
        Usage use = usage(from);
        long next = use == null ? 0 : use.nextToken(now);
        if (use == null || next == 0) {
            return null;
        }
        ThreadHold made = new ThreadHold(from, owner, next, use.lastToken() == 0 && from.previousLost, now);
        holding = made;
        // Check after setting `holding`: a thread that declared the loss of the lease before that saw no hold to end.
        if (!from.isOpen()) {
            holding = null;
            return null;
        }
        // Count the token after the check: no loss must be reported for a token that no thread got.
        use.gave(next);
        made.begin();
        return made;
    }

    /**
     * Ends a hold that its thread is releasing, and the thread's turn; or does nothing if the loss of the hold ended
     * both.
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

    /** Returns true while the hold is being released. */
    @SuppressWarnings("ReferenceEquality")
    boolean isEnding(ThreadHold hold) {
        return holding == hold && hold.isReleasing();
    }

    /** Ends a hold and its thread's turn. Any thread may call this; a repeated call does nothing. */
    public void end(ThreadHold hold) {
        if (HOLDING.compareAndSet(this, hold, null)) {
            turn.end();
        }
    }

    /** Records the loss of a hold, and ends the hold and its thread's turn. A repeated call does nothing. */
    @Override
    public void lost(ThreadHold hold) {
        losses.add(hold);
        Usage use = usage(hold.lease);
        if (use != null) {
            use.told();
        }
        end(hold);
    }

    /**
     * Handles the loss of the lease. Notifies the listeners if a thread has the lock, or may have had it when another
     * client ended the lease. A thread that is releasing its hold, or reporting its loss, ends the hold itself; until
     * then the lease stays among the client's holds.
     */
    @Override
    public FollowUp lost(Hold from, LockLost.Reason reason) {
        ThreadHold local = holding();
        try {
            // Call `ended` even if the hold was lost before: an error may have stopped an earlier call.
            if (local != null && local.isUnder(from) && (local.lose(reason) || local.isLost())) {
                losses.ended(local);
            }
        } finally {
            // End the local turn of the lease even after an error. If the next thread has removed the lease from the
            // residence already, the watchdog would not call this method again.
            losses.endTurn(from);
        }
        if (!forget(from)) {
            return FollowUp.LATER;
        }
        // If the next lease has begun meanwhile, usage() returns null, and begin() has notified the listeners.
        losses.tellUnlocked(usage(from));
        return FollowUp.DONE;
    }

    /**
     * Forgets a lease that was lost. Returns false, and leaves it among the client's holds, while a thread has a hold
     * under it.
     */
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

    /** Notes that the calling thread is acquiring the lease. */
    void waits() {
        waiter = Thread.currentThread();
    }

    /** Notes that no thread is acquiring the lease any more. */
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

    /**
     * Whether the thread that has the lock is alive; true if no thread has it, since the client keeps the lease then.
     */
    @Override
    @SuppressWarnings("ReferenceEquality")
    public boolean isAlive() {
        ThreadHold local = holding;
        // Read `holding` again: the thread may have unlocked before it ended, and another thread may have the lock now.
        return local == null || local.owner.isAlive() || holding != local;
    }

    @Override
    public String description() {
        ThreadHold local = holding;
        return local == null ? "no thread" : local.owner.description();
    }
}
