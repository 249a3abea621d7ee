package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One thread's wait in a Condition, from giving its hold up to having it back. In short:
 *
 * <pre>
 *   one script: take a place in the Condition, end the hold, hand the lock on
 *   until granted:
 *     interrupted or too late   one script: leave the Condition for the line, unless signalled before
 *     else                      park
 *   restore the count
 * </pre>
 */
final class ConditionWait {

    private static final long PAUSE_NANOS = 20_000_000;
    /** How often somebody who waits by the wall clock looks at it. */
    private static final long WALL_CLOCK_NANOS = 500_000_000;

    enum Ending {
        SIGNALLED,
        INTERRUPTED,
        TIMED_OUT
    }

    private final Client client;
    private final Hold hold;
    private final Patience patience;
    private final RedisCondition condition;
    private final @Nullable Instant until;
    private Ending ending = Ending.SIGNALLED;
    private boolean settled;
    private long rejoinAtNanos;
    /** Its way back to the lock; null before. */
    private @Nullable Contention contention;

    /** Until: a time of the wall clock, which may be set meanwhile, at which it ends besides; or null. */
    ConditionWait(Client client, RedisCondition condition, Hold hold, Patience patience, @Nullable Instant until) {
        this.client = client;
        this.condition = condition;
        this.hold = hold;
        this.patience = patience;
        this.until = until;
    }

    /**
     * Waits; returns whether that ended by a signal, or spuriously, and not because the time was over.
     *
     * @throws InterruptedException if an interrupt came before a signal; the lock is held again all the same
     */
    boolean await() throws InterruptedException {
        client.checkOpen();
        Attempt attempt = client.begin(hold, condition);
        try {
            giveUp(attempt);
            awaitGrant(attempt);
        } catch (Throwable e) {
            // The lock is not held here: the client is closed, or Redis is away for good.
            hold.stranded = hold.isReleasing();
            // Also one that an error has kept from coming back with it. Without a call, for which there may be no room
            // on the stack.
            Hold made = contention == null ? null : contention.made;
            if (made != null) {
                made.stranded = true;
            }
            attempt.stranded = e instanceof Error;
            client.watchdog.stranded = true;
            try {
                client.succession.abandon(attempt);
            } catch (Error more) {
                attempt.stranded = true;
                throw more;
            } finally {
                client.watchdog.wakeAt(0);
            }
            throw e;
        }
        if (ending == Ending.INTERRUPTED) {
            patience.thrown();
            throw new InterruptedException();
        }
        return ending == Ending.SIGNALLED;
    }

    /** Sends the script that ends the hold, until it is answered: as long as it is not, nobody knows who holds. */
    private void giveUp(Attempt attempt) {
        openMailbox(attempt);
        long began = client.clock.nanoTime();
        long deadline = hold.beginRelease(began);
        if (deadline == 0) {
            client.isValid(hold);
            client.end(attempt);
            throw Sync.lost(hold);
        }
        Sync.publish();
        Attempt heir = client.succession.heir(hold);
        hold.heir = heir;
        boolean keep = began - hold.turnStartNanos < LockOptions.LOCAL_TURN_NANOS;
        boolean repeated = false;
        while (true) {
            long sent = client.clock.nanoTime();
            long timeout = client.options.commandTimeoutNanos();
            ServerTimes.Date notAfter = client.serverTimes.date(sent, timeout);
            try {
                Call call = Protocol.await(hold, attempt, notAfter, condition.id(), heir, keep);
                Reply reply = client.run(call, timeout);
                attempt.answered(reply, notAfter);
                if (reply.is("LATE")) {
                    // It told the time, by which the next one will not be late.
                    notAfter.saw(reply);
                    repeated |= reply.resent();
                    client.clock.park(this, PAUSE_NANOS);
                    continue;
                }
                if (reply.is("GONE") && !reply.resent() && !repeated && hold.releaseFailed()) {
                    client.end(attempt);
                    client.ended(hold);
                    throw Sync.lost(hold);
                }
                client.succession.handOn(hold.keys(), hold.attempt, heir, hold.turnStartNanos, reply, sent);
                client.holds.remove(hold);
                // Whoever is granted the lock for this attempt has a greater token than the hold that was given up.
                attempt.queued(began, hold.token, -1);
                client.watchdog.wakeAt(attempt.nextHeartbeatNanos);
                return;
            } catch (RedisException e) {
                attempt.unanswered(e, notAfter);
                notAnswered(attempt, heir, deadline, repeated, began, e);
                repeated = true;
                client.clock.park(this, PAUSE_NANOS);
            } catch (Error e) {
                attempt.mayHaveRun(notAfter);
                throw e;
            }
        }
    }

    private void openMailbox(Attempt attempt) {
        long began = client.clock.nanoTime();
        try {
            client.mailbox.open(client.options.commandTimeoutNanos());
        } catch (RedisException e) {
            client.end(attempt);
            throw stillHeld(began, e);
        }
    }

    private void notAnswered(
            Attempt attempt, @Nullable Attempt heir, long deadline, boolean repeated, long began, RedisException e) {
        long now = client.clock.nanoTime();
        if (e instanceof RedisException.Refused && !repeated) {
            // Refused before it changed anything.
            hold.notReleased(deadline);
            // It has not looked after the hold meanwhile.
            client.watchdog.wakeAt(0);
            client.end(attempt);
            throw stillHeld(began, e);
        }
        if (now - began > client.options.retryFor().toNanos()) {
            client.holds.remove(hold);
            client.succession.releaseLater(hold, Protocol.release(hold, heir, false, false), heir);
            throw client.unavailable.toDo(
                    hold.keys(),
                    "was given up in a Condition",
                    "It is not held any more; do not unlock it.",
                    now - began,
                    e);
        }
    }

    private LockUnavailableException stillHeld(long began, RedisException e) {
        return client.unavailable.toDo(
                hold.keys(),
                "was not given up in a Condition",
                "The calling thread still holds it, as often as before.",
                client.clock.nanoTime() - began,
                e);
    }

    private void awaitGrant(Attempt attempt) {
        Contention wayBack = new Contention(client, attempt, Patience.endless(), hold.below);
        contention = wayBack;
        while (true) {
            Attempt.Verdict verdict = attempt.verdict();
            if (verdict instanceof Attempt.Grant grant) {
                Hold back = settle(wayBack, grant);
                if (back != null) {
                    back.resume(hold);
                    Sync.publish();
                    return;
                }
                if (attempt.verdict() == grant) {
                    client.clock.park(this, wayBack.pauseNanos(client.clock.nanoTime()));
                }
                continue;
            }
            if (verdict instanceof Attempt.Failure failed) {
                throw failed.exception();
            }
            long now = client.clock.nanoTime();
            boolean interrupted = patience.interrupted();
            boolean over = interrupted || remaining(now) <= 0;
            // Queueing would take a lock that is free.
            long pause = Math.max(rejoinAtNanos - now, client.serverWatch.graceNanos(now));
            if (settled) {
                client.clock.park(this, Long.MAX_VALUE);
            } else if (!over) {
                // A wall clock that is set wakes nobody.
                long left = remaining(now);
                client.clock.park(this, until == null ? left : Math.min(left, WALL_CLOCK_NANOS));
            } else if (pause <= 0) {
                rejoin(attempt, interrupted ? Ending.INTERRUPTED : Ending.TIMED_OUT);
            } else {
                client.clock.park(this, pause);
            }
        }
    }

    /** As that of the contention; but whoever waits in a Condition asks until enough replicas confirm the lock his. */
    private @Nullable Hold settle(Contention wayBack, Attempt.Grant grant) {
        try {
            return wayBack.settle(grant);
        } catch (RedisException.Unacknowledged e) {
            long tried = client.replication(hold.lock()).age(client.clock.nanoTime());
            if (tried > client.options.retryFor().toNanos()) {
                throw client.unavailable.notBack(hold.keys(), tried, e);
            }
            return null;
        }
    }

    private long remaining(long now) {
        if (until == null) {
            return patience.remaining(now);
        }
        return Math.max(0, client.clock.untilNanos(until));
    }

    /** Queues for the lock; what came first, the signal or the reason to go, is decided in Redis. */
    private void rejoin(Attempt attempt, Ending reason) {
        long sent = client.clock.nanoTime();
        long timeout = client.options.commandTimeoutNanos();
        ServerTimes.Date notAfter = client.serverTimes.date(sent, timeout);
        try {
            Reply reply = client.run(Protocol.rejoin(attempt, notAfter), timeout);
            attempt.answered(reply, notAfter);
            notAfter.saw(reply);
            if (reply.is("QUEUED")) {
                ending = reason;
                attempt.queued(sent, reply.number(0), reply.number(1));
                client.watchdog.wakeAt(attempt.nextHeartbeatNanos);
            }
            if (reply.is("GRANTED")) {
                ending = reason;
                attempt.queued(sent, reply.number(0), -1);
                attempt.decide(Attempt.Grant.claimed(
                        reply, sent, client.clock.nanoTime(), LockOptions.claimMillis(attempt.leaseMillis)));
            }
            if (!reply.is("LATE")) {
                settled = true;
                attempt.condition = null;
                attempt.mustReturn(sent);
            }
        } catch (RedisException e) {
            attempt.unanswered(e, notAfter);
            long now = client.clock.nanoTime();
            rejoinAtNanos = now + PAUSE_NANOS;
            long outage = client.availability(hold.keys()).age(now);
            if (outage > client.options.retryFor().toNanos()) {
                attempt.decide(new Attempt.Failure(client.unavailable.notBack(hold.keys(), outage, e)));
            }
        } catch (Error e) {
            attempt.mayHaveRun(notAfter);
            throw e;
        }
    }
}
