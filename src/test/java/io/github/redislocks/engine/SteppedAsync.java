package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.Moment;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.watchdog.PendingCommand;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/**
 * A client whose thread for acquisitions stands still where it would park until the test has it go on, and the test
 * stands still meanwhile. The test sends what is due in the background.
 */
abstract class SteppedAsync extends SteppedClient {

    /** For how long a machine may stall. */
    static final Duration STALL = Duration.ofSeconds(10);

    private static final String ASYNC = "redis-locks-async";

    /** What the listener heard. */
    final List<String> heard = new CopyOnWriteArrayList<>();
    /** Whether the system gives no thread to acquisitions. */
    boolean refusesThread;
    /** How often the thread for acquisitions was started. */
    int started;
    /** Whether the thread for callbacks of handles cannot be started. */
    volatile boolean noCallbackThread;
    /** What happens when the thread for acquisitions reads the clock next. */
    volatile @Nullable Runnable onReading;
    /** How often it reads the clock until that happens. */
    int readings;

    private final Thread test = Thread.currentThread();
    private volatile @Nullable Thread async;
    private final Object turns = new Object();
    private boolean stands;
    private boolean free;
    private long parkedUntil;
    private volatile boolean mayEnd;

    SteppedAsync() {
        // Else the first request would be late: the client does not know the time of the server.
        Sync first = client.lock("first", false);
        first.lock(LEASE, true);
        first.unlock();
        asked.clear();
        heard.clear();
    }

    @Override
    List<LockListener> listeners() {
        return List.of(new LockListener() {
            @Override
            public Acquiring acquiring(String lockName) {
                return new Acquiring() {
                    @Override
                    public void acquired(LockAcquired event) {
                        heard.add("end " + event.lockName());
                    }

                    @Override
                    public void notAcquired(LockNotAcquired event) {
                        heard.add("end " + event.outcome());
                    }
                };
            }

            @Override
            public void acquired(LockAcquired event) {
                heard.add("acquired " + event.lockName());
            }

            @Override
            public void notAcquired(LockNotAcquired event) {
                heard.add(event.outcome() + " " + event.waited().toMillis());
            }
        });
    }

    @Override
    Threads threads() {
        return Threads.of(this::thread, "client");
    }

    /** Not at its start, which the JDK's pools begin in another way since 21. */
    private Thread thread(Runnable work) {
        if (noCallbackThread) {
            throw new InternalError("of the test");
        }
        return new Stepped(work);
    }

    private final class Stepped extends Thread {

        Stepped(Runnable work) {
            super(work);
            setDaemon(true);
        }

        @Override
        public synchronized void start() {
            if (getName().startsWith(ASYNC)) {
                if (refusesThread) {
                    throw new OutOfMemoryError("of the test");
                }
                started++;
                async = this;
            }
            super.start();
        }

        @Override
        public void run() {
            if (this != async) {
                super.run();
                return;
            }
            standStill(0);
            super.run();
            standsNow(Long.MAX_VALUE);
            // Whoever does not wait for its end does not see it.
            while (!mayEnd && test.getState() != State.TIMED_WAITING) {
                Moment.pass();
            }
        }
    }

    @Override
    Clock stepping() {
        Clock stepping = super.stepping();
        return new Clock() {
            @Override
            public long nanoTime() {
                Runnable next = onReading;
                if (next != null && Thread.currentThread() == async && --readings <= 0) {
                    onReading = null;
                    next.run();
                }
                return stepping.nanoTime();
            }

            @Override
            public long untilNanos(Instant time) {
                return stepping.untilNanos(time);
            }

            @Override
            public void park(Object blocker, long nanos) {
                if (Thread.currentThread() != async) {
                    stepping.park(blocker, nanos);
                    return;
                }
                long until = nanos == Long.MAX_VALUE ? nanos : clock.nanoTime() + nanos;
                standStill(until);
                if (clock.nanoTime() < until) {
                    LockSupport.park(blocker);
                }
            }
        };
    }

    private void standStill(long until) {
        synchronized (turns) {
            standsNow(until);
            while (stands && !free) {
                await(0);
            }
        }
    }

    private void standsNow(long until) {
        synchronized (turns) {
            parkedUntil = until;
            stands = true;
            turns.notifyAll();
        }
    }

    private void await(long millis) {
        try {
            turns.wait(millis);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Has the thread go on until it parks again. It must have been woken, or its time must have come. */
    final void goOn() {
        synchronized (turns) {
            awaitStanding();
            stands = false;
            turns.notifyAll();
            awaitStanding();
        }
    }

    private void awaitStanding() {
        long end = System.nanoTime() + STALL.toNanos();
        while (!stands && System.nanoTime() < end) {
            await(STALL.toMillis());
        }
        assertThat(stands).as("it was woken, and parks again").isTrue();
    }

    /** Until when the thread has parked. */
    final long parkedUntil() {
        synchronized (turns) {
            return parkedUntil;
        }
    }

    /** Closes the acquisitions; the thread has ended when that returns. */
    final void closeAsync() {
        synchronized (turns) {
            free = true;
            turns.notifyAll();
        }
        client.async.close(STALL);
        Thread thread = async;
        assertThat(thread == null || !thread.isAlive()).isTrue();
    }

    @AfterEach
    void endThread() {
        onReading = null;
        mayEnd = true;
        closeAsync();
    }

    /** Somebody who wants a lock. */
    final class Wanting implements AsyncAcquisitions.Caller {

        final List<Object> told = new CopyOnWriteArrayList<>();
        final LockKeys keys;
        final HandleOwner owner;
        boolean rests;
        /** What happens when the acquisition has just begun. */
        Runnable onBegin = () -> {};

        AsyncAcquisitions.@Nullable Pending pending;

        Wanting(String name) {
            keys = LockKeys.of("redis-locks", name);
            owner = new HandleOwner("client", client.attempts.nextNumber(), this, loss -> {}) {
                @Override
                public void wakes(Runnable onNews) {
                    super.wakes(onNews);
                    onBegin.run();
                }

                @Override
                public void rests() {
                    super.rests();
                    rests = true;
                }
            };
        }

        /** Begins, and bears an outage for a second. */
        Wanting begin() {
            pending = client.async.begin(keys, owner, new Attempt.Request(LEASE, true, false), 1_000 * MILLI, this);
            return this;
        }

        void cancel() {
            pending.cancellation.run();
        }

        @Override
        public void acquired(Hold hold) {
            told.add(hold);
        }

        @Override
        public void failed(Throwable failure) {
            told.add(failure);
        }

        /** What it has been told. */
        List<Object> told() {
            client.losses.awaitTold(STALL);
            return told;
        }

        Hold hold() {
            assertThat(told()).hasSize(1).first().isInstanceOf(Hold.class);
            return (Hold) told.get(0);
        }

        Throwable failure() {
            assertThat(told()).hasSize(1).first().isInstanceOf(Throwable.class);
            return (Throwable) told.get(0);
        }
    }

    final Wanting want(String name) {
        return new Wanting(name).begin();
    }

    /** Sends what is due, as the watchdog does; returns the names of the scripts. */
    final List<String> send() {
        List<String> sent = new ArrayList<>();
        for (PendingCommand command : client.watchdog.commands()) {
            if (!command.isUnderWay() && command.isDue(clock.nanoTime())) {
                sent.add(send(command));
            }
        }
        return sent;
    }

    private String send(PendingCommand command) {
        long now = clock.nanoTime();
        long timeout = Settings.DEFAULTS.commandTimeoutNanos();
        command.begin();
        Call call = command.call(now, timeout);
        try {
            Reply reply = client.redis.run(call, timeout);
            client.monitored.of(KEY).answered(call, clock.nanoTime());
            command.answered(reply, now);
        } catch (RedisException e) {
            client.monitored.of(KEY).failed(call, e, now, timeout, clock.nanoTime());
            command.failed(e, now);
        } finally {
            command.end();
        }
        return call.script().name();
    }

    /** Neither a call nor a lock is left, here or in Redis, once what was left to the background has been sent. */
    final void assertNothingLeft() {
        send();
        assertThat(client.async.count()).isZero();
        assertThat(client.attempts.isEmpty()).isTrue();
        assertThat(client.localQueue.size()).isZero();
        assertThat(client.holds.all()).isEmpty();
        assertThat(redis.hash(KEY)).isEmpty();
        assertThat(redis.zset(KEY + ":queue")).isEmpty();
    }
}
