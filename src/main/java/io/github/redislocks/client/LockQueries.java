package io.github.redislocks.client;

import io.github.redislocks.LockInspection;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.PermitScripts;
import io.github.redislocks.script.ShareScripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.PermitPool;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.WaitingParts;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Queries about locks, and {@code forceUnlock}, for threads that need not hold the lock. */
public final class LockQueries {

    private final String clientId;
    private final Clock clock;
    private final Settings settings;
    private final MonitoredRedis monitored;
    private final FailoverEpoch epoch;
    private final ServerTimes times;
    private final UnavailableMessages unavailable;
    private final Holds holds;
    private final Attempts attempts;
    private final Losses losses;
    private final Residences residences;

    public LockQueries(String clientId, RedisAccess access, WaitingParts parts, Residences residences) {
        this.clientId = clientId;
        this.clock = access.clock();
        this.settings = access.settings();
        this.monitored = access.monitored();
        this.epoch = access.epoch();
        this.times = access.serverTimes();
        this.unavailable = access.unavailable();
        this.holds = parts.holds();
        this.attempts = parts.attempts();
        this.losses = parts.losses();
        this.residences = residences;
    }

    public LockInspection inspect(LockKeys keys) {
        Reply reply = look(keys, Inspections.inspect(keys));
        return new LocalThreads(keys, holds.all(), attempts.all(), residences).addTo(read(keys, reply));
    }

    /** Returns who has permits of a pool, and who waits for some. */
    public PermitsInspection inspect(PermitPool pool) {
        return PermitScripts.inspection(pool, look(pool.keys(), PermitScripts.show(pool.keys())));
    }

    /** The token of the last writer; 0 if a writer has the lock, or if after a failover nobody knows yet. */
    public long version(LockKeys keys) {
        long version = look(keys, ShareScripts.version(keys)).number(0);
        return epoch.graceNanos(clock.nanoTime()) > 0 ? 0 : version;
    }

    /** Sets how many permits there are; returns how many there were. */
    public int resize(PermitPool pool, int size) {
        UnavailableMessages.Operation resizing = UnavailableMessages.Operation.RESIZING;
        Call.NotAfter notAfter = times.date(clock.nanoTime(), settings.commandTimeoutNanos());
        Reply reply = ask(pool.keys(), PermitScripts.resize(pool.keys(), size, notAfter), resizing);
        if (reply.is(Call.LATE)) {
            RedisException late = new RedisException.Unanswered("the request ran too late", false, null);
            throw unavailable.notDone(resizing, pool.keys(), settings.commandTimeoutNanos(), late);
        }
        pool.isKnown();
        return reply.number(0) == 0 ? pool.size() : (int) reply.number(0);
    }

    private LockInspection read(LockKeys keys, Reply reply) {
        try {
            return Inspections.of(keys.name(), reply);
        } catch (IllegalArgumentException e) {
            RedisException cause = new RedisException.Refused(String.valueOf(e.getMessage()), e);
            throw unavailable.notDone(UnavailableMessages.Operation.INSPECTION, keys, 0, cause);
        }
    }

    /**
     * Adds the threads that have an attempt for the lock: they wait for the lock, or have been granted it and their
     * call has not returned yet.
     */
    void addQueuedThreads(LockKeys keys, Set<Thread> threads) {
        for (Attempt attempt : attempts.all()) {
            if (attempt.waits
                    && !attempt.owner.isShared()
                    && !attempt.isInCondition()
                    && attempt.keys.lock().equals(keys.lock())) {
                addThread(attempt, threads);
            }
        }
    }

    /** The threads of this client that wait in a Condition. */
    public List<Thread> waitingThreads(LockKeys keys, String condition) {
        List<Thread> threads = new ArrayList<>();
        for (Attempt attempt : attempts.all()) {
            if (attempt.isIn(condition) && attempt.keys.lock().equals(keys.lock())) {
                addThread(attempt, threads);
            }
        }
        return threads;
    }

    private static void addThread(Attempt attempt, Collection<Thread> threads) {
        Thread thread = attempt.owner.thread();
        if (thread != null) {
            threads.add(thread);
        }
    }

    /** Asks Redis whether the lock is held. */
    boolean isLocked(LockKeys keys) {
        Inspections.Held held = Inspections.held(look(keys, Inspections.locked(keys)));
        return held != null && !held.owner().equals(LockKeys.READERS);
    }

    public boolean forceUnlock(LockKeys keys) {
        long sent = clock.nanoTime();
        Inspections.Held seen = Inspections.held(look(keys, Inspections.locked(keys)));
        if (seen == null) {
            return false;
        }
        Reply forced = ask(keys, Inspections.force(keys, seen), UnavailableMessages.Operation.FORCE);
        if (!Answer.isGone(forced)) {
            endHere(keys, seen, sent);
            losses.forced(keys, seen.token(), clientId);
        }
        return true;
    }

    /**
     * Ends the hold at once if it is a hold of this client. All shares that were there at the look have ended with it.
     *
     * @param seen the hold as Redis reported it
     * @param sentNanos the sending time of the request to which Redis reported the hold
     */
    private void endHere(LockKeys keys, Inspections.Held seen, long sentNanos) {
        boolean shares = seen.owner().equals(LockKeys.READERS);
        for (Hold hold : holds.all()) {
            boolean same = shares
                    ? hold.owner.isShared() && hold.acquiredNanos - sentNanos <= 0
                    : hold.attempt == seen.attempt() && hold.owner.id.equals(seen.owner());
            if (same && hold.lock().equals(keys.lock())) {
                hold.owner.confirmed(sentNanos);
                losses.taken(hold);
            }
        }
    }

    private Reply look(LockKeys keys, Call call) {
        return ask(keys, call, UnavailableMessages.Operation.INSPECTION);
    }

    private Reply ask(LockKeys keys, Call call, UnavailableMessages.Operation operation) {
        attempts.checkOpen();
        long sent = clock.nanoTime();
        try {
            return monitored.run(call, settings.commandTimeoutNanos());
        } catch (RedisException e) {
            // A close of the client ends its requests: report the close instead of the failed request.
            attempts.checkOpen();
            throw unavailable.notDone(operation, keys, clock.nanoTime() - sent, e);
        }
    }

    /** The owner of this client that holds the lock; null if this client has no valid hold of it. */
    @Nullable
    public Owner localOwner(LockKeys keys) {
        for (Hold hold : holds.all()) {
            if (hold.lock().equals(keys.lock())
                    && !hold.owner.isShared()
                    && losses.isValid(hold)
                    && hold.use() != null) {
                return hold.owner;
            }
        }
        return null;
    }
}
