package io.github.redislocks;

import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One call that wants a lock: its number, what it wants, and what becomes of it. Its thread parks on it; whoever has
 * news (the mailbox, the watchdog, a thread that releases) leaves them here and wakes the thread. Exactly one verdict
 * wins: a grant, a failure, or that its caller has left.
 */
final class Attempt {

    /** What becomes of an attempt. */
    sealed interface Verdict permits Grant, Failure, Left {}

    /**
     * The lock is this attempt's.
     *
     * @param token the fencing token
     * @param previousLost whether the hold before it was never released
     * @param deadlineNanos until when the hold is valid; 0 as long as only a message told of it, which must be dated
     * @param turnStartNanos since when the client has had the lock
     * @param confirmed whether Redis gave the wanted lease already, not a claim
     */
    record Grant(long token, boolean previousLost, long deadlineNanos, long turnStartNanos, boolean confirmed)
            implements Verdict {

        /** A grant that a reply tells: token and lost come first in it. It is for a claim. */
        static Grant claimed(Reply reply, long sentNanos, long now, long claimMillis) {
            long deadline = sentNanos + LockOptions.validityNanos(claimMillis);
            return new Grant(reply.number(0), reply.number(1) == 1, deadline, now, false);
        }
    }

    /** The attempt cannot go on: the client is closed, or Redis has been away for too long. */
    record Failure(RuntimeException exception) implements Verdict {}

    /** Its caller has given up. */
    enum Left implements Verdict {
        LEFT
    }

    /**
     * A place in line, as of the last answer.
     *
     * @param sentNanos when the request was sent that was answered
     * @param lastToken the last token then: a grant with a greater one was made after that sending
     */
    record Standing(long sentNanos, long lastToken) {}

    /**
     * What a caller wants.
     *
     * @param leaseMillis the lease
     * @param renewed whether the watchdog is to renew it; else the caller named it
     * @param fair whether those go first that came first
     */
    record Wish(long leaseMillis, boolean renewed, boolean fair) {}

    final long number;
    final Keys keys;
    final LocalOwner owner;
    final long leaseMillis;
    final boolean renewed;
    /** Whether it has a place of its own and lets those go first that came first; else it passes the gate. */
    final boolean fair;
    /** Whether it queues; else it takes the lock only if it is free. */
    final boolean waits;
    /** Whether no outage fails it: it ends at a time of its own, or waits in a Condition until it has to return. */
    private volatile boolean bearsOutages;

    /** How often the lock is to be held when it is there. */
    final int holds;
    /** Whether it is to get back a hold that was given up in a Condition. */
    final boolean fromCondition;
    /** The Condition in which it waits, until it is signalled or gives up; null for any other attempt. */
    volatile @Nullable RedisCondition condition;

    private final AtomicReference<@Nullable Verdict> verdict = new AtomicReference<>();

    /** Whether it asks first whether the lock is free and nobody waits, which costs less than to queue. */
    boolean quick;
    /** How often Redis had become another server when it began. */
    int moves;
    /** Since when its caller has wanted the lock; not yet while it waits in a Condition. */
    volatile long beganNanos = Long.MAX_VALUE;
    /** Whether it is the one of its client that contends in Redis; set by the gate. */
    volatile boolean turn;
    /** Its neighbours while it waits at the gate; of the gate. */
    @Nullable
    Attempt ahead;

    @Nullable
    Attempt behind;
    /** Whether its turn is likely to come in a moment, for which its thread stays awake; set by the gate. */
    volatile boolean near;
    /** The hold that its caller has had by it while it was in doubt, so that a leave may follow; or null. */
    volatile @Nullable Hold had;
    /** Whether anything in Redis may bear its number. */
    volatile boolean known;
    /** Its place, or null if it has none that it knows of. */
    volatile @Nullable Standing standing;
    /** Whether it was told that the lock is free, and is to ask for it, since it was not granted. */
    volatile boolean roused;
    /** When to ask again: by a heartbeat with a standing, or after the hold before it at the gate. */
    volatile long nextHeartbeatNanos;
    /** Whether its caller has gone by an error, and could not leave Redis: the watchdog does it. */
    volatile boolean stranded;
    /** Whether a heartbeat is under way; set by the watchdog, and only as long as there is no verdict. */
    volatile boolean heartbeatInFlight;
    /** The date of the request of it that may still run for longest, since a copy of it was not answered; or null. */
    private volatile ServerTimes.@Nullable Date mayRun;

    /** An attempt of the calling thread. */
    Attempt(long number, Keys keys, LocalOwner owner, Wish wish, Patience patience) {
        this.number = number;
        this.keys = keys;
        this.owner = owner;
        this.leaseMillis = wish.leaseMillis();
        this.renewed = wish.renewed();
        this.waits = patience.waits();
        this.fair = wish.fair() && waits;
        this.bearsOutages = patience.isTimed();
        this.holds = 1;
        this.fromCondition = false;
    }

    /** An attempt of the calling thread to get a hold back, from a Condition. */
    Attempt(long number, Hold hold, @Nullable RedisCondition condition) {
        this.number = number;
        this.keys = hold.keys();
        this.owner = hold.owner;
        this.leaseMillis = hold.leaseMillis();
        this.renewed = hold.isRenewed();
        this.waits = true;
        this.fair = true;
        this.bearsOutages = true;
        this.holds = hold.count;
        this.fromCondition = true;
        this.condition = condition;
        this.turn = true;
    }

    @Nullable
    Verdict verdict() {
        return verdict.get();
    }

    /** Gives its verdict if it has none yet, and wakes its thread. */
    boolean decide(Verdict news) {
        boolean first = verdict.compareAndSet(null, news);
        if (first && owner.thread != Thread.currentThread()) {
            LockSupport.unpark(owner.thread);
        }
        return first;
    }

    /** Ends it for its caller, unless there is other news than it has seen. */
    boolean leave(@Nullable Verdict seen) {
        return verdict.compareAndSet(seen, Left.LEFT);
    }

    /** Has its thread ask for the lock. */
    void rouse() {
        roused = true;
        LockSupport.unpark(owner.thread);
    }

    /** Takes back a grant that turned out to have lapsed; the attempt goes on. */
    void reopen(Grant lapsed) {
        verdict.compareAndSet(lapsed, null);
    }

    /** Whether its caller has given up, or was told to. */
    boolean hasFailed() {
        Verdict now = verdict.get();
        return now instanceof Failure || now == Left.LEFT;
    }

    boolean undecided() {
        return verdict.get() == null;
    }

    /** Whether it waits behind another of its client, without a request of its own. */
    boolean isAtGate() {
        return waits && !fair && !turn && undecided();
    }

    /** Puts the next look at the hold before it off, by a heartbeat. */
    void lookAgain(long now) {
        nextHeartbeatNanos = now + LockOptions.heartbeatMillis(leaseMillis) * 1_000_000;
    }

    /** Notes an answer that says that it still waits. */
    void queued(long sentNanos, long lastToken, long holderPttlMillis) {
        known = true;
        standing = new Standing(sentNanos, lastToken);
        long heartbeat = LockOptions.heartbeatMillis(leaseMillis);
        long wait = holderPttlMillis < 0 ? heartbeat : Math.min(heartbeat, holderPttlMillis + 1);
        nextHeartbeatNanos = sentNanos + wait * 1_000_000;
    }

    /** Notes that a request brought no answer: it may run nevertheless, until its date. */
    void unanswered(RedisException failure, ServerTimes.Date date) {
        if (failure instanceof RedisException.Unanswered lost && lost.sent()) {
            mayHaveRun(date);
        }
    }

    /** Notes the answer to a request: if that was sent more than once, an earlier copy may still run until its date. */
    void answered(Reply reply, ServerTimes.Date date) {
        if (reply.resent()) {
            mayHaveRun(date);
        }
    }

    /** Notes that a copy of a request may have run, or may still run until its date. */
    void mayHaveRun(ServerTimes.Date date) {
        known = true;
        if (date.mayRunLongerThan(mayRun)) {
            mayRun = date;
        }
    }

    /** Whether a copy of a request of it that was not answered may have run, or may still run. */
    boolean mayRun() {
        return mayRun != null;
    }

    /** Until when such a copy may run on a server, by its clock; 0 if none can. */
    long mayRunUntilMicros(String server) {
        ServerTimes.Date date = mayRun;
        return date == null ? 0 : date.mayRunUntilMicros(server);
    }

    /** Whether requests of it may run, or are under way: then its end names no heir. */
    boolean isInDoubt() {
        return heartbeatInFlight || mayRun();
    }

    /** Whether no outage fails it. */
    boolean bearsOutages() {
        return bearsOutages;
    }

    /** From now on its caller wants to return from the Condition: an outage that lasts for too long fails it. */
    void mustReturn(long now) {
        beganNanos = now;
        bearsOutages = false;
    }

    @Override
    public String toString() {
        return "attempt " + number + " of " + owner.id + " for " + keys.name();
    }
}
