package io.github.redislocks.shared;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Downgrade;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.Task;
import io.github.redislocks.watchdog.Watchdog;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The sharers of a client. Ends a share that nobody uses any more, that a writer has recalled, or that stands in the
 * way of a writer of this client.
 */
public final class Shares implements Task {

    /** For how long a share lingers at least after its last reader. */
    private static final long LINGER_NANOS = 1_000_000;
    /** The longest time between two looks whether anybody reads under a share. */
    private static final long MOST_PAUSE_NANOS = 128_000_000;
    /** The longest time between two such looks at a share that a residency keeps. */
    private static final long MOST_KEPT_PAUSE_NANOS = 1_500_000_000;
    /** How long a thread that tries the write lock sleeps between two looks whether its client's share has ended. */
    private static final long TRY_PAUSE_NANOS = 20_000;

    final Clock clock;
    final MonitoredRedis monitored;
    final UnavailableMessages unavailable;
    final Owners owners;
    final Losses losses;
    final Handoff handoff;
    final EventNotifier events;
    final Settings settings;
    final Attempts attempts;
    private final Holds holds;
    private final Watchdog watchdog;
    /** The sharers by the lock's key. An entry lasts as long as a lock object or a share refers to the sharer. */
    private final Cache<String, Sharer> byLock =
            Caffeine.newBuilder().executor(Runnable::run).weakValues().build();
    /** Whether the client has ever had a sharer. Until then, no method looks into {@link #byLock}. */
    private volatile boolean any;

    private volatile boolean closed;
    /** How many idle shares the present inspection has left. Used by the watchdog only. */
    private int idle;

    public Shares(RedisAccess access, WaitingParts parts, Owners owners, EventNotifier events) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.owners = owners;
        this.losses = parts.losses();
        this.handoff = parts.handoff();
        this.holds = parts.holds();
        this.attempts = parts.attempts();
        this.watchdog = parts.watchdog();
        this.events = events;
    }

    /** The sharer of a lock, for one more lock object with the given settings. */
    Sharer sharer(LockKeys keys, Settings own) {
        any = true;
        Sharer sharer = byLock.get(keys.lock(), lock -> new Sharer(owners.clientId(), keys, losses, holds));
        sharer.wants(own.leaseMillis(), Math.max(LINGER_NANOS, own.residencyNanos()));
        return sharer;
    }

    private @Nullable Sharer known(String lock) {
        return any ? byLock.getIfPresent(lock) : null;
    }

    /** The downgrade of the calling thread, if it reads inside this hold, which is about to be released; else null. */
    public @Nullable Downgrade byRelease(Hold hold) {
        Sharer sharer = known(hold.lock());
        Cell cell = sharer == null ? null : sharer.known(hold.owner);
        return sharer == null || cell == null || cell.write() == null
                ? null
                : new Downgrading(this, sharer, cell, hold);
    }

    /** Makes the calling thread the asker for its downgrade, and fails the attempt of any other asker. */
    void supersede(Sharer sharer, Owner caller) {
        sharer.beginsDowngrade(caller, () -> {
            for (Attempt attempt : attempts.all()) {
                if (attempt.owner.equals(sharer) && attempt.undecided()) {
                    attempt.decide(new Attempt.Failure(new Superseded()));
                }
            }
        });
    }

    /** Fails the attempt of an asker that a downgrade replaces. No caller gets this exception. */
    static final class Superseded extends RuntimeException {

        private static final long serialVersionUID = 1;
    }

    /** Begins a share for the asker, whose cell is given, and for all others that wait. */
    void begin(Sharer sharer, Cell asker, Hold hold) {
        boolean made = false;
        Share share;
        try {
            share = new Share(hold, LINGER_NANOS);
            made = true;
        } finally {
            if (!made) {
                handoff.strand(hold);
            }
        }
        sharer.begin(asker, share);
        watchdog.wakeAt(hold.acquiredNanos + LINGER_NANOS);
        // Check only after other threads can see the share: a thread that recalls it, or closes the client, first notes
        // that, and then looks for the share.
        if (sharer.isRecalled(share) || closed) {
            close(sharer, share);
        }
    }

    private void close(Sharer sharer, Share share) {
        share.close(clock.nanoTime());
        left(sharer, share);
    }

    /** Ends a share if it is closed and nobody is inside. Call after every exit. */
    void left(Sharer sharer, @Nullable Share share) {
        if (share != null && !share.isOpen() && sharer.beginsEnd(share)) {
            end(sharer, share.hold);
        }
    }

    /** Ends a share in Redis, in the background. */
    private void end(Sharer sharer, Hold hold) {
        boolean sent = false;
        try {
            // Make what the readers did visible to the next writer, which may be a thread of another client in this
            // JVM.
            MemoryEdge.publish();
            long until = hold.beginRelease(clock.nanoTime());
            if (until == 0) {
                losses.isValid(hold);
                ended(sharer, hold, false);
            } else {
                handoff.release(hold, false, until, inGoodOrder -> ended(sharer, hold, inGoodOrder));
            }
            sent = true;
        } finally {
            if (!sent) {
                handoff.strand(hold);
            }
        }
    }

    private void ended(Sharer sharer, Hold hold, boolean inGoodOrder) {
        try {
            if (!inGoodOrder) {
                losses.ended(hold);
            }
            holds.remove(hold);
        } finally {
            sharer.ended(hold);
        }
    }

    /** Called when a writer waits for the lock that this client shares, or is about to share, by {@code attempt}. */
    public void byWaiter(String lock, long attempt) {
        Sharer sharer = known(lock);
        if (sharer != null) {
            sharer.wanted(attempt);
            Share share = sharer.share();
            if (share != null && sharer.isRecalled(share)) {
                close(sharer, share);
            }
        }
    }

    /**
     * Called when a writer of another client tries the lock. Ends the share if nobody uses it, and then answers.
     *
     * @param answer has the writer ask again
     */
    public void byTry(String lock, Runnable answer) {
        Sharer sharer = known(lock);
        Share share = sharer == null ? null : sharer.share();
        if (sharer != null && share != null) {
            closeIfUnused(sharer, share);
            sharer.answerAfter(share, answer);
        } else {
            answer.run();
        }
    }

    /** As {@link io.github.redislocks.waiting.Wanted#byWriter}. */
    public boolean byWriter(LockKeys keys, WaitLimit limit) {
        Sharer sharer = known(keys.lock());
        Share share = sharer == null ? null : sharer.share();
        if (sharer == null || share == null) {
            return true;
        }
        Cell cell = sharer.known(owners.caller());
        if (cell != null && cell.share() != null) {
            return refuse(keys, limit);
        }
        // A share that is used is closed by the recall of a writer that waits in Redis.
        closeIfUnused(sharer, share);
        if (!limit.waits()) {
            if (!share.isEnding() && sharer.isUsed(share)) {
                return false;
            }
            awaitEnd(sharer, share, limit);
        }
        return true;
    }

    private static boolean refuse(LockKeys keys, WaitLimit limit) {
        if (!limit.waits()) {
            return false;
        }
        throw new IllegalMonitorStateException("The calling thread reads under the lock \"" + Shown.of(keys.name())
                + "\" and wants to write: it would wait for itself. Unlock the read lock before you lock the write lock,"
                + " and check then what you have read; or lock the write lock first, and the read lock inside it.");
    }

    /** Waits until a share that nobody uses has ended, so that a try finds the lock free. */
    @SuppressWarnings("ReferenceEquality")
    private void awaitEnd(Sharer sharer, Share share, WaitLimit limit) {
        while (sharer.share() == share
                && share.isEnding()
                && limit.timeoutNanos(clock.nanoTime(), settings.commandTimeoutNanos()) > 0
                // This clears the interrupt flag: with the flag set, the thread would not sleep.
                && !limit.interrupted()) {
            LockSupport.parkNanos(sharer, TRY_PAUSE_NANOS);
        }
    }

    /**
     * Returns true if Redis has replied since {@code beganNanos} that a writer has the lock or waits for it: to the
     * attempt of this client that waits in Redis or, if the share is closed, to a renewal. Without such a reply, has
     * the watchdog ask Redis, and returns false.
     */
    boolean isKnownToBeBusy(Sharer sharer, long beganNanos) {
        Share share = sharer.share();
        if (share != null) {
            return !share.isOpen() && !share.isEnding() && isWriterThere(sharer, share, beganNanos);
        }
        for (Attempt attempt : attempts.all()) {
            Attempt.QueuePosition position = attempt.owner.equals(sharer) ? attempt.position() : null;
            if (position != null) {
                return isStillBehind(sharer, attempt, position, beganNanos);
            }
        }
        return false;
    }

    private boolean isStillBehind(Sharer sharer, Attempt attempt, Attempt.QueuePosition position, long beganNanos) {
        if (position.sentNanos() - beganNanos >= 0) {
            return true;
        }
        // The writer may have gone, and the message about that may not have arrived.
        if (sharer.beginsLook(beganNanos, clock.nanoTime())) {
            attempt.doubted();
            watchdog.wakeAt(0);
        }
        return false;
    }

    /** Asks Redis whether the writer for which a share was closed still waits; false until Redis has answered. */
    private boolean isWriterThere(Sharer sharer, Share share, long beganNanos) {
        long since = Math.max(beganNanos, share.closedNanos());
        if (sharer.renewedNanos() - since >= 0) {
            return !share.isOpen();
        }
        if (sharer.beginsLook(since, clock.nanoTime())) {
            // A renewal that is under way was sent too early: its answer must not put off this one.
            share.hold.doubted();
            share.hold.renewAt(since);
            watchdog.wakeAt(0);
        }
        return false;
    }

    /** The number of read holds under one lock, of the threads and handles of this client. */
    int countReads(Sharer sharer) {
        int count = 0;
        Share share = sharer.share();
        for (Cell cell : sharer.cells()) {
            count += (share != null && cell.isIn(share)) || cell.write() != null ? cell.count() : 0;
        }
        return count;
    }

    /** The threads that wait for a share of the lock. */
    public Collection<Thread> queuedThreads(LockKeys keys) {
        List<Thread> threads = new ArrayList<>();
        waiting().forEach((waits, at) -> {
            if (waits instanceof Thread thread && at.lock().equals(keys.lock())) {
                threads.add(thread);
            }
        });
        return threads;
    }

    /**
     * The threads that wait for a share, and the handles for which no thread waits, each with its lock. A handle that
     * is the asker is left out.
     */
    public Map<Object, LockKeys> waiting() {
        Map<Object, LockKeys> waiting = new HashMap<>();
        for (Sharer sharer : byLock.asMap().values()) {
            for (Cell cell : sharer.cells()) {
                Thread thread = cell.owner.thread();
                if (cell.isWaiting() && (thread != null || !sharer.isAsker(cell.owner))) {
                    waiting.put(thread == null ? cell.owner : thread, sharer.keys);
                }
            }
        }
        return waiting;
    }

    /** The number of shares that a residency keeps and under which no thread reads. */
    public long countIdle() {
        return all().stream()
                .filter(sharer -> sharer.lingerNanos() > LINGER_NANOS)
                .filter(sharer -> {
                    Share share = sharer.share();
                    return share != null && share.hold.isOpen() && !sharer.isUsed(share);
                })
                .count();
    }

    /** The sharers that have, or may still have, a share in Redis. */
    private List<Sharer> all() {
        return (any ? holds.all() : List.<Hold>of())
                .stream()
                        .filter(hold -> hold.owner instanceof Sharer)
                        .map(hold -> (Sharer) hold.owner)
                        .toList();
    }

    @Override
    public long inspect(long now, long horizon, Batch due) {
        if (!any) {
            return Long.MAX_VALUE;
        }
        idle = 0;
        long[] next = {Long.MAX_VALUE};
        Steps.forEach(all(), sharer -> next[0] = Math.min(next[0], inspect(sharer, now)));
        return next[0];
    }

    private long inspect(Sharer sharer, long now) {
        Share share = sharer.share();
        if (share == null || !share.hold.isOpen()) {
            return Long.MAX_VALUE;
        }
        if (now >= share.lookNanos()) {
            boolean used = look(sharer, share, now);
            long linger = sharer.lingerNanos();
            if (!used && now - share.usedNanos() >= linger) {
                closeIfUnused(sharer, share);
            }
            share.lookAgain(now, linger, Math.max(MOST_PAUSE_NANOS, Math.min(linger, MOST_KEPT_PAUSE_NANOS)));
        }
        if (share.isIdle() && ++idle > settings.maxResident()) {
            closeIfUnused(sharer, share);
        }
        // A closed share may not have ended yet: a renewal that finds a writer only closes the share, and an error may
        // have stopped the thread that closed it.
        left(sharer, share);
        return share.lookNanos();
    }

    /** Looks whether threads read under a share, and ends the possessions of threads that have ended. */
    private boolean look(Sharer sharer, Share share, long now) {
        boolean used = false;
        for (Cell cell : sharer.cells()) {
            share.used(cell.usedNanos());
            if (cell.isIn(share) && cell.owner.isAlive()) {
                used = true;
            } else if (!cell.owner.isAlive()) {
                sharer.tell(cell.lose(share.hold, LockLost.Reason.ABANDONED));
                sharer.forget(cell);
            }
        }
        if (used) {
            share.used(now);
        }
        return used;
    }

    /** Ends a share that nobody seems to use. If a thread has entered meanwhile, opens the share again. */
    private void closeIfUnused(Sharer sharer, Share share) {
        if (!share.closeIdle()) {
            return;
        }
        left(sharer, share);
        sharer.reopenIdle(share);
    }

    /** Ends each share: at once if nobody is inside, else after its last reader. Later shares are closed at once. */
    public void close() {
        closed = true;
        Steps.forEach(all(), sharer -> {
            Share share = sharer.share();
            sharer.closes();
            if (share != null) {
                close(sharer, share);
            }
        });
    }
}
