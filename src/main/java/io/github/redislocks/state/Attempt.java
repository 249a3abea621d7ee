package io.github.redislocks.state;

import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One call that wants a lock: its number, what it wants, on which stage of its way it is, and what becomes of it. Its
 * thread parks on it. The mailbox, the watchdog and releasing threads leave their news here and wake the thread.
 *
 * <p>The stage says who asks Redis for the lock:
 *
 * <pre>
 *   BEHIND         nobody: another attempt of the client has the local turn
 *   CONTENDING     its thread: it has the local turn, or needs none
 *   QueuePosition  heartbeats: it has a place in Redis; its thread asks only if it was told that the lock is free
 *
 *   begins         BEHIND if it waits and is not fair, else CONTENDING
 *   hasTurn()      BEHIND -> CONTENDING                      the local queue gives it the turn
 *   queued()       CONTENDING, QueuePosition -> QueuePosition  an answer says that it has a place
 *   placeLost()    QueuePosition -> CONTENDING               its grant lapsed, and its place with it
 * </pre>
 *
 * <p>Exactly one verdict wins, on any stage: a grant, a failure, or that its caller has left. A grant that has lapsed
 * is taken back, and the attempt goes on.
 */
public final class Attempt {

    /** What becomes of an attempt. */
    public sealed interface Verdict permits Grant, Failure, Left {}

    /**
     * The lock is this attempt's.
     *
     * @param token the fencing token
     * @param previousLost whether the hold before it was never released
     * @param deadlineNanos until when the hold is valid; 0 as long as only a message told of it, which must be dated
     * @param turnStartNanos since when the client has had the lock
     * @param confirmed whether Redis gave the wanted lease already, not a claim
     */
    public record Grant(long token, boolean previousLost, long deadlineNanos, long turnStartNanos, boolean confirmed)
            implements Verdict {

        /** A grant that an answer tells. It is for a claim. */
        public static Grant claimed(long token, boolean previousLost, long sentNanos, long now, long claimMillis) {
            long deadline = sentNanos + Timing.validityNanos(claimMillis);
            return new Grant(token, previousLost, deadline, now, false);
        }
    }

    /** The attempt cannot go on: the client is closed, or Redis has been away for too long. */
    public record Failure(RuntimeException exception) implements Verdict {

        /**
         * The exception, to be thrown once, with the stack of the thread that waited in place of the one that decided.
         */
        public RuntimeException raised() {
            exception.fillInStackTrace();
            return exception;
        }
    }

    /** How far it is on its way to the lock. */
    public sealed interface Stage permits Way, QueuePosition {}

    /** The stages before it has a place in Redis. */
    public enum Way implements Stage {
        BEHIND,
        CONTENDING
    }

    /** What its caller has had by it. */
    @FunctionalInterface
    public interface Possession {

        /** Whether it was lost after its caller had it. */
        boolean isLost();
    }

    /** Its caller has given up. */
    public enum Left implements Verdict {
        LEFT
    }

    /**
     * A place in line, as of the last answer.
     *
     * @param sentNanos when the request was sent that was answered
     * @param lastToken the last token then: a grant with a greater one was made after that sending
     */
    public record QueuePosition(long sentNanos, long lastToken) implements Stage {}

    /**
     * What a caller wants.
     *
     * @param leaseMillis the lease
     * @param renewed whether the watchdog is to renew it; else the caller named it
     * @param fair whether those go first that came first
     */
    public record Request(long leaseMillis, boolean renewed, boolean fair) {}

    public final long number;
    public final LockKeys keys;
    public final Owner owner;
    public final long leaseMillis;
    public final boolean renewed;
    /** Whether it has a place of its own and lets those go first that came first; else it passes the local queue. */
    public final boolean fair;
    /** Whether it queues; else it takes the lock only if it is free. */
    public final boolean waits;
    /** Whether no outage fails it: it ends at a time of its own, or waits in a Condition until it has to return. */
    private volatile boolean bearsOutages;
    /** How long an outage may last for one that does not bear them. */
    public final long retryForNanos;

    /** How often the lock is to be held when it is there. */
    public final int holds;
    /** Whether it is to get back a hold that was given up in a Condition. */
    public final boolean fromCondition;
    /** The id of the Condition in which it waits, until it is signalled or gives up; null for any other attempt. */
    private volatile @Nullable String condition;

    private final AtomicReference<@Nullable Verdict> verdict = new AtomicReference<>();

    private volatile Stage stage;
    /** How often Redis had become another server when it began. */
    private int failoverEpoch;
    /** Since when its caller has wanted the lock; not yet while it waits in a Condition. */
    private volatile long beganNanos = Long.MAX_VALUE;
    /** Its neighbours in an {@link AttemptList}. */
    @Nullable
    Attempt ahead;

    @Nullable
    Attempt behind;
    /** The hold that its caller has had by it while it was in doubt, so that a leave may follow; or null. */
    private volatile @Nullable Possession had;
    /** Whether Redis has been told its number and has not said that nothing bears it. */
    private volatile boolean known;
    /** Whether it was told that the lock is free, and is to ask for it, since it was not granted. */
    private volatile boolean toldFree;
    /** When to ask again: by a heartbeat with a place, or after the hold before it in the local queue. */
    private volatile long nextHeartbeatNanos;
    /**
     * Whether its caller has gone by an error, and could not leave Redis: the watchdog does it. Set without a call, for
     * which there may be no room on the stack.
     */
    public volatile boolean stranded;
    /** Whether a heartbeat is under way; set by the watchdog, and only as long as there is no verdict. */
    private volatile boolean heartbeatInFlight;
    /** The date of the request of it that may still run for longest, since a copy of it was not answered; or null. */
    private volatile ServerTimes.@Nullable Date mayRun;

    /** An attempt of the calling thread. */
    public Attempt(long number, LockKeys keys, Owner owner, Request request, WaitLimit limit) {
        this.number = number;
        this.keys = keys;
        this.owner = owner;
        this.leaseMillis = request.leaseMillis();
        this.renewed = request.renewed();
        this.waits = limit.waits();
        this.fair = request.fair() && waits;
        this.bearsOutages = limit.isTimed();
        this.retryForNanos = limit.retryForNanos();
        this.holds = 1;
        this.fromCondition = false;
        this.stage = waits && !fair ? Way.BEHIND : Way.CONTENDING;
    }

    /**
     * An attempt of the calling thread to get back, from a Condition, a lock that it gives up.
     *
     * @param request what it has: the lease, and whether that is renewed
     * @param limit how it waits in the Condition, of which only the time for outages counts here
     * @param holds how often it has it
     * @param condition the id of the Condition; null if it does not wait there any more
     */
    public Attempt(
            long number,
            LockKeys keys,
            Owner owner,
            Request request,
            WaitLimit limit,
            int holds,
            @Nullable String condition) {
        this.number = number;
        this.keys = keys;
        this.owner = owner;
        this.leaseMillis = request.leaseMillis();
        this.renewed = request.renewed();
        this.waits = true;
        this.fair = true;
        this.bearsOutages = true;
        this.retryForNanos = limit.retryForNanos();
        this.holds = holds;
        this.fromCondition = true;
        this.condition = condition;
        this.stage = Way.CONTENDING;
    }

    /** Its caller wants the lock from now on; epoch: how often Redis has become another server. */
    public void begins(long now, int epoch) {
        failoverEpoch = epoch;
        beganNanos = now;
    }

    /** Since when its caller has wanted the lock; {@link Long#MAX_VALUE} before that. */
    public long beganNanos() {
        return beganNanos;
    }

    int failoverEpoch() {
        return failoverEpoch;
    }

    public Stage stage() {
        return stage;
    }

    /** Its place in Redis as of the last answer, or null if it has none that it knows of. */
    @Nullable
    public QueuePosition position() {
        return stage instanceof QueuePosition position ? position : null;
    }

    /** Whether another attempt of its client has the turn before it. */
    public boolean isBehind() {
        return stage == Way.BEHIND;
    }

    /** The local queue has given it the turn. */
    public void hasTurn() {
        stage = Way.CONTENDING;
    }

    /** The place went with a grant that lapsed: its thread asks anew. */
    public void placeLost() {
        if (stage instanceof QueuePosition) {
            stage = Way.CONTENDING;
        }
    }

    /** Whether its thread is to ask Redis as long as there is no verdict. */
    public boolean mayAsk() {
        return stage == Way.CONTENDING || (toldFree && !isBehind());
    }

    /** Its thread asks now, so that what it was told before is no news any more. */
    public void asks() {
        toldFree = false;
    }

    @Nullable
    public Verdict verdict() {
        return verdict.get();
    }

    /** Gives its verdict if it has none yet, and wakes its thread. */
    public boolean decide(Verdict news) {
        boolean first = verdict.compareAndSet(null, news);
        if (first) {
            owner.wake();
        }
        return first;
    }

    /** Ends it for its caller, unless there is other news than it has seen. */
    public boolean leave(@Nullable Verdict seen) {
        return verdict.compareAndSet(seen, Left.LEFT);
    }

    /** Has its thread ask for the lock. */
    public void wakeToAsk() {
        toldFree = true;
        owner.wake();
    }

    /** Takes back a grant that turned out to have lapsed; the attempt goes on. */
    public void reopen(Grant lapsed) {
        verdict.compareAndSet(lapsed, null);
    }

    /** Whether its caller has given up, or was told to. */
    public boolean hasFailed() {
        Verdict now = verdict.get();
        return now instanceof Failure || now == Left.LEFT;
    }

    public boolean undecided() {
        return verdict.get() == null;
    }

    /** Whether it waits behind another of its client, without a request of its own. */
    public boolean isInLocalQueue() {
        return isBehind() && undecided();
    }

    /** When a heartbeat, or a look at the hold before it, is due. */
    public long nextHeartbeatNanos() {
        return nextHeartbeatNanos;
    }

    /** Puts the next heartbeat off, or brings it forward. */
    public void heartbeatAt(long nanos) {
        nextHeartbeatNanos = nanos;
    }

    /** Puts the next look at the hold before it off, by a heartbeat. */
    public void lookAgain(long now) {
        nextHeartbeatNanos = now + Timing.heartbeatMillis(leaseMillis) * 1_000_000;
    }

    /** Begins a heartbeat, unless there is a verdict already. */
    public boolean beginHeartbeat() {
        // The thread that settles an attempt reads this after its verdict, so one of the two sees the other.
        heartbeatInFlight = true;
        if (!undecided()) {
            heartbeatInFlight = false;
        }
        return heartbeatInFlight;
    }

    public void endHeartbeat() {
        heartbeatInFlight = false;
    }

    public boolean isHeartbeatInFlight() {
        return heartbeatInFlight;
    }

    /** Notes an answer that says that it still waits. */
    public void queued(long sentNanos, long lastToken, long holderPttlMillis) {
        known = true;
        stage = new QueuePosition(sentNanos, lastToken);
        long heartbeat = Timing.heartbeatMillis(leaseMillis);
        long wait = holderPttlMillis < 0 ? heartbeat : Math.min(heartbeat, holderPttlMillis + 1);
        nextHeartbeatNanos = sentNanos + wait * 1_000_000;
    }

    /** Something in Redis may bear its number from now on. */
    public void known() {
        known = true;
    }

    /** An answer says that nothing in Redis bears its number, unless an earlier copy may still run. */
    public void unknown() {
        known = false;
    }

    /** Whether anything in Redis may bear its number. */
    public boolean mayExistInRedis() {
        return known || mayRun();
    }

    /** The id of the Condition in which it waits; null if it waits in none any more. */
    @Nullable
    public String condition() {
        return condition;
    }

    /** It has been signalled, or has given up: it waits for the lock. */
    public void leftCondition() {
        condition = null;
    }

    /** Its caller has the lock by it; possession: what a leave of it may follow, or null if none can. */
    public void had(@Nullable Possession possession) {
        had = possession;
    }

    /** What its caller has had by it while it was in doubt; or null. */
    @Nullable
    public Possession had() {
        return had;
    }

    /** Notes that a request brought no answer: it may run nevertheless, until its date. */
    public void unanswered(RedisException failure, ServerTimes.Date date) {
        if (failure instanceof RedisException.Unanswered lost && lost.sent()) {
            mayHaveRun(date);
        }
    }

    /** Notes the answer to a request: if that was sent more than once, an earlier copy may still run until its date. */
    public void answered(Reply reply, ServerTimes.Date date) {
        if (reply.resent()) {
            mayHaveRun(date);
        }
    }

    /** Notes that a copy of a request may have run, or may still run until its date. */
    public void mayHaveRun(ServerTimes.Date date) {
        if (date.mayRunLongerThan(mayRun)) {
            mayRun = date;
        }
    }

    /** Whether a copy of a request of it that was not answered may have run, or may still run. */
    public boolean mayRun() {
        return mayRun != null;
    }

    /** Until when such a copy may run on a server, by its clock; 0 if none can. */
    public long mayRunUntilMicros(String server) {
        ServerTimes.Date date = mayRun;
        return date == null ? 0 : date.mayRunUntilMicros(server);
    }

    /** Whether requests of it may run, or are under way: then its end names no successor. */
    public boolean isInDoubt() {
        return heartbeatInFlight || mayRun();
    }

    /** Whether no outage fails it. */
    public boolean bearsOutages() {
        return bearsOutages;
    }

    /** From now on its caller wants to return from the Condition: an outage that lasts for too long fails it. */
    public void mustReturn(long now) {
        beganNanos = now;
        bearsOutages = false;
    }

    @Override
    public String toString() {
        return "attempt " + number + " of " + owner.id + " for " + keys.name();
    }
}
