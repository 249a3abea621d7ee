package io.github.redislocks.testkit;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.client.ClientAccess;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A client of the in-memory Redis, with operations to pause, resume and observe the client. */
final class TestClient {

    private static final long MOMENT_NANOS = 20_000;
    private static final long REST_SECONDS = 10;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How long to wait for a message that the client sends to itself. The message may be lost. */
    private static final long ECHO_NANOS = 200_000_000;

    final RedisLocks locks;
    private final LockClient client;
    private final InMemoryRedis redis;
    private final ClientClock clock;
    private final TestTime time;
    /** Acquisitions that {@link #settle} ignores, since their threads wait for something other than time. */
    private final Set<Attempt> elsewhere = Collections.newSetFromMap(new WeakHashMap<>());

    private @Nullable HeldCalls held;

    TestClient(RedisLocksBuilder builder, InMemoryRedis redis, TestTime time) {
        this.redis = redis;
        this.time = time;
        this.clock = new ClientClock(time);
        ClientAccess access = ClientAccess.get();
        this.locks = (RedisLocks) access.build(builder, redis, clock);
        this.client = access.engine(locks);
    }

    boolean isPaused() {
        return clock.isPaused();
    }

    void pause() {
        redis.holdMessages();
        held = redis.hold(call -> true);
        clock.pause();
    }

    void resume() {
        clock.resume();
        if (held != null) {
            held.release();
            held = null;
        }
        redis.deliverMessages();
        client.watchdog.wakeAt(0);
    }

    void down(boolean value) {
        redis.down(value);
        if (value) {
            redis.dropSubscriptions();
        } else {
            client.watchdog.wakeAt(0);
        }
    }

    void close() {
        resume();
        down(false);
        locks.close();
    }

    /** The keys of the lock with the given name, under this client's prefix. */
    LockKeys keys(String name) {
        return LockKeys.of(client.settings.keyPrefix(), name);
    }

    private @Nullable Hold hold(LockKeys keys) {
        for (Hold hold : client.holds.all()) {
            if (hold.isOpen() && hold.keys().equals(keys)) {
                return hold;
            }
        }
        return null;
    }

    /**
     * Ends this client's hold of a lock in Redis, and makes the client ask Redis about the hold at once. Returns false
     * if the client does not hold the lock, or if the hold has already ended in Redis.
     */
    boolean lose(LockKeys keys, InMemoryRedis operator) {
        Hold hold = hold(keys);
        if (hold == null) {
            return false;
        }
        // While clients read, Redis shows them as one owner.
        Inspections.Held seen = hold.owner.isShared()
                ? Inspections.held(operator.run(Inspections.locked(keys), PATIENCE_NANOS))
                : new Inspections.Held(hold.owner.id, hold.attempt, hold.token);
        if (seen == null || Answer.isGone(operator.run(Inspections.force(keys, seen), PATIENCE_NANOS))) {
            return false;
        }
        ask(hold);
        return true;
    }

    /**
     * The losses that can happen to this client's permits of a pool: each ends the permits of a handle in Redis, and
     * makes the client ask Redis about them at once. Permits that have already ended in Redis cannot be lost again.
     */
    List<Runnable> lossesOfPermits(String name, InMemoryRedis operator) {
        LockKeys pool = LockKeys.ofPermits(client.settings.keyPrefix(), name);
        List<Runnable> losses = new ArrayList<>();
        for (Hold hold : client.holds.all()) {
            if (hold.isOpen()
                    && hold.keys().equals(pool)
                    && !Answer.isGone(operator.run(Scripts.held(hold), PATIENCE_NANOS))) {
                losses.add(() -> {
                    operator.run(Scripts.leave(pool, hold.owner, hold.attempt, true), PATIENCE_NANOS);
                    ask(hold);
                });
            }
        }
        return losses;
    }

    private void ask(Hold hold) {
        client.renewals.askAtOnce(hold.attempt, hold.token);
        client.watchdog.wakeAt(0);
    }

    /** When the client's watchdog wants to wake; {@link Long#MAX_VALUE} if it is paused or has nothing to do. */
    long nextWake() {
        Thread scheduler = scheduler();
        if (isAsleep(scheduler)) {
            return Long.MAX_VALUE;
        }
        await(() -> time.wakeOf(scheduler) != 0 || !scheduler.isAlive());
        long wake = time.wakeOf(scheduler);
        return wake == 0 ? Long.MAX_VALUE : wake;
    }

    /**
     * Waits until the client has nothing to do before time passes: threads that acquire locks are parked, the watchdog
     * has inspected everything twice and has nothing to send, and listeners and handles were notified.
     */
    void settle() {
        Thread scheduler = scheduler();
        if (isAsleep(scheduler)) {
            return;
        }
        awaitCallers();
        awaitBackground(scheduler);
        if (awaitCallers()) {
            // Wait again: the callers may have left work to the watchdog.
            awaitBackground(scheduler);
        }
    }

    private void awaitBackground(Thread scheduler) {
        Watchdog watchdog = client.watchdog;
        int quiet = 0;
        while (quiet < 2 && scheduler.isAlive()) {
            long before = time.parks(scheduler);
            watchdog.wakeAt(0);
            await(() -> time.parks(scheduler) > before || !scheduler.isAlive());
            quiet = watchdog.isIdle() ? quiet + 1 : 0;
        }
        client.losses.awaitTold(Duration.ofSeconds(REST_SECONDS));
        long echo = System.nanoTime() + ECHO_NANOS;
        while (client.mailbox.isPinging() && System.nanoTime() < echo) {
            LockSupport.parkNanos(this, MOMENT_NANOS);
        }
    }

    /**
     * Waits until the threads of all acquisitions are parked or have returned, with a time limit for each acquisition.
     * Returns true if a thread was running, for instance since its request was just answered.
     */
    private boolean awaitCallers() {
        boolean any = !client.async.isIdle();
        for (Object waits : client.shares.waiting().keySet()) {
            any |= waits instanceof Thread reader && awaitReader(reader);
        }
        for (Attempt attempt : List.copyOf(client.attempts.all())) {
            Thread caller = attempt.owner.thread();
            if (caller != null && caller != Thread.currentThread() && !elsewhere.contains(attempt)) {
                any |= awaitCaller(attempt, caller);
            }
        }
        await(client.async::isIdle);
        return any;
    }

    /** Waits until a thread that waits to read is parked, or has been let in. */
    private boolean awaitReader(Thread reader) {
        boolean any = false;
        long began = System.nanoTime();
        while (reader.isAlive()
                && client.shares.waiting().containsKey(reader)
                && time.wakeOf(reader) <= client.clock.nanoTime()
                && !isElsewhere(reader, began)) {
            any = true;
            LockSupport.parkNanos(this, MOMENT_NANOS);
        }
        return any;
    }

    private boolean awaitCaller(Attempt attempt, Thread caller) {
        boolean any = false;
        long began = System.nanoTime();
        while (caller.isAlive() && client.attempts.isAwake(attempt, time.wakeOf(caller))) {
            any = true;
            if (isElsewhere(caller, began)) {
                elsewhere.add(attempt);
                return true;
            }
            LockSupport.parkNanos(this, MOMENT_NANOS);
        }
        return any;
    }

    /**
     * Whether a thread has not parked in this clock for so long that it must be waiting for something other than time.
     */
    private static boolean isElsewhere(Thread thread, long sinceNanos) {
        boolean waits = thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
        long most = waits ? ECHO_NANOS : TimeUnit.SECONDS.toNanos(REST_SECONDS);
        return System.nanoTime() - sinceNanos > most;
    }

    private boolean isAsleep(Thread scheduler) {
        return clock.isPaused() || locks.isClosed() || !scheduler.isAlive();
    }

    private Thread scheduler() {
        return client.watchdog.threads().get(0);
    }

    private void await(BooleanSupplier news) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(REST_SECONDS);
        while (!news.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("The background work of " + locks + " is still running after "
                        + REST_SECONDS + " s: check whether the machine is busy, or the JVM is being debugged.");
            }
            LockSupport.parkNanos(this, MOMENT_NANOS);
        }
    }
}
