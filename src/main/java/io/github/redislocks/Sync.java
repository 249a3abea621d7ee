package io.github.redislocks;

import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * How a lock is acquired, re-entered, released and lost, written once for every kind of lock.
 *
 * <p><b>Overview.</b> What a thread holds is decided here and in {@link Hold}, not in Redis: a hold counts as long as
 * its local deadline lies ahead, which is always before the moment at which Redis may give the lock away. From that
 * follow the invariants:
 *
 * <ul>
 *   <li>Every success is dated from before its request was sent; an answer that comes after its own deadline is none.
 *   <li>A hold ends once: by the compare-and-set of its release, or of its loss. Only who wins it acts on it: hands on
 *       the turn at the gate, tells the listener.
 *   <li>The turn at the gate belongs to one attempt from its entry to the end of its hold.
 *   <li>A command that was not answered is either repeated under the same attempt, or followed by a leave.
 * </ul>
 */
final class Sync {

    /**
     * Makes what a holder wrote visible to the next one in this JVM: sockets give no happens-before edge, but a
     * read-modify-write before the release and one after the acquisition do.
     */
    private static final AtomicLong EDGE = new AtomicLong();

    /** Makes the edge: before every release and after every acquisition. */
    static void publish() {
        EDGE.getAndIncrement();
    }

    private static final long REENTRY_PAUSE_NANOS = 10_000_000;

    private final Client client;
    private final Keys keys;
    private final boolean fair;
    /** Whether others wanted the lock too, the last time that Redis was asked; a guess, by which less is sent. */
    private boolean crowded;

    Sync(Client client, Keys keys, boolean fair) {
        this.client = client;
        this.keys = keys;
        this.fair = fair;
    }

    boolean isFair() {
        return fair;
    }

    Keys keys() {
        return keys;
    }

    /** Checks a lease that a caller names, and returns it in milliseconds. */
    long checkLease(Duration lease) {
        long millis = LockOptions.checkLease(lease);
        long memory = client.redis.memoryMillis();
        if (millis > memory) {
            throw new IllegalArgumentException(
                    "The lease is " + lease + ", and a master that restarts gives no votes for "
                            + Duration.ofMillis(memory)
                            + " only, in which the votes that it has forgotten must have ended. Name a"
                            + " lease of at most that, or set a longer restartDelay in all clients.");
        }
        return millis;
    }

    /** Checks that waiters stand in a line here. */
    void checkLines(String what) {
        client.checkLines(what);
    }

    void lock(long leaseMillis, boolean renewed) {
        if (enterHere(leaseMillis, renewed)) {
            return;
        }
        try {
            acquire(Patience.endless(), leaseMillis, renewed);
        } catch (InterruptedException e) {
            throw new AssertionError("lock() does not end by an interrupt", e);
        }
    }

    void lockInterruptibly(long leaseMillis, boolean renewed) throws InterruptedException {
        if (!Thread.currentThread().isInterrupted() && enterHere(leaseMillis, renewed)) {
            return;
        }
        acquire(Patience.interruptible(), leaseMillis, renewed);
    }

    boolean tryLock(long leaseMillis, boolean renewed) {
        if (enterHere(leaseMillis, renewed)) {
            return true;
        }
        try {
            long timeout = client.options.commandTimeoutNanos();
            return acquire(Patience.forAnswer(client.clock.nanoTime(), timeout), leaseMillis, renewed);
        } catch (InterruptedException e) {
            throw new AssertionError("tryLock() does not end by an interrupt", e);
        }
    }

    boolean tryLock(long waitNanos, long leaseMillis, boolean renewed) throws InterruptedException {
        if (!Thread.currentThread().isInterrupted() && enterHere(leaseMillis, renewed)) {
            return true;
        }
        return acquire(Patience.within(client.clock.nanoTime(), waitNanos), leaseMillis, renewed);
    }

    /** Counts a re-entry without a word to Redis, if the caller's hold is sure to last as long as is wanted. */
    private boolean enterHere(long leaseMillis, boolean renewed) {
        if (!client.options.localReentry()) {
            return false;
        }
        Hold hold = client.hold(keys);
        if (hold == null || !hold.covers(client.clock.nanoTime(), leaseMillis, renewed)) {
            return false;
        }
        checkCount(hold);
        hold.reentered(leaseMillis, renewed, hold.nextRenewalNanos);
        return true;
    }

    private static void checkCount(Hold hold) {
        if (hold.count == Integer.MAX_VALUE) {
            throw new Error("Maximum lock count exceeded");
        }
    }

    private boolean acquire(Patience patience, long leaseMillis, boolean renewed) throws InterruptedException {
        try {
            patience.throwIfInterrupted();
            Hold held = client.hold(keys);
            if (held != null && held.stranded) {
                client.succession.rescue(held);
                // A loss below it, of which its thread has not been told yet.
                held = client.hold(keys);
            }
            if (held != null && client.isValid(held) && reenter(held, patience, leaseMillis, renewed)) {
                return true;
            }
            return acquireAnew(new Attempt.Wish(leaseMillis, renewed, fair), patience, held);
        } finally {
            patience.restore();
        }
    }

    /** One attempt after the other, as long as all that keeps it from a hold is that too few replicas confirm it. */
    private boolean acquireAnew(Attempt.Wish wish, Patience patience, @Nullable Hold lost) throws InterruptedException {
        long began = client.clock.nanoTime();
        Backoff backoff = null;
        while (true) {
            // Each a new one: what gives an earlier one back may run late, and must not touch this.
            Attempt attempt = client.begin(keys, wish, patience);
            attempt.quick = !crowded && client.redis.hasLines();
            try {
                Hold hold = new Contention(client, attempt, patience, lost).contend();
                crowded = !attempt.quick;
                publish();
                return hold != null;
            } catch (RedisException.Unacknowledged e) {
                long now = client.clock.nanoTime();
                if (!patience.waits()
                        || isTooLate(patience, client.replication(keys.lock()).age(now), now)) {
                    throw client.unavailable.notAcknowledged(
                            keys, now - began, client.availability(keys).silence(now) > 0, e);
                }
                backoff = backoff == null ? Backoff.ofRequests() : backoff;
                client.clock.pause(this, Math.min(backoff.next(), patience.remaining(now)));
                patience.throwIfInterrupted();
            } catch (Error e) {
                // Without a call first, for which there may be no room on the stack.
                attempt.stranded = true;
                client.watchdog.stranded = true;
                client.watchdog.wakeAt(0);
                throw e;
            }
        }
    }

    private boolean isTooLate(Patience patience, long outageNanos, long now) {
        return patience.isTimed()
                ? patience.remaining(now) <= 0
                : outageNanos > client.options.retryFor().toNanos();
    }

    /** Counts a re-entry; false if the hold turned out to be lost, so that the caller has to acquire anew. */
    private boolean reenter(Hold hold, Patience patience, long leaseMillis, boolean renewed)
            throws InterruptedException {
        checkCount(hold);
        long began = client.clock.nanoTime();
        int before = client.options.localReentry() ? 0 : hold.count;
        while (client.isValid(hold)) {
            long sent = client.clock.nanoTime();
            long timeout = Math.min(
                    patience.timeoutNanos(sent, client.options.commandTimeoutNanos()),
                    Math.max(1, hold.deadlineNanos() - sent));
            Call call = Protocol.reenter(hold, before, leaseMillis);
            try {
                Reply reply = client.run(call.with(client.options.acks()), timeout);
                if (!reply.is("OK")) {
                    client.lose(hold, LockLost.Reason.TAKEN);
                } else if (hold.extend(client.clock.nanoTime(), sent + LockOptions.validityNanos(leaseMillis))) {
                    hold.reentered(leaseMillis, renewed, sent + client.renewalNanos());
                    client.watchdog.wakeAt(hold.nextRenewalNanos);
                    return true;
                }
            } catch (RedisException e) {
                long now = client.clock.nanoTime();
                boolean hopeless = e instanceof RedisException.Refused refused && !refused.passing();
                boolean unacknowledged = e instanceof RedisException.Unacknowledged;
                long outage = unacknowledged
                        ? client.replication(keys.lock()).age(now)
                        : client.availability(keys).age(call, now);
                if (hopeless || isTooLate(patience, outage, now)) {
                    throw client.unavailable.toDo(
                            keys,
                            "was not entered once more",
                            "The calling thread still holds it, as often as before.",
                            now - began,
                            e);
                }
                patience.throwIfInterrupted();
                if (!unacknowledged) {
                    hold.unanswered = true;
                }
                client.clock.pause(this, REENTRY_PAUSE_NANOS);
            }
        }
        return false;
    }

    void unlock() {
        Hold hold = client.hold(keys);
        if (hold == null || hold.stranded) {
            throw notHeld();
        }
        if (!client.isValid(hold)) {
            throw unlockLost(hold);
        }
        if (hold.count > 1) {
            exit(hold);
        } else {
            release(hold);
        }
    }

    private void exit(Hold hold) {
        try {
            if (!client.options.localReentry() && isTaken(hold)) {
                client.lose(hold, LockLost.Reason.TAKEN);
            }
        } catch (Error e) {
            // As unlocked as an unlock of the JDK's lock would be that an error follows.
            hold.exited();
            throw e;
        }
        if (!client.isValid(hold)) {
            throw unlockLost(hold);
        }
        hold.exited();
    }

    /** Counts the inner unlock in Redis; whether the hold is not there any more. */
    private boolean isTaken(Hold hold) {
        try {
            return client.run(Protocol.releaseInner(hold), client.options.commandTimeoutNanos())
                    .is("GONE");
        } catch (RedisException e) {
            // The count in Redis is a mirror; the hold itself is as sure as its deadline.
            return false;
        }
    }

    /** Ends a hold. Its thread is done with it, so whatever goes wrong here, the watchdog goes on with the release. */
    private void release(Hold hold) {
        long sent = client.clock.nanoTime();
        try {
            StackSpace.ensure();
            long until = hold.beginRelease(sent);
            if (until == 0) {
                client.isValid(hold);
                throw unlockLost(hold);
            }
            publish();
            release(hold, sent, until);
        } catch (Throwable e) {
            hold.stranded = true;
            client.watchdog.stranded = true;
            client.watchdog.wakeAt(0);
            throw e;
        }
    }

    private void release(Hold hold, long sent, long until) {
        boolean keep = sent - hold.turnStartNanos < LockOptions.LOCAL_TURN_NANOS;
        boolean found = true;
        try {
            hold.heir = client.succession.heir(hold);
            Reply freed = hold.heir == null && isQuick(hold, sent)
                    ? client.run(Protocol.free(hold), client.options.commandTimeoutNanos())
                    : null;
            if (freed != null && freed.is("OK")) {
                client.gate.exit(keys, hold.attempt);
            } else if (freed == null) {
                found = handOn(hold, sent, keep, false);
            } else {
                crowded = true;
                hold.heir = client.succession.heir(hold);
                found = handOn(hold, sent, keep, freed.resent());
            }
        } catch (RedisException e) {
            Call call = Protocol.release(hold, hold.heir, keep, client.mailbox.isOpen());
            client.succession.releaseLater(hold, call, hold.heir);
            found = client.clock.nanoTime() < until || !hold.releasedTooLate();
        }
        if (!found) {
            client.ended(hold);
            throw unlockLost(hold);
        }
        // Not before: close() waits for releases, and an heir that has gone has to be taken out of Redis.
        client.holds.remove(hold);
    }

    /** Ends a hold in Redis and hands the lock on; false if somebody else had ended it. */
    private boolean handOn(Hold hold, long sent, boolean keep, boolean mayHaveRun) {
        Call call = Protocol.release(hold, hold.heir, keep, client.mailbox.isOpen());
        long left = sent + client.options.commandTimeoutNanos() - client.clock.nanoTime();
        Reply reply = client.run(call, Math.max(1, left));
        // Found nothing although nothing of it had run before.
        if (reply.is("GONE") && !reply.resent() && !mayHaveRun && hold.releaseFailed()) {
            return false;
        }
        crowded = !reply.is("FREED") || reply.values().contains(1L);
        client.succession.handOn(keys, hold.attempt, hold.heir, hold.turnStartNanos, reply, sent);
        return true;
    }

    /** Whether it is likely that nobody has come to wait behind a hold. */
    private boolean isQuick(Hold hold, long now) {
        return !crowded && client.redis.hasLines() && now - hold.turnStartNanos < LockOptions.SHORT_HOLD_NANOS;
    }

    private LockLostException unlockLost(Hold hold) {
        LockLostException exception = lost(hold);
        if (--hold.count == 0) {
            client.holds.remove(hold);
        }
        return exception;
    }

    /** Says how the calling thread lost this hold. */
    static LockLostException lost(Hold hold) {
        LockLost.Reason reason = hold.lossReason();
        return new LockLostException(hold.loss(reason == null ? LockLost.Reason.EXPIRED : reason));
    }

    private IllegalMonitorStateException notHeld() {
        return new IllegalMonitorStateException("Thread "
                + Thread.currentThread().getName() + " does not hold the lock \"" + keys.name()
                + "\": only the thread that locked it can do this, through the same RedisLocks.");
    }

    /** The calling thread's hold if it can be relied upon now, or null. */
    @Nullable
    Hold held() {
        Hold hold = client.hold(keys);
        return hold != null && client.isValid(hold) ? hold : null;
    }

    /** The calling thread's hold. */
    Hold ensureHeld() {
        Hold hold = client.hold(keys);
        if (hold == null) {
            throw notHeld();
        }
        if (!client.isValid(hold)) {
            throw lost(hold);
        }
        return hold;
    }

    long remainingNanos() {
        Hold hold = held();
        return hold == null ? 0 : Math.max(0, hold.deadlineNanos() - client.clock.nanoTime());
    }

    Queries queries() {
        return new Queries(client, keys);
    }

    Client client() {
        return client;
    }
}
