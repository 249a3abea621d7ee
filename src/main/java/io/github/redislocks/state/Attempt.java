package io.github.redislocks.state;

import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One call that wants a lock: its number, what it wants, and what becomes of it. Its thread parks on it. The mailbox,
 * the watchdog and releasing threads leave their news here and wake the thread. Exactly one verdict wins: a grant, a
 * failure, or that its caller has left.
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

        /** A grant that a reply tells: token and lost come first in it. It is for a claim. */
        public static Grant claimed(Reply reply, long sentNanos, long now, long claimMillis) {
            long deadline = sentNanos + Timing.validityNanos(claimMillis);
            return new Grant(reply.number(0), reply.number(1) == 1, deadline, now, false);
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
    public record QueuePosition(long sentNanos, long lastToken) {}

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
    public volatile @Nullable String condition;

    private final AtomicReference<@Nullable Verdict> verdict = new AtomicReference<>();

    /** Whether it asks first whether the lock is free and nobody waits, which costs less than to queue. */
    public boolean fastPath;
    /** How often Redis had become another server when it began. */
    public int failoverEpoch;
    /** Since when its caller has wanted the lock; not yet while it waits in a Condition. */
    public volatile long beganNanos = Long.MAX_VALUE;
    /** Whether it is the one of its client that contends in Redis; set by the local queue. */
    public volatile boolean localTurn;
    /** Its neighbours while it waits in the local queue; of the local queue. */
    @Nullable
    public Attempt ahead;

    @Nullable
    public Attempt behind;
    /** Whether its turn is likely to come in a moment, for which its thread stays awake; set by the local queue. */
    public volatile boolean nextInLine;
    /** The hold that its caller has had by it while it was in doubt, so that a leave may follow; or null. */
    public volatile @Nullable Possession had;
    /** Whether anything in Redis may bear its number. */
    public volatile boolean mayExistInRedis;
    /** Its place, or null if it has none that it knows of. */
    public volatile @Nullable QueuePosition position;
    /** Whether it was told that the lock is free, and is to ask for it, since it was not granted. */
    public volatile boolean toldFree;
    /** When to ask again: by a heartbeat with a standing, or after the hold before it in the local queue. */
    public volatile long nextHeartbeatNanos;
    /** Whether its caller has gone by an error, and could not leave Redis: the watchdog does it. */
    public volatile boolean stranded;
    /** Whether a heartbeat is under way; set by the watchdog, and only as long as there is no verdict. */
    public volatile boolean heartbeatInFlight;
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
        this.localTurn = true;
    }

    @Nullable
    public Verdict verdict() {
        return verdict.get();
    }

    /** Gives its verdict if it has none yet, and wakes its thread. */
    public boolean decide(Verdict news) {
        boolean first = verdict.compareAndSet(null, news);
        if (first && owner.thread != Thread.currentThread()) {
            LockSupport.unpark(owner.thread);
        }
        return first;
    }

    /** Ends it for its caller, unless there is other news than it has seen. */
    public boolean leave(@Nullable Verdict seen) {
        return verdict.compareAndSet(seen, Left.LEFT);
    }

    /** Has its thread ask for the lock. */
    public void rouse() {
        toldFree = true;
        LockSupport.unpark(owner.thread);
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
    public boolean isAtGate() {
        return waits && !fair && !localTurn && undecided();
    }

    /** Puts the next look at the hold before it off, by a heartbeat. */
    public void lookAgain(long now) {
        nextHeartbeatNanos = now + Timing.heartbeatMillis(leaseMillis) * 1_000_000;
    }

    /** Notes an answer that says that it still waits. */
    public void queued(long sentNanos, long lastToken, long holderPttlMillis) {
        mayExistInRedis = true;
        position = new QueuePosition(sentNanos, lastToken);
        long heartbeat = Timing.heartbeatMillis(leaseMillis);
        long wait = holderPttlMillis < 0 ? heartbeat : Math.min(heartbeat, holderPttlMillis + 1);
        nextHeartbeatNanos = sentNanos + wait * 1_000_000;
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
        mayExistInRedis = true;
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
