package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import org.jspecify.annotations.Nullable;

/**
 * One thread's way to a lock that it does not hold, from the gate to the hold. In short:
 *
 * <pre>
 *   until a verdict:
 *     granted               date it; if its claim may be over, ask again; let replicas confirm it; return the hold
 *     failed                leave everything, throw
 *     interrupted, too late leave everything, throw or return nothing
 *     after a failover      no grant counts and nobody asks until the grace is over
 *     my turn, no place     ask: taken | busy (open the mailbox, ask for a place) | queued | no answer (pause)
 *     else                  park
 * </pre>
 *
 * Whoever leaves first wins the verdict, so that a grant which comes at the same moment is either taken or given on,
 * never both and never neither.
 */
final class Contention {

    private final Client client;
    private final Attempt attempt;
    private final Patience patience;
    private final @Nullable Hold lost;

    private boolean asked;
    private boolean late;
    /** Since when each lock that Redis gave had lapsed when its answer came; 0 if none has. */
    private long lapsedSinceNanos;

    private boolean answered;
    private boolean busy;
    private long askAtNanos;
    private @Nullable Backoff backoff;
    private @Nullable RedisException failure;
    /** The grant that came with the confirmation of replicas, if they are waited for. */
    private Attempt.@Nullable Grant confirmed;
    /** Whether a grant is still to be confirmed by replicas, and the last request for that brought no answer. */
    private boolean unconfirmed;
    /** The hold that it came to, or null; also if an error has kept it from being returned. */
    @Nullable
    Hold made;

    /** Lost: the hold that the thread lost and has not unlocked yet, or null. */
    Contention(Client client, Attempt attempt, Patience patience, @Nullable Hold lost) {
        this.client = client;
        this.attempt = attempt;
        this.patience = patience;
        this.lost = lost;
    }

    /** Returns the hold, or null if the lock was busy for as long as the caller had patience. */
    @Nullable
    Hold contend() throws InterruptedException {
        try {
            if (attempt.waits && !attempt.fair) {
                if (!client.gate.enter(attempt)) {
                    attempt.lookAgain(client.clock.nanoTime());
                    client.watchdog.wakeAt(attempt.nextHeartbeatNanos);
                }
            } else {
                attempt.turn = true;
            }
            return await();
        } catch (Throwable e) {
            if (made != null) {
                // Before any call, for which there may be no room on the stack.
                made.stranded = true;
            }
            client.succession.abandon(attempt);
            throw e;
        }
    }

    private @Nullable Hold await() throws InterruptedException {
        while (true) {
            Attempt.Verdict verdict = attempt.verdict();
            if (verdict instanceof Attempt.Grant grant) {
                Hold hold = settle(grant);
                if (hold != null) {
                    return hold;
                }
                if (attempt.verdict() != grant) {
                    continue;
                }
                // Told before the thread that named us heir has handed on its turn, or not confirmed: wait for that.
            }
            if (verdict instanceof Attempt.Failure failed) {
                throw failed.exception();
            }
            if (patience.interrupted()) {
                if (attempt.leave(verdict)) {
                    client.succession.depart(attempt);
                    patience.thrown();
                    throw new InterruptedException();
                }
                continue;
            }
            long now = client.clock.nanoTime();
            boolean mayAsk = verdict == null && attempt.turn && (attempt.standing == null || attempt.roused);
            long grace = client.serverWatch.graceNanos(now);
            if (mayAsk && grace == 0 && askAtNanos <= now && (!asked || patience.remaining(now) > 0) && !busy) {
                ask();
            } else if (busy || patience.remaining(now) <= 0 || (grace > 0 && !patience.waits())) {
                if (attempt.leave(verdict)) {
                    return giveUp(now);
                }
            } else if (attempt.near) {
                linger(now);
            } else {
                long pause = mayAsk ? Math.max(askAtNanos - now, grace) : pauseNanos(now);
                client.clock.park(this, Math.min(patience.remaining(now), pause));
            }
        }
    }

    /** Stays awake while the turn before this one lasts, and lets every other thread go first. */
    @SuppressWarnings("ThreadPriorityCheck") // Nothing but the cost of waiting depends on it.
    private void linger(long now) {
        // Not by the client's clock: what is limited is the processor time that it takes.
        long end = System.nanoTime() + Math.min(Gate.AWAKE_NANOS, patience.remaining(now));
        do {
            Thread.yield();
        } while (attempt.near
                && attempt.undecided()
                && !Thread.currentThread().isInterrupted()
                && System.nanoTime() - end < 0);
        attempt.near = false;
    }

    private @Nullable Hold giveUp(long now) {
        boolean mayExist = attempt.mayRun();
        long grace = client.serverWatch.graceNanos(now);
        boolean known = isKnownToBeBusy(now);
        client.succession.depart(attempt);
        if (grace > 0 && !busy) {
            throw client.unavailable.tooSoon(attempt.keys, grace, mayExist);
        }
        if (lapsedSinceNanos != 0) {
            throw client.unavailable.tooFar(attempt, mayExist);
        }
        boolean heard = answered || attempt.standing != null;
        if (!heard && failure instanceof RedisException.Unready unready) {
            throw client.unavailable.notYet(attempt.keys, mayExist, unready);
        }
        if (unconfirmed || !known) {
            throw client.unavailable.notAcquired(attempt.keys, now - attempt.beganNanos, mayExist, failure);
        }
        return null;
    }

    /**
     * Whether an attempt that ends was told that the lock is busy, or knows it from the thread of this client that has
     * its turn before it; or whether, in its time, Redis answered others of this client and gave them locks, so that
     * there was only too little time. Who does not wait wants an answer.
     */
    private boolean isKnownToBeBusy(long now) {
        if (answered || attempt.standing != null) {
            return true;
        }
        Availability server = client.availability(attempt.keys);
        boolean hasSpoken = !asked || server.answeredSince(attempt.beganNanos);
        return patience.waits() && hasSpoken && server.age(now) == 0;
    }

    private void ask() {
        asked = true;
        attempt.roused = false;
        long sent = client.clock.nanoTime();
        long timeout = patience.timeoutNanos(sent, client.options.commandTimeoutNanos());
        ServerTimes.Date notAfter = client.serverTimes.date(sent, timeout);
        boolean takePlace = patience.waits() && client.mailbox.isOpen();
        try {
            Call call = attempt.quick
                    ? Protocol.take(attempt, notAfter)
                    : Protocol.acquire(attempt, notAfter, takePlace, client.suspect());
            Reply reply = client.run(call.with(client.options.acks()), timeout);
            attempt.answered(reply, notAfter);
            if (!reply.is("STALE")) {
                notAfter.saw(reply);
            }
            switch (reply.code()) {
                case "OK" -> {
                    attempt.known = true;
                    long deadline = sent + LockOptions.validityNanos(attempt.leaseMillis);
                    boolean previousLost = !attempt.quick && reply.number(1) == 1;
                    confirmed =
                            new Attempt.Grant(reply.number(0), previousLost, deadline, client.clock.nanoTime(), true);
                    attempt.decide(confirmed);
                }
                case "LINE" -> {
                    attempt.quick = false;
                    asked = false;
                }
                case "BUSY" -> {
                    answered = true;
                    lapsedSinceNanos = 0;
                    if (patience.waits()) {
                        attempt.quick = false;
                        client.mailbox.open(
                                patience.timeoutNanos(client.clock.nanoTime(), client.options.commandTimeoutNanos()));
                    } else {
                        busy = true;
                        // It asked for no place: nothing to leave, unless an earlier copy may still run.
                        attempt.known = attempt.mayRun();
                    }
                }
                case "QUEUED" -> {
                    answered = true;
                    lapsedSinceNanos = 0;
                    attempt.queued(sent, reply.number(0), reply.number(1));
                    client.watchdog.wakeAt(attempt.nextHeartbeatNanos);
                }
                case "LATE" -> {
                    // It told the time, by which the next one will not be late; the first was none.
                    if (!late) {
                        late = true;
                        asked = false;
                    }
                }
                default -> throw new IllegalStateException("Redis answered " + reply + " to " + attempt);
            }
        } catch (RedisException.Unacknowledged e) {
            // It does not say whether it was sent twice.
            attempt.mayHaveRun(notAfter);
            throw e;
        } catch (RedisException e) {
            failed(e, notAfter);
        } catch (Error e) {
            attempt.mayHaveRun(notAfter);
            throw e;
        }
    }

    private void failed(RedisException e, ServerTimes.Date notAfter) {
        failure = e;
        attempt.quick = false;
        attempt.unanswered(e, notAfter);
        long now = pause();
        boolean hopeless = e instanceof RedisException.Refused refused && !refused.passing();
        long outage = client.availability(attempt.keys).age(now);
        if (e instanceof RedisException.Unready unready) {
            // Some master may have its place.
            attempt.known = true;
            if (!patience.waits()) {
                attempt.decide(new Attempt.Failure(client.unavailable.notYet(attempt.keys, attempt.mayRun(), unready)));
            }
        } else if (hopeless
                || (!patience.isTimed() && outage > client.options.retryFor().toNanos())) {
            attempt.decide(new Attempt.Failure(client.unavailable.notAcquired(
                    attempt.keys, Math.max(outage, now - attempt.beganNanos), attempt.mayRun(), e)));
        }
    }

    private long pause() {
        long now = client.clock.nanoTime();
        if (backoff == null) {
            backoff = Backoff.ofRequests();
        }
        askAtNanos = now + backoff.next();
        return now;
    }

    /** Makes the hold of a grant; null if it may have lapsed and Redis must be asked, or if it cannot be dated yet. */
    @Nullable
    Hold settle(Attempt.Grant grant) {
        Attempt.Grant dated = grant.deadlineNanos() == 0 ? date(grant) : grant;
        long now = client.clock.nanoTime();
        if (dated.deadlineNanos() == 0 && !attempt.turn) {
            return null;
        }
        if (client.serverWatch.graceNanos(now) > 0) {
            // Calls go to the new server only once the grace has begun: no answer that came before it is of that one.
            askAnew(grant);
            return null;
        }
        if (dated.deadlineNanos() > now && client.options.replicaAcks() > 0 && !grant.equals(confirmed)) {
            if (askAtNanos > now) {
                return null;
            }
            dated = confirm(dated, now);
            if (dated == null) {
                return null;
            }
            now = client.clock.nanoTime();
        }
        if (dated.deadlineNanos() <= now) {
            askAnew(grant);
            return null;
        }
        return hold(dated, now);
    }

    /** Goes on without a grant that has lapsed, or that does not count yet. */
    private void askAnew(Attempt.Grant lapsed) {
        unconfirmed = false;
        if (attempt.fromCondition) {
            // It asks by its place, which knows how often the lock is to be held.
            attempt.nextHeartbeatNanos = 0;
            attempt.reopen(lapsed);
            client.failIfClosed(attempt);
            client.watchdog.wakeAt(0);
            return;
        }
        attempt.standing = null;
        attempt.reopen(lapsed);
        client.failIfClosed(attempt);
        if (lapsed.confirmed()) {
            // The answer took longer than the lease; do not ask in a tight loop.
            lapsed(pause());
        }
    }

    private void lapsed(long now) {
        lapsedSinceNanos = lapsedSinceNanos == 0 ? now : lapsedSinceNanos;
        if (!patience.isTimed()
                && now - lapsedSinceNanos > client.options.retryFor().toNanos()) {
            attempt.decide(new Attempt.Failure(client.unavailable.tooFar(attempt, true)));
        }
    }

    /**
     * Lets replicas confirm a grant that another request made, perhaps of another client: only what is written behind
     * it on the connection that waits can tell that they have it. Null if there was no answer.
     */
    private Attempt.@Nullable Grant confirm(Attempt.Grant grant, long sent) {
        long timeout = Math.min(
                patience.timeoutNanos(sent, client.options.commandTimeoutNanos()), grant.deadlineNanos() - sent);
        unconfirmed = true;
        try {
            Reply reply = client.run(Protocol.confirm(attempt).with(client.options.acks()), timeout);
            unconfirmed = false;
            long deadline = reply.is("OK") ? sent + LockOptions.validityNanos(attempt.leaseMillis) : sent;
            return new Attempt.Grant(grant.token(), grant.previousLost(), deadline, grant.turnStartNanos(), true);
        } catch (RedisException.Unacknowledged e) {
            pause();
            throw e;
        } catch (RedisException e) {
            failure = e;
            attempt.known = true;
            pause();
            return null;
        }
    }

    /** How long to wait before {@link #settle} can be tried once more. */
    long pauseNanos(long now) {
        if (!(attempt.verdict() instanceof Attempt.Grant)) {
            return Long.MAX_VALUE;
        }
        // The pause may have ended since the grant was looked at; without the turn, whoever hands that on wakes it.
        return askAtNanos > now ? askAtNanos - now : attempt.turn ? 0 : Long.MAX_VALUE;
    }

    private Hold hold(Attempt.Grant dated, long now) {
        long renewal;
        if (!dated.confirmed()) {
            // A third of what is left: the claim counts from the last heartbeat that was answered.
            renewal = now + (dated.deadlineNanos() - now) / LockOptions.RENEWALS_PER_LEASE;
        } else {
            renewal = attempt.renewed ? now + client.renewalNanos() : Long.MAX_VALUE;
        }
        Hold below = lost;
        if (lost != null && lost.below != null) {
            // One record is enough for all that the thread has still to unlock.
            below = lost.below;
            below.count += lost.count;
        }
        Hold hold = new Hold(attempt, dated, now, renewal, below);
        made = hold;
        // Not otherwise: a hold knows its heir, and each would keep the next in memory.
        attempt.had = hold.inDoubt ? hold : null;
        client.holds.put(hold);
        client.end(attempt);
        if (attempt.mayRun()) {
            client.succession.leaveLater(attempt);
        }
        if (hold.moves != client.serverWatch.moves()) {
            // The new server is asked of it at once.
            hold.nextRenewalNanos = now;
        }
        client.watchdog.wakeAt(Math.min(hold.nextRenewalNanos, hold.deadlineNanos()));
        return hold;
    }

    /**
     * Dates a grant that a message told of, without Redis' clock: its token is greater than the last one when the
     * latest answered request ran, so it was made after that request was sent.
     */
    private Attempt.Grant date(Attempt.Grant grant) {
        Attempt.Standing standing = attempt.standing;
        long deadline = standing == null || grant.token() <= standing.lastToken()
                ? 0
                : standing.sentNanos() + LockOptions.validityNanos(LockOptions.claimMillis(attempt.leaseMillis));
        return new Attempt.Grant(
                grant.token(), grant.previousLost(), deadline, grant.turnStartNanos(), grant.confirmed());
    }
}
