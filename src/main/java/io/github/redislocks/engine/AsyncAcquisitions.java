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
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Handoff;
import java.time.Duration;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Acquisitions for which no thread waits. One thread of the client goes on with each when there is news of it or its
 * time has come, and never waits for Redis: requests are sent in batches by the threads that send renewals. What users
 * make depend on the result runs on the thread that tells handles.
 */
public final class AsyncAcquisitions {

    private final Clock clock;
    private final Attempts attempts;
    private final Acquisitions acquisitions;
    private final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    private final Handoff handoff;
    private final EventNotifier events;
    private final DutyLoop loop;
    private final ReentrantLock starting = new ReentrantLock();
    private boolean started;

    /** The last of those with news, each of which knows the one before; so that no news needs memory. */
    private final AtomicReference<@Nullable Pending> news = new AtomicReference<>();
    /** Those with news that have been taken, in their order; of the thread. */
    private @Nullable Pending next;
    /** Until when the thread has nothing to do but what is in the news; 0 while it works. */
    private volatile long restsUntilNanos;
    /** Those that have to be looked at when a time has come; of the thread. */
    private final PriorityQueue<Timer> timers = new PriorityQueue<>();
    /** All that have not ended. */
    private final Set<Pending> open = ConcurrentHashMap.newKeySet();

    public AsyncAcquisitions(
            Clock clock,
            Attempts attempts,
            Acquisitions acquisitions,
            MonitoredRedis monitored,
            UnavailableMessages unavailable,
            Handoff handoff,
            EventNotifier events,
            Threads threads) {
        this.clock = clock;
        this.attempts = attempts;
        this.acquisitions = acquisitions;
        this.monitored = monitored;
        this.unavailable = unavailable;
        this.handoff = handoff;
        this.events = events;
        this.loop = new DutyLoop(threads, "async", this::turn);
    }

    /** Who is told what an acquisition came to, once, by the thread that tells handles. */
    public interface Caller {

        /** It has the lock. */
        void acquired(Hold hold);

        /** Has to release the lock, which came after the cancellation. Runs on the thread of the acquisitions. */
        void unwanted(Hold hold);

        /** It will not have it. */
        void failed(Throwable failure);
    }

    /** A time at which one is to be looked at, unless that is no more wanted by then; of the thread. */
    private static final class Timer implements Comparable<Timer> {

        final long atNanos;
        /** Null if it is not wanted any more: then the time alone is kept until it has come. */
        @Nullable
        Pending pending;

        Timer(long atNanos, Pending pending) {
            this.atNanos = atNanos;
            this.pending = pending;
        }

        @Override
        public int compareTo(Timer other) {
            return Long.compare(atNanos, other.atNanos);
        }
    }

    /**
     * Begins an acquisition. Returns at once.
     *
     * @throws IllegalStateException if the client is closed
     */
    public Pending begin(LockKeys keys, HandleOwner owner, Attempt.Request request, long retryForNanos, Caller caller) {
        startThread();
        Pending pending = new Pending(keys, owner, request, WaitLimit.endless(retryForNanos), caller);
        open.add(pending);
        try {
            owner.wakes(pending);
            pending.begin();
        } catch (Throwable e) {
            open.remove(pending);
            events.notAcquired(keys, clock, pending.beganNanos, LockNotAcquired.Outcome.FAILED, pending.call);
            throw e;
        }
        pending.begun = true;
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
        Pending first = next == null ? take() : next;
        if (first != null) {
            next = first.behind;
            first.behind = null;
            first.advance();
            return;
        }
        long now = clock.nanoTime();
        Timer timer = timers.peek();
        if (timer != null && timer.atNanos <= now) {
            timers.remove();
            Pending due = timer.pending;
            if (due != null) {
                due.due();
            }
        } else {
            long until = timer == null ? Long.MAX_VALUE : timer.atNanos;
            restsUntilNanos = until;
            clock.parkUntil(this, until);
            restsUntilNanos = 0;
        }
    }

    /** Whether there is nothing to do now, so that only news or time brings something. */
    public boolean isIdle() {
        return loop.isClosed() || (news.get() == null && (open.isEmpty() || restsUntilNanos > clock.nanoTime()));
    }

    /** Takes all that have news now, in their order; returns the first. */
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

    /** How many have not ended. */
    public int count() {
        return open.size();
    }

    /** Ends the thread, which is waited for, and fails what has not ended. */
    public void close(Duration limit) {
        loop.close();
        Threads.join(List.of(loop.thread()), null, limit);
        for (Pending pending : open) {
            pending.closed();
        }
    }

    /** One acquisition. Running it says that there is news of it. */
    public final class Pending implements Runnable {

        private final LockKeys keys;
        private final HandleOwner owner;
        private final Attempt.Request request;
        private final WaitLimit limit;
        private final Caller caller;
        private final long beganNanos = clock.nanoTime();
        private final LockListener.@Nullable Acquiring call;
        private final AtomicBoolean queued = new AtomicBoolean();
        /** Gives up: nothing is left in Redis. Returns at once. */
        public final Runnable cancellation = () -> {
            cancelled = true;
            run();
        };

        private volatile boolean cancelled;
        /** Set by the caller's thread, which begins the first attempt, since the order of calls counts. */
        private volatile boolean begun;
        /** Of the caller's thread until it has begun, then of the client's, as all below. */
        private @Nullable Attempt attempt;
        /** Null while it pauses between two attempts, and when it has ended. */
        private Acquisitions.@Nullable Unattended acquisition;

        private @Nullable Backoff backoff;
        private @Nullable Timer timer;
        private volatile boolean ended;
        /** Its neighbour among those with news. */
        private @Nullable Pending behind;
        /** The hold, from before the caller knows of it; of the client's thread. */
        private @Nullable Hold acquired;
        /** Whether the caller was told, or has no need to be. */
        private final AtomicBoolean told = new AtomicBoolean();

        private Pending(LockKeys keys, HandleOwner owner, Attempt.Request request, WaitLimit limit, Caller caller) {
            this.keys = keys;
            this.owner = owner;
            this.request = request;
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

        /** Begins an attempt, with its place in the local queue. */
        private void begin() {
            Attempt next = attempts.make(keys, owner, request, limit);
            attempt = next;
            try {
                attempts.begin(next);
                Acquisitions.Unattended made = acquisitions.unattended(next, limit);
                acquisition = made;
                made.begin();
            } catch (Error e) {
                handoff.strand(next);
                throw e;
            }
        }

        private void due() {
            timer = null;
            advance();
        }

        private void forgetTimer() {
            Timer unwanted = timer;
            timer = null;
            if (unwanted != null) {
                unwanted.pending = null;
            }
        }

        private void advance() {
            queued.set(false);
            if (ended) {
                giveBack();
            }
            if (!begun || ended) {
                return;
            }
            try {
                step();
            } catch (Throwable e) {
                // For want of memory or stack: nothing that allocates comes first.
                try {
                    if (acquisition != null) {
                        acquisition.strand();
                    }
                } finally {
                    if (attempt != null) {
                        handoff.strand(attempt);
                    }
                    fail(e, LockNotAcquired.Outcome.FAILED);
                }
                throw e;
            }
        }

        private void step() {
            try {
                if (acquisition == null) {
                    if (cancelled) {
                        fail(new CancellationException(), LockNotAcquired.Outcome.INTERRUPTED);
                        return;
                    }
                    if (timer != null) {
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

        private void goOn(Acquisitions.@Nullable Unattended current) throws InterruptedException {
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
            Hold hold = current.hold();
            if (hold != null) {
                succeed(hold);
            } else if (pause < 0) {
                throw new IllegalStateException("An acquisition without a time ended by a time");
            } else if (pause != Long.MAX_VALUE) {
                lookAgain(now + pause);
            }
        }

        private void lookAgain(long atNanos) {
            forgetTimer();
            Timer next = new Timer(atNanos, this);
            timer = next;
            timers.add(next);
        }

        private void abandon() {
            if (acquisition != null) {
                acquisition.abandon();
                acquisition = null;
            }
        }

        /** Too few replicas have confirmed it: begins another attempt after a pause, as long as that may help. */
        private void pauseOrFail(RedisException.Unacknowledged e) {
            long now = clock.nanoTime();
            if (limit.isPast(monitored.replication(keys.lock()).age(now))) {
                boolean silent = monitored.of(keys.lock()).silence(now) > 0;
                fail(unavailable.notAcknowledged(keys, now - beganNanos, silent, e), LockNotAcquired.Outcome.FAILED);
                return;
            }
            if (backoff == null) {
                backoff = Backoff.ofRequests();
            }
            lookAgain(now + backoff.next());
        }

        private void succeed(Hold hold) {
            MemoryEdge.publish();
            end();
            if (told.get()) {
                handoff.strand(hold);
                return;
            }
            acquired = hold;
            try {
                events.tellHandle(() -> {
                    if (events.isHeard()) {
                        events.acquired(keys, hold, beganNanos, call);
                    }
                    if (told.compareAndSet(false, true)) {
                        caller.acquired(hold);
                    } else if (!cancelled) {
                        handoff.strand(hold);
                    }
                });
            } catch (Throwable e) {
                told.set(true);
                handoff.strand(hold);
                // There was no memory for a task: the user's code runs here, late rather than never.
                caller.failed(e);
                throw e;
            }
        }

        /** Ends what the caller has cancelled after it was acquired, and before it was told. */
        private void giveBack() {
            Hold hold = acquired;
            if (cancelled && hold != null && told.compareAndSet(false, true)) {
                caller.unwanted(hold);
            }
        }

        private void fail(Throwable failure, LockNotAcquired.Outcome outcome) {
            end();
            if (!told.compareAndSet(false, true)) {
                return;
            }
            try {
                events.tellHandle(() -> {
                    events.notAcquired(keys, clock, beganNanos, outcome, call);
                    caller.failed(failure);
                });
            } catch (Throwable e) {
                // There was no memory for a task: the user's code runs here, late rather than never.
                caller.failed(failure);
                throw e;
            }
        }

        /** The client has been closed, and nobody goes on with it. */
        private void closed() {
            fail(Attempts.closedException(), LockNotAcquired.Outcome.FAILED);
        }

        private void end() {
            ended = true;
            open.remove(this);
            owner.rests();
            acquisition = null;
            forgetTimer();
        }
    }
}
