package io.github.redislocks.residency;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Keeper;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
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
public final class Residence extends Owner implements Keeper, ThreadHold.Turn {

    /** The start of a residence's id, behind the client's id. The scripts know it. */
    static final String KIND = "r";

    /**
     * For how long after its beginning a lease gives tokens by the time alone, without a confirmation: as long as a
     * lease lasts that others wait for.
     */
    private static final long UNASKED_NANOS = Timing.SLICE_NANOS;

    // Fields that each turn writes once are written lazily: the volatile write that follows publishes them.
    private static final AtomicReferenceFieldUpdater<Residence, @Nullable ThreadHold> HOLDING =
            AtomicReferenceFieldUpdater.newUpdater(Residence.class, ThreadHold.class, "holding");

    private static final AtomicLongFieldUpdater<Residence> LAST_TOKEN =
            AtomicLongFieldUpdater.newUpdater(Residence.class, "lastToken");
    private static final AtomicLongFieldUpdater<Residence> IDLE_SINCE =
            AtomicLongFieldUpdater.newUpdater(Residence.class, "idleSinceNanos");

    private static final int SPINS = 100;
    private static final long YIELD_NANOS = 20_000;

    public final LockKeys keys;
    private final Holds holds;
    private final Clock clock;
    private final ThreadLosses losses;
    private final LossRecords records;
    private final Turns turns = new Turns();
    private final AtomicReference<@Nullable Hold> lease = new AtomicReference<>();
    /** The residences of the client that the watchdog inspects: those with a lease or a holder. */
    private final Set<Residence> watched;

    private volatile @Nullable ThreadHold holding;
    /** The lease that is being released in the background, whose end also ends the turn; null if there is none. */
    private final AtomicReference<@Nullable Hold> releasing = new AtomicReference<>();
    /** The tasks to run once it is clear whether a thread has the lock. */
    private final Queue<Runnable> asked = new ConcurrentLinkedQueue<>();
    /** The thread that acquires the lease; null if none does. */
    private volatile @Nullable Thread waiter;
    /** Whether another client may have waited in Redis when the lease was acquired. Written under the turn. */
    private volatile boolean foundOthers;
    /**
     * The lease to which the token fields below belong: the last that has begun. Written under the turn, before those
     * fields.
     */
    private volatile @Nullable Hold tokensOf;
    /** The token of the last thread's hold under the lease; 0 before the first. Guarded by the turn. */
    private volatile long lastToken;
    /** The token of the last thread's hold under the lease that was lost, and so reported; 0 if none was lost. */
    private volatile long lostToken;
    /** When the last request was sent by which Redis confirmed the lease. */
    private volatile long confirmedNanos;
    /** The highest attempt whose lease another client has recalled. */
    private final AtomicLong recalled = new AtomicLong();
    /** When that attempt was first recalled. */
    private volatile long recalledNanos;

    private volatile long idleSinceNanos;
    private volatile long keepNanos;
    /** When the watchdog last had Redis asked for the lease. Used by the watchdog only. */
    private long lookedNanos;

    /**
     * The parts of a client to which losses are reported.
     *
     * @param losses of threads
     * @param records of those losses
     * @param holds of the client in Redis
     */
    public record Ended(ThreadLosses losses, LossRecords records, Holds holds) {}

    /**
     * Makes a residence without a lease.
     *
     * @param id the owner's id in Redis: the id of the client, a colon, {@link #KIND} and a number
     * @param watched the residences that the watchdog inspects
     */
    public Residence(Clock clock, String id, LockKeys keys, Ended ended, Set<Residence> watched) {
        super(id, Residence.class);
        this.clock = clock;
        this.losses = ended.losses();
        this.records = ended.records();
        this.holds = ended.holds();
        this.watched = watched;
        this.keys = keys;
    }

    /** Sets for how long an unused lease is kept. */
    public void keepFor(long nanos) {
        keepNanos = nanos;
    }

    /** For how long an unused lease is kept. */
    public long keepNanos() {
        return keepNanos;
    }

    /** When the watchdog last had Redis asked for the lease. Used by the watchdog only. */
    public long lookedNanos() {
        return lookedNanos;
    }

    /** Notes that the watchdog has Redis asked for the lease. Used by the watchdog only. */
    public void looked(long now) {
        lookedNanos = now;
    }

    /** Takes the turn if it is free and no thread has waited for it for longer than its slice. */
    public boolean tryTurn() {
        return turns.tryAcquire(Turns.THREAD);
    }

    /** Takes the turn if it is free, before threads that wait for it, in order to give the lease up. */
    public boolean tryTurnFirst() {
        return turns.tryAcquire(Turns.CLIENT);
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
            if (tryTurnFirst()) {
                return Found.TURN;
            }
            if (holding() != null) {
                return Found.HOLDER;
            }
            if (hasNothing() || (i % SPINS == 0 && clock.nanoTime() - began >= mostNanos)) {
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

    /**
     * Waits for the turn; returns false if the time was over. A thread that got the turn still counts as waiting until
     * it calls {@link #entered}.
     */
    public boolean awaitTurn(WaitLimit limit) throws InterruptedException {
        if (limit.isTimed()) {
            return turns.tryAcquireNanos(Turns.WAITER, Math.max(0, limit.remaining(clock.nanoTime())));
        }
        if (limit.isInterruptible()) {
            turns.acquireInterruptibly(Turns.WAITER);
        } else {
            turns.acquire(Turns.WAITER);
        }
        return true;
    }

    /** Notes that the thread with the turn has finished its acquisition, so that it no longer counts as waiting. */
    public void entered() {
        if (turns.entering == Thread.currentThread()) {
            turns.entering = null;
        }
    }

    /** Ends the turn, and wakes the next thread. */
    public void endTurn() {
        turns.release(Turns.THREAD);
    }

    /** Whether threads wait for the turn. */
    public boolean isWanted() {
        return turns.hasQueuedThreads();
    }

    /**
     * The threads that wait for the turn, and the thread that got it after a wait and has not finished its acquisition.
     */
    public Collection<Thread> queuedThreads() {
        // Read the queue first, then `entering`: a thread sets `entering` before it leaves the queue, so it is found in
        // one of the two.
        Collection<Thread> threads = turns.hasQueuedThreads() ? turns.getQueuedThreads() : List.of();
        Thread entering = turns.entering;
        if (entering == null || threads.contains(entering)) {
            return threads;
        }
        List<Thread> all = new ArrayList<>(threads);
        all.add(entering);
        return all;
    }

    /** The hold of the client in Redis, valid or not; null if there is none. */
    @Nullable
    public Hold lease() {
        return lease.get();
    }

    /**
     * Whether the client has no lease, and releases none in the background, so that Redis can say who holds the lock.
     */
    public boolean hasNothing() {
        return lease.get() == null && releasing.get() == null;
    }

    /** Notes that a lease is being released in the background. Call under the turn, which ends with the release. */
    public void releases(Hold from) {
        releasing.set(from);
        ended(from);
    }

    /**
     * Notes that the release in the background has ended, and ends the turn. Returns false, and does nothing, if an
     * earlier call has done so.
     */
    public boolean released(Hold from) {
        if (releasing.compareAndSet(from, null)) {
            endTurn();
            return true;
        }
        return false;
    }

    /** Whether no thread and no release has the turn. */
    public boolean isTurnFree() {
        return turns.isFree();
    }

    /**
     * Adds a task that runs once it is clear whether a thread has the lock. The thread that takes the task by
     * {@link #nextAsked} runs it.
     */
    public void ask(Runnable then) {
        asked.add(then);
    }

    /** Whether there are tasks that wait until it is clear whether a thread has the lock. */
    public boolean isAsked() {
        return !asked.isEmpty();
    }

    /** Takes the next task that waited until it is clear whether a thread has the lock; null if there is none. */
    @Nullable
    public Runnable nextAsked() {
        return asked.poll();
    }

    /** Notes the lease that was acquired. Call under the turn. */
    public void begin(Hold acquired) {
        tokensOf = acquired;
        lastToken = 0;
        lostToken = 0;
        confirmedNanos = acquired.acquiredNanos;
        lease.set(acquired);
        // Set the lease before this line: if unwatch() removes the residence at the same moment, it sees the lease and
        // adds the residence again.
        watched.add(this);
        turns.beginSlice(clock.nanoTime());
    }

    /** Notes that a lease has ended. Any thread may call this, and repeat it. */
    public void ended(Hold from) {
        if (lease.compareAndSet(from, null)) {
            unwatch();
        }
    }

    /** Removes this residence from those that the watchdog inspects, if it has neither a lease nor a holder. */
    void unwatch() {
        if (isIdle()) {
            watched.remove(this);
            // Check again: begin() may have set a lease meanwhile, and have added the residence before the line above.
            if (!isIdle()) {
                watched.add(this);
            }
        }
    }

    /** Ends a lease if an error has stopped the release of the thread's hold under it. Called by the watchdog. */
    void rescue(Consumer<Hold> rescuer) {
        ThreadHold local = holding;
        if (local != null && local.stranded) {
            rescuer.accept(local.lease);
        }
    }

    private boolean isIdle() {
        return lease.get() == null && holding == null;
    }

    @Override
    public void foundOthers(boolean found) {
        foundOthers = found;
    }

    /** Whether another client may have waited in Redis when the lease was acquired. Call under the turn. */
    public boolean foundOthers() {
        return foundOthers;
    }

    @Override
    public long lastToken() {
        return lastToken;
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

    /** Makes the event of a lease that is given up for {@code reason}. Call under the turn. */
    public GivingUp givingUp(Hold from, LockGivenUp.Reason reason) {
        // The token grows by one with each thread's hold, so the difference of the tokens counts the holds.
        long acquisitions = lastToken == 0 ? 0 : lastToken - from.token + 1;
        return new GivingUp(keys, reason, from.acquiredNanos, acquisitions, recalledNanos);
    }

    /** Whether another client has recalled this lease. */
    public boolean isRecalled(Hold from) {
        return recalled.get() >= from.attempt;
    }

    /** The hold of the thread that has the lock; null if none has. */
    @Nullable
    public ThreadHold holding() {
        ThreadHold local = holding;
        return local == null || local.isBeginning() ? null : local;
    }

    /** The hold of {@code thread}; null if it does not have the lock. */
    @Nullable
    public ThreadHold heldBy(Thread thread) {
        ThreadHold local = holding;
        return local != null && local.owner.holder == thread ? local : null;
    }

    @Override
    @Nullable
    public ThreadHold use(Hold hold) {
        return holding;
    }

    @Override
    public boolean givesWay() {
        return true;
    }

    @Override
    public void wanted(long attempt) {
        recall(attempt, clock.nanoTime());
    }

    /**
     * Makes the calling thread, which has the turn, the holder. Returns null if the lease has ended meanwhile, or if
     * Redis has to be asked before there is a token. A thread that declares the loss of the lease at this moment may
     * not see the new hold, so the caller must call {@link ThreadLosses#begun} afterwards.
     */
    @Nullable
    public ThreadHold take(Hold from, Owner owner, long now) {
        long token = nextToken(from, now);
        if (token == 0) {
            return null;
        }
        long before = lastToken;
        ThreadHold made = new ThreadHold(this, from, owner, token, before == 0 && from.previousLost, now);
        LAST_TOKEN.lazySet(this, token);
        holding = made;
        // Check again: a thread that declared the loss before the line above saw no holder.
        if (!from.isOpen()) {
            lastToken = before;
            holding = null;
            return null;
        }
        made.begin();
        return made;
    }

    /**
     * The next token; 0 if there is none yet. The first holder gets the token of the lease, and each later holder one
     * more. A token must be less than Redis' time when Redis last confirmed the lease: then the next owner in Redis
     * gets a greater token, however the lease ended. In the first millisecond of a lease, no confirmation is needed:
     * the token must be less than Redis' time now.
     */
    private long nextToken(Hold from, long now) {
        if (lastToken == 0) {
            return from.token;
        }
        long sure = Math.max(confirmedNanos - from.acquiredNanos, Math.min(now - from.acquiredNanos, UNASKED_NANOS));
        return lastToken < from.token + sure * 99 / 100_000 ? lastToken + 1 : 0;
    }

    /** When, by this client's clock, Redis' time has surely passed the next token. Call under the turn. */
    public long nextTokenNanos(Hold from) {
        return from.acquiredNanos + (lastToken + 1 - from.token) * 100_000 / 99;
    }

    /** Whether the next token needs no confirmation by Redis, but only its time. Call under the turn. */
    public boolean givesTokensByTime(Hold from) {
        return nextTokenNanos(from) - from.acquiredNanos <= UNASKED_NANOS;
    }

    @Override
    public void confirmed(long sentNanos) {
        confirmedNanos = Math.max(confirmedNanos, sentNanos);
    }

    /** Ends a hold that its thread has released, and the turn with it. */
    public void passOn(long now) {
        IDLE_SINCE.lazySet(this, now);
        HOLDING.lazySet(this, null);
        try {
            if (lease.get() == null) {
                unwatch();
            }
        } finally {
            endTurn();
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
            records.add(hold);
            lostToken = hold.token;
            endHolding(hold);
        }
    }

    /** Ends the hold of a thread on its behalf, and the turn with it. A repeated call does nothing. */
    private void endHolding(ThreadHold hold) {
        if (HOLDING.compareAndSet(this, hold, null)) {
            endTurn();
        }
    }

    /**
     * Handles the loss of the lease. The listeners are notified only if a thread has the lock, or if another client
     * ended the lease and a thread may have had the lock at that time. If a thread is releasing its hold, or reporting
     * its loss, that thread ends the hold, or the watchdog does after an error; the lease stays known until then.
     */
    @Override
    public FollowUp lost(Hold from, LockLost.Reason reason) {
        ThreadHold local = holding();
        // For a hold that is lost already the call below is repeated, since an error may have stopped an earlier one.
        if (local != null && local.isUnder(from) && (local.lose(reason) || local.isLost())) {
            losses.ended(local);
        }
        losses.endTurn(from);
        // Read the tokens before forget(): after that, the next lease may overwrite them.
        LockLost unlocked = local == null && reason == LockLost.Reason.TAKEN ? lossOfUnlocked(from, reason) : null;
        if (!forget(from)) {
            return FollowUp.LATER;
        }
        if (unlocked != null) {
            losses.tell(unlocked, from);
        }
        return FollowUp.DONE;
    }

    /** Forgets a lease that was lost; returns false, and does nothing, while a thread's hold under it has not ended. */
    boolean forget(Hold from) {
        endStranded(from);
        ThreadHold local = holding;
        if (local != null && local.isUnder(from)) {
            return false;
        }
        holds.forget(from);
        return true;
    }

    @Override
    public void rescued(Hold from) {
        boolean unused = released(from);
        endStranded(from);
    }

    /** Ends a lease, and the turn of a thread that an error stopped while it released its hold under the lease. */
    private void endStranded(Hold from) {
        ended(from);
        ThreadHold local = holding;
        if (local != null && local.isUnder(from) && local.stranded) {
            endHolding(local);
        }
    }

    /**
     * The loss of a lease, reported for the last thread that unlocked after Redis had last confirmed the lease. Null if
     * no thread did, or if the next lease has begun.
     */
    @Nullable
    @SuppressWarnings("ReferenceEquality")
    LockLost lossOfUnlocked(Hold from, LockLost.Reason reason) {
        long token = lastToken;
        boolean isUntold = token != lostToken && idleSinceNanos - confirmedNanos > 0;
        // begin() writes tokensOf first: as long as that is the given lease, the fields that were read above belong to
        // it.
        return isUntold && tokensOf == from
                ? LockLost.of(keys.name(), token, "a thread that has unlocked it since", reason)
                : null;
    }

    /** Since when nobody has had the lock. */
    public long idleSinceNanos() {
        return idleSinceNanos;
    }

    /** Notes that the calling thread acquires the lease. */
    public void waits() {
        waiter = Thread.currentThread();
    }

    /** Notes that no thread acquires the lease any more. */
    public void rests() {
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

    /** True if no thread has the lock: a lock that is only kept needs no living thread. */
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

    /**
     * The queue of threads, which is fair in slices: while others wait, a thread that comes back may take the turn
     * again until the slice is over. To pass the turn on at each unlock would wake a thread each time.
     */
    private final class Turns extends AbstractQueuedSynchronizer {

        static final int THREAD = 1;
        static final int CLIENT = 2;
        /** A thread that is ready to wait for the turn. */
        static final int WAITER = 3;

        private static final long serialVersionUID = 1;

        /** Until when others may take the turn before the first waiter. Guarded by the turn. */
        private volatile long sliceEndNanos;

        /** The thread that got the turn after a wait, until it has finished its acquisition. */
        private volatile @Nullable Thread entering;

        @Override
        protected boolean tryAcquire(int who) {
            if (!takes(who)) {
                return false;
            }
            if (who == WAITER) {
                entering = Thread.currentThread();
            }
            return true;
        }

        private boolean takes(int who) {
            if (getState() != 0) {
                return false;
            }
            if (who == CLIENT || !hasQueuedThreads()) {
                return compareAndSetState(0, 1);
            }
            long now = clock.nanoTime();
            boolean first = !hasQueuedPredecessors();
            if ((!first && now - sliceEndNanos >= 0) || !compareAndSetState(0, 1)) {
                return false;
            }
            if (first) {
                beginSlice(now);
            }
            return true;
        }

        /** Begins a slice, in which a thread may take the turn before those that wait. */
        void beginSlice(long now) {
            sliceEndNanos = now + Timing.SLICE_NANOS;
        }

        boolean isFree() {
            return getState() == 0;
        }

        @Override
        protected boolean tryRelease(int who) {
            setState(0);
            return true;
        }
    }
}
