package io.github.redislocks.engine;

import io.github.redislocks.LockListener;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.concurrent.Backoff;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Driver;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Acquisitions for which no thread waits. One thread of the client continues each acquisition when it was signalled or
 * when its time has come. That thread never waits for Redis: the threads that send renewals also send the requests of
 * the acquisitions, in batches. Users' code that depends on the result runs on the thread for handles.
 */
public final class AsyncAcquisitions {

    private final Clock clock;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final EventNotifier events;
    private final DutyLoop loop;
    private final ReentrantLock starting = new ReentrantLock();
    private boolean started;

    /** The head of a stack of signalled acquisitions, linked by {@code behind}, so that a signal allocates nothing. */
    private final AtomicReference<@Nullable Pending> news = new AtomicReference<>();
    /** The acquisitions taken from the stack, in the order of their signals. Used by the loop's thread only. */
    private @Nullable Pending next;
    /** Until when the thread has nothing to do unless an acquisition is signalled; 0 while it works. */
    private volatile long restsUntilNanos;
    /** The acquisitions that wait for a time, in the order of that time. Used by the loop's thread only. */
    private final SortedSet<Pending> timed = new TreeSet<>(
            Comparator.comparingLong((Pending each) -> each.atNanos).thenComparing(each -> each.owner.id));
    /** All acquisitions that have not ended. */
    private final Set<Pending> open = ConcurrentHashMap.newKeySet();

    public AsyncAcquisitions(RedisAccess access, EventNotifier events, Threads threads) {
        this.clock = access.clock();
        this.monitored = access.monitored();
        this.unavailable = access.unavailable();
        this.events = events;
        this.loop = new DutyLoop(threads, "async", this::turn);
    }

    /** The caller of an acquisition. The executor of handles calls one of the methods, once. */
    public interface Caller {

        void acquired(Held held);

        /** The lock was busy for as long as the caller had time. */
        void busy();

        void failed(Throwable failure);
    }

    /** Returns at once; throws {@link IllegalStateException} if the client is closed. */
    public Pending begin(Sync lock, HandleOwner owner, WaitLimit limit, Caller caller) {
        startThread();
        Pending pending = new Pending(lock, owner, limit, caller);
        open.add(pending);
        try {
            owner.wakes(pending);
            pending.begin();
            pending.begun = true;
        } finally {
            if (!pending.begun) {
                pending.strand();
                open.remove(pending);
                // Report the failure, unless the thread that closes the client has already done so.
                if (pending.told.compareAndSet(false, true)) {
                    long tried = clock.nanoTime() - pending.beganNanos;
                    events.notAcquired(lock.keys, tried, LockNotAcquired.Outcome.FAILED, pending.call);
                }
            }
        }
        pending.run();
        if (loop.isClosed()) {
            pending.closed();
        }
        return pending;
    }

    private void startThread() {
        starting.lock();
        try {
            if (!started) {
                loop.start();
                started = true;
            }
        } finally {
            starting.unlock();
        }
    }

    private void turn() {
        // Clear the interrupt flag: code of the user may have set it, in a thread factory or a dependent of a future.
        Thread.interrupted();
        Pending first = next == null ? take() : next;
        if (first != null) {
            next = first.behind;
            first.behind = null;
            // The acquisition has left the list: from here on a signal adds it again.
            first.queued.set(false);
            first.advance();
            return;
        }
        long until = timed.isEmpty() ? Long.MAX_VALUE : timed.first().atNanos;
        if (until <= clock.nanoTime()) {
            Pending due = timed.first();
            timed.remove(due);
            due.advance();
        } else {
            restsUntilNanos = until;
            clock.parkUntil(this, until);
            restsUntilNanos = 0;
        }
    }

    /** Whether there is nothing to do until an acquisition is signalled or its time comes. */
    public boolean isIdle() {
        return loop.isClosed() || (news.get() == null && (open.isEmpty() || restsUntilNanos > clock.nanoTime()));
    }

    /** Empties the stack; returns the acquisitions in the order of their signals, linked by {@code behind}. */
    private @Nullable Pending take() {
        Pending first = null;
        Pending last = news.getAndSet(null);
        while (last != null) {
            Pending before = last.behind;
            last.behind = first;
            first = last;
            last = before;
        }
        return first;
    }

    public int count() {
        return open.size();
    }

    /** Ends the thread, waits for it, and fails the acquisitions that have not ended. */
    public void close(Duration limit) {
        loop.close();
        Threads.join(List.of(loop.thread()), null, limit);
        for (Pending pending : open) {
            pending.closed();
        }
    }

    /** An acquisition that has not ended. {@code run} signals that its state has changed. */
    public final class Pending implements Runnable {

        private final Sync lock;
        private final LockKeys keys;
        private final HandleOwner owner;
        private final WaitLimit limit;
        private final Caller caller;
        private final long beganNanos = clock.nanoTime();
        private final LockListener.@Nullable Acquiring call;
        private final AtomicBoolean queued = new AtomicBoolean();
        /** Gives the acquisition up, and leaves nothing of it in Redis. Returns at once. */
        public final Runnable cancellation = () -> {
            cancelled = true;
            run();
        };

        private volatile boolean cancelled;
        /** Whether the caller's thread has begun the first attempt: thus attempts queue in the order of the calls. */
        private volatile boolean begun;
        /**
         * The present try; null during a pause between two tries, and after the end. This and all fields below are used
         * by the caller's thread until {@link #begun} is set, and then by the loop's thread.
         */
        private @Nullable Driver acquisition;

        private @Nullable Backoff backoff;
        /** When to continue this acquisition, if it is in {@code timed}. */
        private long atNanos;

        private volatile boolean ended;
        /** An error that has still to be reported to the caller; or null. */
        private @Nullable Throwable met;
        /** The next acquisition in the list of signalled ones. */
        private @Nullable Pending behind;
        /** Whether the result for the caller is decided. */
        private final AtomicBoolean told = new AtomicBoolean();

        private Pending(Sync lock, HandleOwner owner, WaitLimit limit, Caller caller) {
            this.lock = lock;
            this.keys = lock.keys;
            this.owner = owner;
            this.limit = limit;
            this.caller = caller;
            this.call = events.isHeard() ? events.begun(keys) : null;
        }

        @Override
        public void run() {
            if (queued.compareAndSet(false, true)) {
                Pending last = news.get();
                behind = last;
                while (!news.compareAndSet(last, this)) {
                    last = news.get();
                    behind = last;
                }
                loop.wake();
            }
        }

        /** Begins a try, which may join a queue. */
        private void begin() {
            Driver next = lock.unattended(owner, limit);
            limit.begin(clock.nanoTime());
            acquisition = next;
            next.begin();
        }

        private void advance() {
            try {
                Throwable failure = met;
                if (failure != null) {
                    fail(failure, LockNotAcquired.Outcome.FAILED);
                    met = null;
                } else if (begun && !ended) {
                    step();
                }
            } catch (Throwable e) {
                // There may be no memory now to report the error. Keep it: the next advance() reports it.
                met = e;
                run();
                strand();
                throw e;
            }
        }

        /** Leaves the acquisition to the watchdog, after an error. */
        private void strand() {
            if (acquisition != null) {
                acquisition.strand();
            }
        }

        private void step() {
            try {
                if (acquisition == null) {
                    if (cancelled) {
                        fail(new CancellationException(), LockNotAcquired.Outcome.INTERRUPTED);
                        return;
                    }
                    if (timed.contains(this)) {
                        return;
                    }
                    begin();
                }
                goOn(acquisition);
            } catch (RedisException.Unacknowledged e) {
                abandon();
                pauseOrFail(e);
            } catch (InterruptedException e) {
                throw new AssertionError("It waits for nothing", e);
            } catch (RuntimeException e) {
                abandon();
                fail(e, LockNotAcquired.Outcome.FAILED);
            }
        }

        private void goOn(@Nullable Driver current) throws InterruptedException {
            if (current == null) {
                return;
            }
            if (cancelled) {
                if (current.cancel()) {
                    fail(new CancellationException(), LockNotAcquired.Outcome.INTERRUPTED);
                }
                return;
            }
            long now = clock.nanoTime();
            long pause = current.advance();
            Held held = current.hold();
            if (held != null) {
                succeed(current, held);
            } else if (pause < 0) {
                end(LockNotAcquired.Outcome.BUSY, caller::busy);
            } else if (pause != Long.MAX_VALUE) {
                lookAgain(now + pause);
            }
        }

        private void lookAgain(long nanos) {
            timed.remove(this);
            atNanos = nanos;
            timed.add(this);
        }

        private void abandon() {
            if (acquisition != null) {
                acquisition.abandon();
                acquisition = null;
            }
        }

        /** After a grant that too few replicas confirmed: another attempt after a pause, or a failure. */
        private void pauseOrFail(RedisException.Unacknowledged e) {
            long now = clock.nanoTime();
            if (!limit.waits()
                    || limit.isTooLate(monitored.replication(keys.lock()).age(now), now)) {
                boolean silent = monitored.of(keys.lock()).silence(now) > 0;
                fail(unavailable.notAcknowledged(keys, now - beganNanos, silent, e), LockNotAcquired.Outcome.FAILED);
                return;
            }
            if (backoff == null) {
                backoff = Backoff.ofRequests();
            }
            lookAgain(now + backoff.next());
        }

        private void succeed(Driver done, Held held) {
            MemoryEdge.publish();
            rest();
            events.notifyHandle(() -> {
                if (!isFirstResult()) {
                    done.strand();
                    return;
                }
                try {
                    if (events.isHeard()) {
                        events.acquired(keys, held, beganNanos, call);
                    }
                } finally {
                    caller.acquired(held);
                }
            });
            acquisition = null;
        }

        private void fail(Throwable failure, LockNotAcquired.Outcome outcome) {
            end(outcome, () -> caller.failed(failure));
        }

        private void end(LockNotAcquired.Outcome outcome, Runnable result) {
            rest();
            events.notifyHandle(() -> {
                if (isFirstResult()) {
                    try {
                        events.notAcquired(keys, clock.nanoTime() - beganNanos, outcome, call);
                    } finally {
                        result.run();
                    }
                }
            });
            acquisition = null;
        }

        /** Ends the acquisition; returns true if no other result was reported. */
        private boolean isFirstResult() {
            open.remove(this);
            return told.compareAndSet(false, true);
        }

        /** Fails the acquisition, since the client has been closed. The loop's thread has ended. */
        private void closed() {
            // Other readers may wait for the share that this acquisition asks for.
            strand();
            fail(Attempts.closedException(), LockNotAcquired.Outcome.FAILED);
        }

        private void rest() {
            ended = true;
            owner.rests();
            // After the client is closed, another thread may end this acquisition. That thread must not touch `timed`,
            // which belongs to the loop's thread and is not used any more.
            if (!loop.isClosed()) {
                timed.remove(this);
            }
        }
    }
}
