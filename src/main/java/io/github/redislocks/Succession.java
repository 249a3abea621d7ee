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

    /** Hands the turn on as an answer to release or leave says. */
    void handOn(Keys keys, long contender, @Nullable Attempt heir, long turnStartNanos, Reply reply, long sentNanos) {
        boolean named = heir != null && (reply.is("SUCCEEDED") || reply.is("QUEUED"));
        if (heir == null || !named) {
            client.gate.exit(keys, contender);
            return;
        }
        if (!client.gate.inherit(contender, heir)) {
            giveOn(heir, contender);
        } else if (reply.is("SUCCEEDED")) {
            long deadline = sentNanos + LockOptions.validityNanos(heir.leaseMillis);
            heir.decide(new Attempt.Grant(reply.number(0), reply.number(1) == 1, deadline, turnStartNanos, true));
        } else {
            heir.queued(sentNanos, reply.number(0), reply.number(1));
            client.watchdog.wakeAt(heir.nextHeartbeatNanos);
            if (!heir.undecided()) {
                // Its grant came before this answer, and could not be dated until now.
                LockSupport.unpark(heir.thread);
            }
        }
    }

    /** Redis has served an heir that is no longer there. */
    private void giveOn(Attempt gone, long contender) {
        Attempt heir = heir(gone.keys, contender);
        Call call = Protocol.leave(gone.keys, gone.owner, gone.number, false, heir, client.mailbox.isOpen());
        long now = client.clock.nanoTime();
        client.watchdog.run(new Errand(
                client.clock,
                call,
                now,
                now + client.leftoverNanos(gone.leaseMillis),
                () -> true,
                (reply, sent) -> handOn(gone.keys, contender, heir, client.clock.nanoTime(), reply, sent),
                () -> client.gate.exit(gone.keys, contender)));
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
        boolean away = client.outage.age(now) > 0;
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
        Call call = Protocol.leave(attempt.keys, attempt.owner, attempt.number, false, heir, client.mailbox.isOpen());
        try {
            Reply reply = client.run(call, Math.min(LEAVE_PATIENCE_NANOS, client.options.commandTimeoutNanos()));
            handOn(attempt.keys, attempt.number, heir, client.clock.nanoTime(), reply, now);
        } catch (RedisException e) {
            client.gate.exit(attempt.keys, attempt.number);
            leaveLater(attempt, client.clock.nanoTime());
        }
    }

    /** Sends in the background, until it is answered, a release that was not answered in time. */
    void releaseLater(Hold hold, Call call, @Nullable Attempt heir) {
        long now = client.clock.nanoTime();
        client.watchdog.run(new Errand(
                client.clock,
                call,
                now,
                now + client.leftoverNanos(hold.leaseMillis),
                () -> true,
                (reply, sent) -> handOn(hold.keys, hold.attempt, heir, hold.turnStartNanos, reply, sent),
                () -> client.gate.exit(hold.keys, hold.attempt)));
    }

    /** Ends in the background, from a time on, what an attempt may have in Redis, unless its hold is held. */
    void leaveLater(Attempt attempt, long notBeforeNanos) {
        Call call = Protocol.leave(attempt.keys, attempt.owner, attempt.number, false, null, false);
        long until = Math.max(notBeforeNanos, client.clock.nanoTime()) + client.leftoverNanos(attempt.leaseMillis);
        client.watchdog.run(new Errand(
                client.clock,
                call,
                notBeforeNanos,
                until,
                () -> !client.holds(attempt),
                (reply, sent) -> {},
                () -> {}));
    }

    /** Ends in the background a hold that its owner's thread left behind. */
    void leaveLater(Hold hold) {
        Call call = Protocol.leave(hold.keys, hold.owner, hold.attempt, true, null, false);
        long now = client.clock.nanoTime();
        client.watchdog.run(new Errand(
                client.clock,
                call,
                now,
                now + client.leftoverNanos(hold.leaseMillis),
                () -> true,
                (reply, sent) -> {},
                () -> {}));
    }
}
