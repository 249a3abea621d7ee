package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.Moment;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import io.github.redislocks.waiting.Mailbox;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** Two clients of an in-memory Redis, and time that the test moves: of both and of the server. */
@Timeout(30)
abstract class FakeTime {

    static final String KEY = "redis-locks:{job}";

    private static final long STEP_MILLIS = 5;
    /** For how long time passes at most between two looks at whether it may. */
    private static final long LITTLE_MILLIS = 1_000;
    /** For how long a thread that time has woken is waited for. */
    private static final long WOKEN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    /** After what time a watchdog that was not woken is woken by hand. */
    private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** By when a watchdog that is not stuck has parked, on any machine. */
    private static final long PARK_NANOS = TimeUnit.SECONDS.toNanos(20);

    final FakeClock clock = new FakeClock();
    final InMemoryRedis server = new InMemoryRedis(clock.server());
    final InMemoryRedis redis = server.another();
    final List<LockLost> losses = new CopyOnWriteArrayList<>();
    final RedisLocks locks = RedisLocks.on(redis, options(), LossListener.to(losses::add), clock);
    final RedisLocks others = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(), clock);
    /** The parts of the first client. */
    final Inside inside = inside(locks);

    final RedisReentrantLock lock = locks.reentrantLock("job");
    final RedisReentrantLock other = others.reentrantLock("job");
    /** To whom a message of their own did not come back. */
    private final Set<RedisLocks> deaf = ConcurrentHashMap.newKeySet();
    /** Acquisitions whose threads wait for something else than time. */
    private final Set<Attempt> elsewhere = ConcurrentHashMap.newKeySet();
    /** The clients for whose background work time waits. */
    final List<RedisLocks> clients = new CopyOnWriteArrayList<>(List.of(locks, others));

    static Inside inside(RedisLocks client) {
        return Inside.of(client.client());
    }

    /** The settings of the first client; those of the second are the defaults. */
    Settings options() {
        return Settings.DEFAULTS;
    }

    /** A thread of the first client that locks, tells what it has, and unlocks when told. */
    final class Waiter extends Thread {

        /** Whether it holds the lock, once lock() has returned. */
        final AtomicReference<Boolean> held = new AtomicReference<>();
        /** The rest of the lease at that moment. */
        volatile Duration validity;

        volatile boolean release;

        @Override
        public void run() {
            lock.lock();
            validity = lock.remainingLease();
            held.set(lock.isHeldByCurrentThread());
            while (!release) {
                Moment.pass();
            }
            lock.unlock();
        }

        void startAndQueue() {
            start();
            await().until(() -> server.zset(KEY + ":queue").size() == 1);
            settle();
        }

        boolean holds() {
            return Boolean.TRUE.equals(held.get());
        }

        void end() throws InterruptedException {
            release = true;
            join();
        }
    }

    @AfterEach
    void close() {
        redis.heal();
        whileTimePasses(this::isQuiet, this::closeAll);
    }

    private void closeAll() {
        locks.close();
        others.close();
        server.close();
    }

    /** Waits for the end of a thread. */
    static void awaitEnd(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Does what waits by the clock, which runs a little whenever the calling thread waits. */
    void whileTimePasses(Runnable action) {
        whileTimePasses(Thread.currentThread(), action);
    }

    /** Does something while the clock runs a little whenever a thread waits by it. */
    void whileTimePasses(Thread waiting, Runnable action) {
        whileTimePasses(() -> clock.isParked(waiting) && isQuiet(), action);
    }

    /** Whether nothing is done in the background now, so that nobody waits for anything but time. */
    boolean isQuiet() {
        for (RedisLocks client : clients) {
            Watchdog watchdog = inside(client).watchdog();
            Thread scheduler = watchdog.threads().get(0);
            if (scheduler.isAlive() && !(clock.isParked(scheduler) && watchdog.isIdle())) {
                return false;
            }
        }
        return true;
    }

    /** Does something while the clock runs a little whenever something is true. */
    void whileTimePasses(BooleanSupplier when, Runnable action) {
        Thread ticker = new Thread(() -> {
            Moment moment = new Moment();
            while (!Thread.currentThread().isInterrupted()) {
                long step = untilNextMillis();
                // If a thread has parked or woken meanwhile, the step might pass its time.
                if (when.getAsBoolean() && step == untilNextMillis()) {
                    clock.advanceMillis(step);
                    moment = new Moment();
                }
                moment.next();
            }
        });
        ticker.start();
        try {
            action.run();
        } finally {
            ticker.interrupt();
        }
    }

    /** The time until something is due, and not more than a little. */
    private long untilNextMillis() {
        return Math.max(1, Math.min(clock.untilNextWakeNanos() / 1_000_000, LITTLE_MILLIS));
    }

    /** Moves time on and waits until everything that was due has been done. */
    void pass(long millis) {
        long end = clock.nanoTime() + millis * 1_000_000;
        settle();
        while (clock.nanoTime() < end) {
            long next = Math.min(end, Math.max(nextWake(), clock.nanoTime() + 1));
            clock.advanceMillis(Math.max(1, (next - clock.nanoTime() + 999_999) / 1_000_000));
            settle();
        }
    }

    /**
     * When something is due next. A watchdog that is awake is let park first, since it may have woken without a cause,
     * and says then.
     */
    private long nextWake() {
        long next = clock.nextWake();
        for (RedisLocks client : clients) {
            Thread scheduler = inside(client).watchdog().threads().get(0);
            Moment moment = new Moment();
            long began = System.nanoTime();
            long wake = clock.wakeOf(scheduler);
            while (wake == 0 && scheduler.isAlive()) {
                assertThat(System.nanoTime() - began)
                        .as("ns until the watchdog parked")
                        .isLessThan(PARK_NANOS);
                moment.next();
                wake = clock.wakeOf(scheduler);
            }
            next = wake == 0 ? next : Math.min(next, wake);
        }
        return next;
    }

    /**
     * Moves time on until something is true, for what threads of the test's own do by it; ten minutes at most. It
     * passes no faster than the machine's own, so that it does not run away from a thread that gets no processor.
     */
    void passUntil(BooleanSupplier condition) {
        long end = clock.nanoTime() + TimeUnit.MINUTES.toNanos(10);
        while (!condition.getAsBoolean()) {
            assertThat(clock.nanoTime()).as("nothing came of ten minutes").isLessThan(end);
            // By the time limit of the test, of which a parked thread does not learn otherwise.
            assertThat(Thread.currentThread().isInterrupted()).as("interrupted").isFalse();
            long began = System.nanoTime();
            pass(STEP_MILLIS);
            while (!condition.getAsBoolean() && System.nanoTime() - began < STEP_MILLIS * 1_000_000) {
                LockSupport.parkNanos(100_000);
            }
        }
        settle();
    }

    /**
     * Moves time on until calls have ended whose every wait {@link #settle} knows: those of the library's own threads,
     * and of threads that do nothing but acquire. It passes as fast as it can; ten minutes at most.
     */
    void passUntilDone(CompletableFuture<?>... calls) {
        long end = clock.nanoTime() + TimeUnit.MINUTES.toNanos(10);
        CompletableFuture<Void> all = CompletableFuture.allOf(calls);
        while (!all.isDone()) {
            assertThat(clock.nanoTime()).as("nothing came of ten minutes").isLessThan(end);
            assertThat(Thread.currentThread().isInterrupted()).as("interrupted").isFalse();
            pass(STEP_MILLIS);
        }
        settle();
    }

    /**
     * Waits until the watchdogs that run have looked at everything twice since now and have nothing to send, the
     * listeners have been told of what is lost, threads in calls have parked, and threads that time has woken have done
     * what they woke for.
     */
    void settle() {
        awaitCallers();
        settleClients();
        boolean woken = awaitWoken();
        if (awaitCallers() || woken) {
            settleClients();
        }
    }

    /**
     * Waits until nobody who acquires a lock goes on by himself: what they asked may have been answered long ago.
     * Returns whether any did.
     */
    private boolean awaitCallers() {
        boolean any = false;
        for (RedisLocks client : clients) {
            any |= !inside(client).async().isIdle();
            for (Attempt attempt : List.copyOf(inside(client).attempts().all())) {
                Thread caller = attempt.owner.thread();
                if (caller != null && caller != Thread.currentThread() && !elsewhere.contains(attempt)) {
                    any |= awaitCaller(inside(client), attempt, caller);
                }
            }
            Moment moment = new Moment();
            long began = System.nanoTime();
            while (!inside(client).async().isIdle()) {
                assertThat(System.nanoTime() - began)
                        .as("ns until acquisitions rested")
                        .isLessThan(PARK_NANOS);
                moment.next();
            }
        }
        return any;
    }

    private boolean awaitCaller(Inside client, Attempt attempt, Thread caller) {
        boolean any = false;
        Moment moment = new Moment();
        long began = System.nanoTime();
        while (client.attempts().isAwake(attempt, clock.wakeOf(caller))) {
            any = true;
            if (!isWorthAWait(caller, began)) {
                elsewhere.add(attempt);
                return true;
            }
            moment.next();
        }
        return any;
    }

    /** Whether a thread may still come to where it is waited for: one that runs may have got no processor. */
    private static boolean isWorthAWait(Thread thread, long sinceNanos) {
        Thread.State state = thread.getState();
        boolean runs = state == Thread.State.RUNNABLE || state == Thread.State.BLOCKED;
        return thread.isAlive() && System.nanoTime() - sinceNanos < (runs ? PARK_NANOS : WOKEN_NANOS);
    }

    /** Waits for the threads that time has woken; not for long, as some go on with something else. */
    private boolean awaitWoken() {
        Set<Thread> woken = clock.woken();
        woken.remove(Thread.currentThread());
        boolean any = !woken.isEmpty();
        Moment moment = new Moment();
        long began = System.nanoTime();
        while (clock.woken().stream().anyMatch(thread -> isWorthAWait(thread, began))) {
            moment.next();
        }
        woken.clear();
        return any;
    }

    private void settleClients() {
        for (RedisLocks client : clients) {
            Watchdog watchdog = inside(client).watchdog();
            Thread scheduler = watchdog.threads().get(0);
            int quiet = scheduler.isAlive() ? 0 : 2;
            while (quiet < 2) {
                long parks = clock.parks(scheduler);
                watchdog.wakeAt(0);
                awaitParks(scheduler, parks);
                quiet = watchdog.isIdle() || !scheduler.isAlive() ? quiet + 1 : 0;
            }
            inside(client).losses().awaitTold(Duration.ofSeconds(20));
            awaitEcho(client);
        }
    }

    /** Waits for the message that a client has sent to itself; not for long, and not again if it does not come. */
    private void awaitEcho(RedisLocks client) {
        Mailbox mailbox = inside(client).mailbox();
        if (!mailbox.isPinging()) {
            deaf.remove(client);
            return;
        }
        Moment moment = new Moment();
        long began = System.nanoTime();
        while (mailbox.isPinging() && !deaf.contains(client)) {
            moment.next();
            if (System.nanoTime() - began > WOKEN_NANOS) {
                deaf.add(client);
            }
        }
    }

    /** By hand: it is done thousands of times, and takes far less than a library's poll. */
    private void awaitParks(Thread scheduler, long before) {
        Moment moment = new Moment();
        long began = System.nanoTime();
        while (clock.parks(scheduler) <= before && scheduler.isAlive()) {
            assertThat(System.nanoTime() - began)
                    .as("ns until the watchdog looked at everything")
                    .isLessThan(PARK_NANOS);
            if (System.nanoTime() - began > STUCK_NANOS) {
                // A thread at the end of its stack has set the time and not woken the watchdog, which would look after
                // 2 s; but time stands still here.
                LockSupport.unpark(scheduler);
            }
            moment.next();
        }
    }

    /** A try of the other client finds the lock shared by the first, which has to hear the question: no time passes. */
    void othersFindReaders() {
        await().until(() -> inside.mailbox().isOpen());
        assertThat(other.tryLock()).isFalse();
    }

    /** Whatever befell the first client, it has left nothing, and nobody has lost anything. */
    void othersHaveTheLock() {
        settle();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        assertThat(other.tryLock()).isTrue();
        other.unlock();
        assertThat(losses).isEmpty();
        assertThat(inside.holds().all()).isEmpty();
        assertThat(inside.attempts().all()).isEmpty();
        assertThat(inside.async().count()).isZero();
        assertThat(inside.localQueue().size()).isZero();
        assertThat(lock.tryLock()).as("the local queue is free").isTrue();
        lock.unlock();
    }
}
