package io.github.redislocks.state;

import io.github.redislocks.concurrent.Shown;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A call that wants a lock: its number, its request, its stage and its verdict. The calling thread parks until there is
 * a verdict; the mailbox, the watchdog and releasing threads set the verdict and unpark that thread.
 *
 * <p>The stage says which thread asks Redis for the lock:
 *
 * <pre>
 *   BEHIND         none: another attempt of the client has the local turn
 *   CONTENDING     the caller's thread: the attempt has the local turn, or needs none
 *   QueuePosition  the watchdog, by heartbeats: the attempt has a place in Redis. The caller's thread asks as
 *                  well if a message said that the lock is free
 *
 *   initially      BEHIND if the attempt waits and is not fair, else CONTENDING
 *   hasTurn()      BEHIND -> CONTENDING                      the local queue gives it the turn
 *   queued()       CONTENDING, QueuePosition -> QueuePosition  a reply says that the attempt has a place
 *   placeLost()    QueuePosition -> CONTENDING               the grant lapsed, and the place with it
 * </pre>
 *
 * <p>At any stage exactly one verdict wins: a grant, a failure, or the caller's departure. A lapsed grant is taken
 * back, and the attempt continues.
 */
public final class Attempt extends Footprint {

    private static final AtomicLongFieldUpdater<Attempt> NEXT_HEARTBEAT =
            AtomicLongFieldUpdater.newUpdater(Attempt.class, "nextHeartbeatNanos");

    /** The outcome of an attempt. */
    public sealed interface Verdict permits Grant, Failure, Left {}

    /**
     * The attempt has the lock.
     *
     * @param previousLost whether the previous hold was never released
     * @param deadlineNanos the end of the hold's validity; 0 as long as the grant is known only from a message, so that
     *     its deadline is still to be computed
     * @param turnStartNanos when the client got the lock
     * @param confirmed whether Redis has already given the wanted lease, not only a claim
     * @param numbers the numbers of the permits that were granted, separated by blanks; empty for a lock
     */
    public record Grant(
            long token,
            boolean previousLost,
            long deadlineNanos,
            long turnStartNanos,
            boolean confirmed,
            String numbers)
            implements Verdict {

        /** The grant of a lock. */
        public Grant(long token, boolean previousLost, long deadlineNanos, long turnStartNanos, boolean confirmed) {
            this(token, previousLost, deadlineNanos, turnStartNanos, confirmed, "");
        }
    }

    /** The attempt cannot go on: the client is closed, or Redis has been away for too long. */
    public record Failure(RuntimeException exception) implements Verdict {

        /**
         * Returns the exception, to be thrown once by the waiting thread. The stack trace then shows the calling
         * thread, and no longer the thread that made the attempt fail.
         */
        public RuntimeException raised() {
            exception.fillInStackTrace();
            return exception;
        }
    }

    /** How far an attempt has come on its way to the lock. */
    private sealed interface Stage permits Way, QueuePosition {}

    /** The stages before an attempt has a place in Redis. */
    private enum Way implements Stage {
        BEHIND,
        CONTENDING
    }

    /** The caller has given up. */
    public enum Left implements Verdict {
        LEFT
    }

    /**
     * A place in the queue, as the last reply showed it.
     *
     * @param sentNanos when the request that got this reply was sent
     * @param lastToken the last token when the request ran: a grant with a greater token was made after the request was
     *     sent
     */
    public record QueuePosition(long sentNanos, long lastToken) implements Stage {}

    /**
     * The terms on which the caller wants the lock.
     *
     * @param fair whether waiters are served in strict order of arrival
     * @param maxHoldMillis how long the hold may last; a longer lease is cut to this time. 0 for no limit
     */
    public record Request(long leaseMillis, boolean renewed, boolean fair, long maxHoldMillis) {

        public Request {
            leaseMillis = maxHoldMillis == 0 ? leaseMillis : Math.min(leaseMillis, maxHoldMillis);
        }

        /** A request for a hold without a maxHold. */
        public Request(long leaseMillis, boolean renewed, boolean fair) {
            this(leaseMillis, renewed, fair, 0);
        }
    }

    public final long number;
    public final LockKeys keys;
    public final Owner owner;
    public final long leaseMillis;
    public final boolean renewed;
    /** How long the hold may last; 0 for no limit. */
    public final long maxHoldMillis;
    /** Whether the attempt has its own place in Redis, by order of arrival; else it goes through the local queue. */
    public final boolean fair;
    /** Whether the attempt queues; otherwise it takes the lock only if the lock is free. */
    public final boolean waits;
    /** Whether it goes on through any outage: it has a deadline, or waits in a Condition and need not return yet. */
    private volatile boolean bearsOutages;
    /** How long an outage may last before the attempt fails. Has no effect while {@link #bearsOutages}. */
    public final long retryForNanos;

    /** The hold count with which the lock is acquired. */
    public final int holds;
    /** The id of a Condition, if the attempt is to get back a hold given up for a wait there; else null. */
    public final @Nullable String condition;
    /** Whether the attempt waits in the Condition: until it is signalled, or gives up. */
    private volatile boolean inCondition;

    private final AtomicReference<@Nullable Verdict> verdict = new AtomicReference<>();

    private volatile Stage stage;
    /** The number of failovers that the client had seen when the attempt began. */
    private int failoverEpoch;
    /** When the caller began to want the lock; MAX_VALUE while the attempt waits in a Condition. */
    private volatile long beganNanos = Long.MAX_VALUE;
    /** The neighbours in an {@link AttemptList}. */
    @Nullable
    Attempt ahead;

    @Nullable
    Attempt behind;
    /** Whether a message said that the lock is free, without granting it: the caller's thread has to ask. */
    private volatile boolean toldFree;
    /** Whether a message has asked for a request to Redis since the last request was sent. */
    private volatile boolean doubted;
    /** When to ask Redis again: for the lock, by a heartbeat; in the local queue, about the hold ahead. */
    private volatile long nextHeartbeatNanos;
    /** Whether an error ended the call, so that the watchdog removes the attempt from Redis. */
    public volatile boolean stranded;
    /** Whether a heartbeat is under way. Set by the watchdog, and only as long as there is no verdict. */
    private volatile boolean heartbeatInFlight;

    /** Makes an attempt of an owner that does not hold the lock. */
    public Attempt(long number, LockKeys keys, Owner owner, Request request, WaitLimit limit) {
        this.number = number;
        this.keys = keys;
        this.owner = owner;
        this.leaseMillis = request.leaseMillis();
        this.renewed = request.renewed();
        this.maxHoldMillis = request.maxHoldMillis();
        this.waits = limit.waits();
        this.fair = request.fair() && !limit.barges();
        this.bearsOutages = limit.isTimed();
        this.retryForNanos = limit.retryForNanos();
        this.holds = 1;
        this.condition = null;
        this.stage = waits && !fair ? Way.BEHIND : Way.CONTENDING;
    }

    /**
     * Makes an attempt of the calling thread to get back a hold. The thread gives the hold up in order to wait in a
     * Condition.
     *
     * @param request what the thread wants after the wait
     * @param limit how the thread waits in the Condition; only the time for outages is used here
     * @param holds the hold count after the wait
     * @param condition the id of the Condition
     */
    public Attempt(
            long number, LockKeys keys, Owner owner, Request request, WaitLimit limit, int holds, String condition) {
        this.number = number;
        this.keys = keys;
        this.owner = owner;
        this.leaseMillis = request.leaseMillis();
        this.renewed = request.renewed();
        this.maxHoldMillis = request.maxHoldMillis();
        this.waits = true;
        this.fair = true;
        this.bearsOutages = true;
        this.retryForNanos = limit.retryForNanos();
        this.holds = holds;
        this.condition = condition;
        this.inCondition = true;
        this.stage = Way.CONTENDING;
    }

    /** Notes that the caller wants the lock from now on; {@code epoch} is the number of failovers so far. */
    public void begins(long now, int epoch) {
        failoverEpoch = epoch;
        beganNanos = now;
    }

    /** When the caller began to want the lock; {@link Long#MAX_VALUE} before that. */
    public long beganNanos() {
        return beganNanos;
    }

    int failoverEpoch() {
        return failoverEpoch;
    }

    /** The place in Redis, as the last reply showed it; null if none is known. */
    @Nullable
    public QueuePosition position() {
        return stage instanceof QueuePosition position ? position : null;
    }

    /** Whether another attempt of the same client has the local turn. */
    public boolean isBehind() {
        return stage == Way.BEHIND;
    }

    /** Notes that the local queue has given the attempt the turn. */
    public void hasTurn() {
        stage = Way.CONTENDING;
    }

    /** Notes that the place was lost with a lapsed grant: the caller's thread has to ask again. */
    public void placeLost() {
        if (stage instanceof QueuePosition) {
            stage = Way.CONTENDING;
        }
    }

    /** Whether the caller's thread is the one that asks Redis, as long as there is no verdict. */
    public boolean mayAsk() {
        return stage == Way.CONTENDING || (toldFree && !isBehind());
    }

    /** Whether a message has said that the lock is free since the caller's thread last asked. */
    public boolean isToldFree() {
        return toldFree;
    }

    /** Notes that the caller's thread asks now, so that earlier messages no longer matter. */
    public void asks() {
        toldFree = false;
        doubted = false;
    }

    @Nullable
    public Verdict verdict() {
        return verdict.get();
    }

    /** Sets the verdict if there is none yet, and unparks the caller's thread; returns true if the verdict was set. */
    public boolean decide(Verdict news) {
        boolean first = verdict.compareAndSet(null, news);
        if (first) {
            owner.wake();
        }
        return first;
    }

    /** Sets the verdict to {@link Left#LEFT} if it is still {@code seen}; returns false if it is another. */
    public boolean leave(@Nullable Verdict seen) {
        return verdict.compareAndSet(seen, Left.LEFT);
    }

    /** Has the caller's thread ask for the lock. */
    public void wakeToAsk() {
        toldFree = true;
        owner.wake();
    }

    /** Takes back a lapsed grant; the attempt continues. */
    public void reopen(Grant lapsed) {
        verdict.compareAndSet(lapsed, null);
    }

    /** Whether the caller has given up, or the attempt has failed. */
    public boolean hasFailed() {
        Verdict now = verdict.get();
        return now instanceof Failure || now == Left.LEFT;
    }

    public boolean undecided() {
        return verdict.get() == null;
    }

    /** Whether the attempt waits behind another attempt of its client, without a request of its own. */
    public boolean isInLocalQueue() {
        return isBehind() && undecided();
    }

    /** When a heartbeat is due, or a check of the hold ahead. */
    public long nextHeartbeatNanos() {
        return nextHeartbeatNanos;
    }

    public void heartbeatAt(long nanos) {
        nextHeartbeatNanos = nanos;
    }

    /** Sets when an attempt in the local queue asks about the hold ahead: one heartbeat time after {@code now}. */
    public void lookAgain(long now) {
        nextHeartbeatNanos = now + Timing.heartbeatMillis(leaseMillis) * 1_000_000;
    }

    /** As {@link #lookAgain(long)}, unless the field has changed, perhaps to the time of a place's heartbeat. */
    public void lookAgain(long seenNanos, long now) {
        NEXT_HEARTBEAT.compareAndSet(this, seenNanos, now + Timing.heartbeatMillis(leaseMillis) * 1_000_000);
    }

    /** Begins a heartbeat, unless there is a verdict already. */
    public boolean beginHeartbeat() {
        // Set this flag before reading the verdict. The thread that settles the attempt sets the verdict before it
        // reads the flag. So at least one of the two threads sees what the other has set.
        heartbeatInFlight = true;
        if (!undecided()) {
            heartbeatInFlight = false;
            return false;
        }
        doubted = false;
        return true;
    }

    public void endHeartbeat() {
        heartbeatInFlight = false;
    }

    public boolean isHeartbeatInFlight() {
        return heartbeatInFlight;
    }

    /** Notes a reply that says that the attempt still waits. */
    public void queued(long sentNanos, long lastToken, long holderPttlMillis) {
        known();
        stage = new QueuePosition(sentNanos, lastToken);
        long heartbeat = Timing.heartbeatMillis(leaseMillis);
        long wait = holderPttlMillis < 0 ? heartbeat : Math.min(heartbeat, holderPttlMillis + 1);
        nextHeartbeatNanos = sentNanos + wait * 1_000_000;
        if (doubted) {
            // A message came while this request was under way, and the reply may be older than the message. So ask
            // again at once.
            nextHeartbeatNanos = sentNanos;
        }
    }

    /** Notes a message: a heartbeat is due at once, and the reply to an open request does not postpone it. */
    public void doubted() {
        doubted = true;
        nextHeartbeatNanos = 0;
    }

    public boolean isDoubted() {
        return doubted;
    }

    /** Notes that a release or leave names the attempt as successor, and so asks Redis for the lock for it. */
    public void named() {
        known();
        doubted = false;
    }

    /** Whether the attempt is to get back a hold that was given up for a wait in a Condition. */
    public boolean isFromCondition() {
        return condition != null;
    }

    public boolean isInCondition() {
        return inCondition;
    }

    /** Whether the attempt waits in the Condition with this id. */
    public boolean isIn(String id) {
        return inCondition && id.equals(condition);
    }

    /** Notes that the attempt was signalled, or gave up waiting for a signal. From now on it waits for the lock. */
    public void leftCondition() {
        inCondition = false;
    }

    /** Whether requests may still run, or are under way: then the release or leave names no successor. */
    public boolean isInDoubt() {
        return heartbeatInFlight || mayRun();
    }

    public boolean bearsOutages() {
        return bearsOutages;
    }

    /** The caller wants to return from the Condition: from now on too long an outage makes the attempt fail. */
    public void mustReturn(long now) {
        beganNanos = now;
        bearsOutages = false;
    }

    @Override
    public String toString() {
        return "attempt " + number + " of " + owner.id + " for " + Shown.of(keys.name());
    }
}
