package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Who of a client has its turn at a lock next, when a hold or an attempt ends: sends the release or the leave with the
 * first thread that waits at the gate as heir, and hands the turn on by the answer. An heir that has gone meanwhile is
 * taken out of Redis, with the next as its heir.
 */
final class Succession {

    /** How long a caller that gives up waits for the answer to its leave, before it is sent in the background. */
    private static final long LEAVE_PATIENCE_NANOS = 50_000_000;

    /**
     * How many heirs in a row, that go while they are named, a caller takes out before the rest is for the background.
     */
    private static final int GONE_HEIRS = 8;

    private final Client client;

    Succession(Client client) {
        this.client = client;
    }

    /** The heir of the turn, now possibly known to Redis, or null. */
    @Nullable
    Attempt heir(Keys keys, long contender) {
        // Who waits while the client closes will not be there to inherit.
        Attempt heir = client.isClosed() ? null : client.gate.heir(keys, contender);
        if (heir != null) {
            heir.known = true;
        }
        return heir;
    }

    /**
     * Hands the turn on as an answer to release or leave says. An heir that has gone meanwhile is out of Redis on
     * return, or Redis does not answer: else an unlock would leave a lock that nobody has, and that is not free.
     */
    void handOn(Keys keys, long contender, @Nullable Attempt heir, long turnStartNanos, Reply reply, long sentNanos) {
        Attempt gone = inherit(keys, contender, heir, turnStartNanos, reply, sentNanos);
        for (int i = 0; gone != null && i < GONE_HEIRS; i++) {
            gone = giveOn(gone, contender);
        }
        if (gone != null) {
            giveOnLater(gone, contender);
        }
    }

    /** Gives the turn to the heir; returns it if Redis has served it but it is no longer there, so the turn is kept. */
    private @Nullable Attempt inherit(
            Keys keys, long contender, @Nullable Attempt heir, long turnStartNanos, Reply reply, long sentNanos) {
        boolean named = heir != null && (reply.is("SUCCEEDED") || reply.is("QUEUED"));
        if (heir == null || !named) {
            client.gate.exit(keys, contender);
            return null;
        }
        if (!client.gate.inherit(contender, heir)) {
            return heir;
        }
        boolean undecided;
        if (reply.is("SUCCEEDED")) {
            long deadline = sentNanos + LockOptions.validityNanos(heir.leaseMillis);
            undecided = heir.decide(
                    new Attempt.Grant(reply.number(0), reply.number(1) == 1, deadline, turnStartNanos, true));
        } else {
            heir.queued(sentNanos, reply.number(0), reply.number(1));
            client.watchdog.wakeAt(heir.nextHeartbeatNanos);
            undecided = heir.undecided();
        }
        if (!undecided) {
            // A message told of a grant before this answer, and the heir slept on until it had the turn.
            LockSupport.unpark(heir.owner.thread);
        }
        if (reply.is("SUCCEEDED")) {
            client.gate.succeeded(keys, heir.number);
        }
        return null;
    }

    /** Takes an heir that has gone out of Redis, with the next in its place; returns that if it has gone as well. */
    private @Nullable Attempt giveOn(Attempt gone, long contender) {
        Attempt heir = heir(gone.keys, contender);
        Call call = leaveOf(gone, heir);
        long sent = client.clock.nanoTime();
        try {
            Reply reply = client.run(call, leavePatienceNanos());
            return inherit(gone.keys, contender, heir, client.clock.nanoTime(), reply, sent);
        } catch (RedisException e) {
            handOnLater(gone.keys, contender, heir, gone.leaseMillis, sent, call);
            return null;
        }
    }

    private void giveOnLater(Attempt gone, long contender) {
        Attempt heir = heir(gone.keys, contender);
        long now = client.clock.nanoTime();
        handOnLater(gone.keys, contender, heir, gone.leaseMillis, now, leaveOf(gone, heir));
    }

    private Call leaveOf(Attempt gone, @Nullable Attempt heir) {
        return Protocol.leave(gone.keys, gone.owner.id, gone.number, false, heir, client.mailbox.isOpen());
    }

    private long leavePatienceNanos() {
        return Math.min(LEAVE_PATIENCE_NANOS, client.options.commandTimeoutNanos());
    }

    /**
     * Takes an attempt whose caller has given up out of the gate and of Redis. Returns when it is done, or in the
     * background what needs longer than a moment.
     */
    void depart(Attempt attempt) {
        try {
            if (client.gate.leave(attempt) != Gate.Left.WAITING) {
                leaveRedis(attempt);
            }
        } finally {
            client.end(attempt);
        }
    }

    private void leaveRedis(Attempt attempt) {
        if (!attempt.known) {
            client.gate.exit(attempt.keys, attempt.number);
            return;
        }
        // A request of it that was not answered may still run: only a leave after that is final.
        long now = client.clock.nanoTime();
        boolean quiet = attempt.quietFromNanos() <= now;
        boolean away = client.outage(attempt.keys).age(now) > 0;
        if (!away && (quiet || attempt.standing != null)) {
            leave(attempt);
        } else {
            client.gate.exit(attempt.keys, attempt.number);
        }
        if (away || !quiet) {
            leaveLater(attempt, Math.max(now, attempt.quietFromNanos()));
        }
    }

    private void leave(Attempt attempt) {
        long now = client.clock.nanoTime();
        Attempt heir = heir(attempt.keys, attempt.number);
        Call call = leaveOf(attempt, heir);
        try {
            Reply reply = client.run(call, leavePatienceNanos());
            handOn(attempt.keys, attempt.number, heir, client.clock.nanoTime(), reply, now);
        } catch (RedisException e) {
            client.gate.exit(attempt.keys, attempt.number);
            leaveLater(attempt, client.clock.nanoTime());
        }
    }

    /** Sends in the background, until it is answered, a release that was not answered in time. */
    void releaseLater(Hold hold, Call call, @Nullable Attempt heir) {
        handOnLater(hold.keys(), hold.attempt, heir, hold.leaseMillis(), hold.turnStartNanos, call);
    }

    private void handOnLater(
            Keys keys, long contender, @Nullable Attempt heir, long leaseMillis, long turnStartNanos, Call call) {
        long now = client.clock.nanoTime();
        client.watchdog.run(new Errand(
                client.clock,
                keys.lock(),
                () -> call,
                now,
                now + client.leftoverNanos(leaseMillis),
                () -> Errand.Need.NOW,
                (reply, sent) -> {
                    Attempt gone = inherit(keys, contender, heir, turnStartNanos, reply, sent);
                    if (gone != null) {
                        // Not by the thread that has the answers: it must not wait for another.
                        giveOnLater(gone, contender);
                    }
                },
                () -> client.gate.exit(keys, contender)));
    }

    /** Ends in the background, from a time on, what an attempt may have in Redis, unless its hold is held. */
    void leaveLater(Attempt attempt, long notBeforeNanos) {
        long until = Math.max(notBeforeNanos, client.clock.nanoTime()) + client.leftoverNanos(attempt.leaseMillis);
        client.watchdog.run(new Errand(
                client.clock,
                attempt.keys.lock(),
                () -> Protocol.leave(
                        attempt.keys, attempt.owner.id, attempt.number, client.mayHaveLost(attempt), null, false),
                notBeforeNanos,
                until,
                () -> client.needOfLeaving(attempt),
                (reply, sent) -> {},
                () -> {}));
    }

    /** Ends in the background a hold that its owner's thread left behind. */
    void leaveLater(Hold hold) {
        Call call = Protocol.leave(hold.keys(), hold.owner.id, hold.attempt, true, null, false);
        long now = client.clock.nanoTime();
        client.watchdog.run(new Errand(
                client.clock,
                hold.lock(),
                () -> call,
                now,
                now + client.leftoverNanos(hold.leaseMillis()),
                () -> Errand.Need.NOW,
                (reply, sent) -> {},
                () -> {}));
    }
}
