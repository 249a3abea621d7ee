package io.github.redislocks;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One JVM's part in the protocol: its identity, what it holds, who waits, and the background work. Every lock of a
 * {@link RedisLocks} shares it.
 */
final class Client {

    /** How often {@link #close} looks whether calls under way have ended. */
    private static final long CLOSE_TICK_NANOS = 2_000_000;

    final String id;
    final LockOptions options;
    final Clock clock;
    final Redis redis;
    final Holds holds = new Holds();
    final Gate gate;
    /** The calls under way that want a lock, by number: queued from before their first request until they return. */
    final ConcurrentMap<Long, Attempt> attempts = new ConcurrentHashMap<>();

    final ServerTimes serverTimes;
    final Succession succession = new Succession(this);
    final Unavailable unavailable;
    private final Outages outages;
    final ServerWatch serverWatch;
    final Mailbox mailbox;
    final Watchdog watchdog;

    /** Each thread as an owner. Weakly: a thread of somebody's pool must not keep a class of the library for good. */
    private final ThreadLocal<WeakReference<@Nullable LocalOwner>> owners =
            ThreadLocal.withInitial(() -> new WeakReference<>(null));

    private final LossReport losses;
    private final AtomicLong numbers = new AtomicLong();
    private final AtomicLong suspect = new AtomicLong();
    private final AtomicBoolean closing = new AtomicBoolean();
    private final CountDownLatch hasClosed = new CountDownLatch(1);
    private volatile boolean closed;

    Client(String id, LockOptions options, @Nullable LockLostListener listener, Clock clock, Redis redis) {
        EagerClasses.initialize();
        this.id = id;
        this.options = options;
        this.clock = clock;
        this.redis = redis;
        this.gate = new Gate(clock);
        this.serverTimes = new ServerTimes(clock);
        this.losses = new LossReport(listener);
        this.outages = new Outages(options, clock, redis);
        this.unavailable = new Unavailable(options, redis);
        this.serverWatch = new ServerWatch(this, outages);
        this.watchdog = new Watchdog(this);
        this.mailbox = new Mailbox(
                Keys.mailbox(options.keyPrefix(), id),
                redis,
                clock,
                options.commandTimeoutNanos(),
                attempts,
                this::hurry,
                succession::hasten,
                this::hurry);
    }

    /** Looks at the server and starts the background work. */
    void start() {
        serverWatch.start();
        watchdog.start();
    }

    /** Runs a script, and notes whether Redis answers. */
    Reply run(Call call, long timeoutNanos) {
        long sent = clock.nanoTime();
        String key = call.keys().get(0);
        try {
            Reply reply = redis.run(call, timeoutNanos);
            availability(key).answered(call, clock.nanoTime());
            if (call.acks() != null && reply.is("OK") && !isAcknowledged(key, reply, sent)) {
                throw new RedisException.Unacknowledged(outages.tooFew(reply));
            }
            return reply;
        } catch (RedisException.Refused e) {
            if (e.passing()) {
                availability(key).failed(call, e, sent, timeoutNanos, clock.nanoTime());
            }
            throw e;
        } catch (RedisException.Unready e) {
            availability(key).answered(call, clock.nanoTime());
            throw e;
        } catch (RedisException.Unanswered e) {
            availability(key).failed(call, e, sent, timeoutNanos, clock.nanoTime());
            throw e;
        }
    }

    /** Whether enough replicas have what was done; else it is not to be relied on. Notes which of the two. */
    boolean isAcknowledged(String key, Reply reply, long sentNanos) {
        return outages.isAcknowledged(key, reply, sentNanos);
    }

    /** Since when too few replicas of the server of a key have confirmed holds. */
    Outage replication(String key) {
        return outages.replication(key);
    }

    /** Whether the server of a lock answers. */
    Availability availability(Keys keys) {
        return outages.of(keys.lock());
    }

    /** Whether the server of a key answers: one may be away while others are not. */
    Availability availability(String key) {
        return outages.of(key);
    }

    /** To be asked of an attempt that goes on: while it had a verdict, close could not end it. */
    void failIfClosed(Attempt attempt) {
        if (closed) {
            attempt.decide(new Attempt.Failure(closedException()));
        }
    }

    void checkOpen() {
        if (closed) {
            throw closedException();
        }
    }

    /** Checks that waiters stand in one line, which some things need. */
    void checkLines(String what) {
        if (!redis.hasLines()) {
            throw new UnsupportedOperationException("A quorum offers no " + what + ": they need one line in which all"
                    + " waiters stand in one order, and each master of a quorum has its own. Use a single server, Sentinel or"
                    + " a cluster for them.");
        }
    }

    private static IllegalStateException closedException() {
        return new IllegalStateException("This RedisLocks is closed: make a new one, or close it after its last use.");
    }

    /** Begins an attempt of the calling thread. */
    Attempt begin(Keys keys, Attempt.Wish wish, Patience patience) {
        return begun(new Attempt(numbers.incrementAndGet(), keys, caller(), wish, patience));
    }

    /** Begins an attempt of the calling thread to get back, from a Condition, a hold that it is about to give up. */
    Attempt begin(Hold hold, RedisCondition condition) {
        return begun(new Attempt(numbers.incrementAndGet(), hold, condition));
    }

    private Attempt begun(Attempt attempt) {
        attempt.moves = serverWatch.moves();
        attempt.beganNanos = clock.nanoTime();
        try {
            attempts.put(attempt.number, attempt);
            // So that the watchdog looks up now and then, should the caller be cut short.
            watchdog.wakeAt(attempt.beganNanos + renewalNanos());
            if (closed) {
                end(attempt);
                throw closedException();
            }
        } catch (Error e) {
            // It may be there all the same.
            attempt.stranded = true;
            watchdog.stranded = true;
            throw e;
        }
        return attempt;
    }

    long nextNumber() {
        return numbers.incrementAndGet();
    }

    void end(Attempt attempt) {
        attempts.remove(attempt.number, attempt);
    }

    /** Whether it has not been ended yet. */
    boolean isUnderWay(Attempt attempt) {
        return attempts.containsKey(attempt.number);
    }

    /** Whether its caller has gone, or is going, without the lock or after it. */
    boolean hasEnded(Attempt attempt) {
        return attempt.hasFailed() || !isUnderWay(attempt);
    }

    /** The calling thread, as Redis knows it. */
    String owner() {
        return caller().id;
    }

    /** The calling thread as an owner; another object than before if it has held nothing meanwhile. */
    private LocalOwner caller() {
        LocalOwner known = owners.get().get();
        if (known != null) {
            return known;
        }
        LocalOwner caller = new LocalOwner(id + ':' + ThreadIds.current());
        owners.set(new WeakReference<>(caller));
        return caller;
    }

    /** The calling thread's hold of a lock, held or lost, or null. */
    @Nullable
    Hold hold(Keys keys) {
        return holds.get(keys, caller());
    }

    /** Whether a hold can be relied upon now. The first to see that its deadline has passed declares it lost. */
    boolean isValid(Hold hold) {
        long now = clock.nanoTime();
        if (hold.isValid(now)) {
            return true;
        }
        if (hold.loseIfPast(now)) {
            ended(hold);
        }
        return false;
    }

    /** Declares a hold lost, unless it has ended otherwise. */
    boolean lose(Hold hold, LockLost.Reason reason) {
        boolean first = hold.lose(reason);
        if (first) {
            ended(hold);
        }
        return first;
    }

    /**
     * Does what follows once from a loss: ends its turn at the gate, and tells of it. If that is prevented by an error,
     * the watchdog does it.
     */
    void ended(Hold hold) {
        LockLost.Reason reason = hold.lossReason();
        if (reason == null || !hold.beginTelling()) {
            return;
        }
        boolean done = false;
        try {
            suspect(hold.attempt);
            if (!hold.isReleasedTooLate()) {
                gate.exit(hold.keys(), hold.attempt);
            }
            losses.report(hold.loss(reason));
            done = true;
        } finally {
            hold.endTelling(done);
        }
    }

    private void suspect(long attempt) {
        long before = suspect.get();
        while (before < attempt && !suspect.compareAndSet(before, attempt)) {
            before = suspect.get();
        }
    }

    /**
     * The greatest attempt whose hold was lost after its caller had it. What a thread finds of an attempt beyond it was
     * never returned to anybody, or was unlocked.
     */
    long suspect() {
        return suspect.get();
    }

    /** Whether the hold of an attempt was lost after its caller had it: then no leave may hide that. */
    boolean hasLost(Attempt attempt) {
        Hold had = attempt.had;
        return had != null && had.isLost();
    }

    /** Whether an attempt that has ended is to leave Redis: not while its hold is held, nor before that is released. */
    Errand.Need needOfLeaving(Attempt attempt) {
        Hold hold = holds.get(attempt.keys, attempt.owner.thread);
        if (hold == null || hold.attempt != attempt.number) {
            return Errand.Need.NOW;
        }
        // Of a hold that is held it would be the end; and a leave that overtakes the release would make that find
        // nothing, and take it for a loss.
        return hold.isOpen() || hold.isReleasing() ? Errand.Need.LATER : Errand.Need.NOW;
    }

    long renewalNanos() {
        return options.leaseMillis() * 1_000_000 / LockOptions.RENEWALS_PER_LEASE;
    }

    /** How long something forgotten may last in Redis: its lease, or that of a renewal, and a place. */
    long leftoverNanos(long leaseMillis) {
        long longest = Math.max(leaseMillis, options.leaseMillis());
        return (longest + LockOptions.claimMillis(longest)) * 1_000_000;
    }

    /** Has every waiter ask for its place at once. */
    void hurry() {
        for (Attempt attempt : attempts.values()) {
            attempt.nextHeartbeatNanos = 0;
        }
        watchdog.wakeAt(0);
    }

    /** Has a waiter ask for its place at once. */
    private void hurry(Attempt attempt) {
        attempt.nextHeartbeatNanos = 0;
        watchdog.wakeAt(0);
    }

    /** Has the listener told of losses of which it could not be told, for want of a thread. */
    void tellLosses() {
        losses.startThread();
    }

    boolean isClosed() {
        return closed;
    }

    /** Whether calls are under way, or commands of calls that have gone and that Redis would answer. */
    private boolean isBusy() {
        return !attempts.isEmpty() || holds.all().stream().anyMatch(Hold::isReleasing) || watchdog.hasErrands();
    }

    /** Gives calls under way time to end, unless the closing thread is interrupted. */
    private void awaitCalls(long deadline) {
        while (isBusy()
                && clock.nanoTime() < deadline
                && !Thread.currentThread().isInterrupted()) {
            clock.park(this, CLOSE_TICK_NANOS);
        }
    }

    /**
     * Ends everything, in this order: new work, waiters, calls under way, holds, threads, connections. Whoever calls it
     * as well returns when that is done, unless it is interrupted.
     */
    void close() {
        if (!closing.compareAndSet(false, true)) {
            awaitClosed();
            return;
        }
        try {
            closed = true;
            endCalls();
        } finally {
            try {
                mailbox.close();
                watchdog.close();
                redis.close();
                Threads.join(watchdog.threads(), mailbox.reader(), options.commandTimeout());
            } finally {
                hasClosed.countDown();
            }
        }
    }

    private void awaitClosed() {
        try {
            hasClosed.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void endCalls() {
        for (Attempt attempt : attempts.values()) {
            attempt.decide(new Attempt.Failure(closedException()));
        }
        long deadline = clock.nanoTime() + 2 * options.commandTimeoutNanos();
        awaitCalls(deadline);
        List<Call> leaves = new ArrayList<>();
        for (Hold hold : holds.all()) {
            if (lose(hold, LockLost.Reason.CLOSED)) {
                leaves.add(Protocol.leave(hold.keys(), hold.owner.id, hold.attempt, true, null, false));
            }
        }
        // An unlock may have begun before its hold could be declared lost; from here on none can.
        awaitCalls(deadline);
        losses.close(options.commandTimeout());
        if (!leaves.isEmpty()) {
            redis.runAll(leaves, options.commandTimeoutNanos());
        }
    }
}
