package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Who of a client has its turn at a lock next, when a hold or an attempt ends: a release or a leave names the first
 * thread that waits at the gate as heir, and the answer hands the turn on.
 *
 * <p>Whoever names an heir looks after it: the same call with the same heir is sent until it is answered, and an heir
 * that Redis has served or put in line, and that has gone meanwhile, is taken out of Redis, with the next as its heir.
 * So a thread that waits at the gate can go without a word to Redis.
 *
 * <p>An attempt in doubt, of which a request was not answered, or not by its first copy, or is under way, names no
 * heir: if that request runs late, a late copy of a release or leave that named one would run as well, and make an heir
 * the owner that is long over. The next at the gate asks by itself then.
 */
final class Succession {

    /**
     * How long a caller that gives up or unlocks waits until nothing of it is left in Redis; the background goes on.
     */
    private static final long MOMENT_NANOS = 50_000_000;

    private final Client client;

    Succession(Client client) {
        this.client = client;
    }

    /** The heir of a hold's turn, now possibly known to Redis; or null, also if its attempt is in doubt. */
    @Nullable
    Attempt heir(Hold hold) {
        return hold.inDoubt ? null : heir(hold.keys(), hold.attempt);
    }

    private @Nullable Attempt heir(Keys keys, long contender) {
        // Who waits while the client closes will not be there to inherit.
        Attempt heir = client.isClosed() ? null : client.gate.heir(keys, contender);
        if (heir != null) {
            heir.known = true;
        }
        return heir;
    }

    /** What is left to do in Redis for a thread that goes, which waits for it a moment. */
    private static final class Remainder {

        private final Thread thread = Thread.currentThread();
        private volatile boolean over;

        /** It is done, or Redis does not answer. */
        void end() {
            over = true;
            LockSupport.unpark(thread);
        }
    }

    /**
     * Hands the turn on as an answer to a release says. An heir that has gone meanwhile is out of Redis on return,
     * unless that takes longer than a moment: else an unlock would leave a lock that nobody has, and that is not free.
     */
    void handOn(Keys keys, long contender, @Nullable Attempt heir, long turnStartNanos, Reply reply, long sentNanos) {
        Attempt gone = inherit(keys, contender, heir, turnStartNanos, reply, sentNanos);
        if (gone != null) {
            Remainder rest = new Remainder();
            client.watchdog.run(new Leave(gone, new Turn(contender), rest));
            await(rest);
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

    /**
     * Takes an attempt whose caller has given up out of the gate and of Redis. Returns when it is done, or after a
     * moment what needs longer is left to the background.
     */
    void depart(Attempt attempt) {
        boolean done = false;
        try {
            if (client.gate.leave(attempt) != Gate.Left.WAITING) {
                leaveRedis(attempt);
            }
            done = true;
        } finally {
            if (done) {
                client.end(attempt);
            } else {
                attempt.stranded = true;
                client.watchdog.stranded = true;
                client.watchdog.wakeAt(0);
            }
        }
    }

    private void leaveRedis(Attempt attempt) {
        boolean away = client.availability(attempt.keys).silence(client.clock.nanoTime()) > 0;
        Remainder rest = new Remainder();
        if (leaves(attempt, away, rest) && !away) {
            await(rest);
        }
    }

    /** Begins to take an attempt out of Redis; whether it may have anything there. Away: whether nobody will answer. */
    private boolean leaves(Attempt attempt, boolean away, @Nullable Remainder rest) {
        Turn turn = away || !attempt.known || attempt.isInDoubt() ? null : new Turn(attempt.number);
        if (attempt.known) {
            client.watchdog.run(new Leave(attempt, turn, rest));
        }
        if (turn == null) {
            // Whoever waits at the gate does not wait for that.
            client.gate.exit(attempt.keys, attempt.number);
        }
        return attempt.known;
    }

    /**
     * Takes an attempt out of the gate and of Redis whose caller goes by an exception or error. If that throws an error
     * again, the rest is for the watchdog, to which the caller leaves it.
     */
    void abandon(Attempt attempt) {
        if (client.isUnderWay(attempt)) {
            leaveForGood(attempt);
            depart(attempt);
        }
    }

    private static void leaveForGood(Attempt attempt) {
        while (!attempt.leave(attempt.verdict())) {
            // A grant or a failure came just now.
            Thread.onSpinWait();
        }
    }

    /** Does for an attempt what its caller could not; by the watchdog, which does not wait. */
    void rescue(Attempt attempt) {
        leaveForGood(attempt);
        if (client.gate.leave(attempt) != Gate.Left.WAITING) {
            leaves(attempt, false, null);
        }
        client.end(attempt);
    }

    /** Goes on with a release that its thread could not end, or not even begin; by the watchdog. */
    void rescue(Hold hold) {
        hold.beginRelease(client.clock.nanoTime());
        if (hold.isReleasing()) {
            boolean takePlace = client.mailbox.isOpen();
            releaseLater(hold, Protocol.release(hold, hold.heir, false, takePlace), hold.heir);
            client.holds.remove(hold);
        }
        hold.stranded = false;
    }

    /** Waits a moment; an interrupt does not end that and is kept. */
    private void await(Remainder rest) {
        long until = client.clock.nanoTime() + MOMENT_NANOS;
        boolean interrupted = false;
        while (!rest.over && client.clock.nanoTime() < until) {
            client.clock.parkUntil(this, until);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends in the background what an attempt that is over may have in Redis; if it has a hold, once that has ended. */
    void leaveLater(Attempt attempt) {
        client.watchdog.run(new Leave(attempt, null, null));
    }

    /** Ends in the background a hold that its owner's thread left behind. */
    void leaveLater(Hold hold) {
        Call call = Protocol.leave(hold.keys(), hold.owner.id, hold.attempt, true, null, false);
        client.watchdog.run(new HoldEnd(hold, call));
    }

    /** Sends in the background, until it is answered, a release that was not answered in time. */
    void releaseLater(Hold hold, Call call, @Nullable Attempt heir) {
        client.watchdog.run(new HoldEnd(hold, call) {
            @Override
            long follow(Reply reply, long sentNanos) {
                Attempt gone = inherit(hold.keys(), hold.attempt, heir, hold.turnStartNanos, reply, sentNanos);
                if (gone != null) {
                    client.watchdog.run(new Leave(gone, new Turn(hold.attempt), null));
                }
                return DONE;
            }

            @Override
            void giveUp() {
                client.gate.exit(hold.keys(), hold.attempt);
            }
        });
    }

    /** Has the leaves of an attempt that is over sent at once: it was granted the lock. */
    void hasten(long attempt) {
        client.watchdog.hasten(errand -> errand instanceof Leave leave && leave.gone.number == attempt);
    }

    /** Until when a request that was not answered may leave something behind, and how long that may last. */
    private long untilNanos(long leaseMillis) {
        return client.clock.nanoTime() + 2 * client.options.commandTimeoutNanos() + client.leftoverNanos(leaseMillis);
    }

    /** The one call that ends a hold. */
    private class HoldEnd extends Errand {

        private final Call call;

        HoldEnd(Hold hold, Call call) {
            super(client.clock, hold.lock(), untilNanos(hold.leaseMillis()));
            this.call = call;
        }

        @Override
        Call call() {
            return call;
        }

        @Override
        long follow(Reply reply, long sentNanos) {
            return DONE;
        }
    }

    /** The turn at the gate that a leave hands on. */
    private record Turn(long contender) {}

    /**
     * Takes an attempt that is over out of Redis, and then whatever a request of it that was not answered may put there
     * late: Redis says for how long one may still run.
     */
    private final class Leave extends Errand {

        private final Attempt gone;
        private final @Nullable Attempt heir;
        private final boolean takePlace;
        private final @Nullable Remainder rest;
        private @Nullable Turn turn;

        /** Turn: to be handed on by the answer, or null. Rest: whom to tell, or null. */
        Leave(Attempt gone, @Nullable Turn turn, @Nullable Remainder rest) {
            super(client.clock, gone.keys.lock(), untilNanos(gone.leaseMillis));
            this.gone = gone;
            this.turn = turn;
            this.rest = rest;
            this.heir = turn == null ? null : heir(gone.keys, turn.contender);
            this.takePlace = client.mailbox.isOpen();
        }

        @Override
        Call call() {
            return Protocol.leave(gone, client.hasLost(gone), turn == null ? null : heir, takePlace);
        }

        @Override
        Need need() {
            return client.needOfLeaving(gone);
        }

        @Override
        long follow(Reply reply, long sentNanos) {
            Turn handedOn = turn;
            Attempt next = handedOn == null
                    ? null
                    : inherit(gone.keys, handedOn.contender, heir, client.clock.nanoTime(), reply, sentNanos);
            if (next == null) {
                unanswered();
            } else {
                client.watchdog.run(new Leave(next, handedOn, rest));
            }
            turn = null;
            // For how long something may still run, of which Redis tells last.
            List<Object> values = reply.values();
            long waitMillis = values.isEmpty() ? 0 : reply.number(values.size() - 1);
            return waitMillis == 0 ? DONE : waitMillis * 1_000_000;
        }

        /** Nobody waits for it any longer. */
        @Override
        void unanswered() {
            if (rest != null) {
                rest.end();
            }
        }

        @Override
        void giveUp() {
            if (turn != null) {
                client.gate.exit(gone.keys, turn.contender);
            }
        }
    }
}
