package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.twin.TwoServers;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import io.github.redislocks.watchdog.PendingCommand;
import io.github.redislocks.watchdog.Watchdog;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * An error of any kind, wherever it is thrown, ends no background work, keeps no lock from others, and is told to the
 * caller whose call it hit.
 */
class AnyErrorTest extends FakeTime {

    private static final long HELD_UP_NANOS = TimeUnit.SECONDS.toNanos(15);

    /** Throws an error for the next calls of a verb, when they leave the client or when they have run. */
    private void errorAt(String verb, int times, boolean afterwards) {
        throwAt(verb, times, afterwards, () -> {
            throw new InternalError("of the test, at " + verb);
        });
    }

    private void throwAt(String verb, int times, boolean afterwards, Runnable thrower) {
        AtomicInteger left = new AtomicInteger(times);
        redis.hold(call -> {
            if (verb(verb).test(call) && left.getAndDecrement() > 0) {
                if (afterwards) {
                    redis.runLate(call);
                }
                thrower.run();
            }
            return false;
        });
    }

    @Test
    void start_thatMeetsAnError_closesTheConnections() {
        InMemoryRedis fresh = server.another();
        fresh.hold(call -> {
            throw new InternalError("of the test, at " + call.script().name());
        });
        assertThatThrownBy(() -> RedisLocks.on(fresh, Settings.DEFAULTS, List.of(), clock))
                .isInstanceOf(InternalError.class);
        fresh.heal();
        assertThatThrownBy(() -> fresh.run(Inspections.locked(LockKeys.of("redis-locks", "job")), 1_000_000_000))
                .isInstanceOf(RedisException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void unlock_thatMeetsAnError_isGoneOnWith() {
        for (boolean afterwards : new boolean[] {false, true}) {
            lock.lock();
            errorAt("release", 1, afterwards);
            assertThatThrownBy(lock::unlock).isInstanceOf(InternalError.class);
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            othersHaveTheLock();
        }
    }

    @Test
    void releaseAfter_thatMeetsAnError_keepsTheLockTakenAllTheSame() throws InterruptedException {
        for (boolean afterwards : new boolean[] {false, true}) {
            LockHandle handle = locks.reentrantLock("job").acquire();
            errorAt("release_after", 1, afterwards);
            assertThatThrownBy(() -> handle.releaseAfter(Duration.ofSeconds(20)))
                    .isInstanceOf(InternalError.class);
            assertThat(handle.isHeld()).isFalse();
            settle();
            assertThat(server.hash(KEY)).containsEntry("owner", "nobody");
            pass(20_001);
            othersHaveTheLock();
        }
    }

    @Test
    void lock_rightAfterAnUnlockThatMetAnError_isANewHold() {
        for (boolean begun : new boolean[] {false, true}) {
            lock.lock();
            long token = lock.fencingToken();
            Hold hold = inside.holds().all().iterator().next();
            if (begun) {
                hold.beginRelease(clock.nanoTime());
            }
            // As if there had been no room on the stack for more.
            hold.stranded = true;
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            whileTimePasses(lock::lock);
            assertThat(lock.getHoldCount()).isEqualTo(1);
            assertThat(lock.fencingToken()).isGreaterThan(token);
            assertThat(lock.previousHolderLost()).isFalse();
            lock.unlock();
            othersHaveTheLock();
        }
    }

    @Test
    void unlock_thatMeetsAnErrorAfterALoss_hidesNoLoss() {
        lock.lock();
        Hold hold = inside.holds().all().iterator().next();
        redis.down(true);
        pass(29_800);
        assertThat(losses).hasSize(1);
        assertThat(server.hash(KEY)).as("its lease is not over").isNotEmpty();
        // As if there had been no room on the stack for more.
        hold.stranded = true;
        redis.heal();
        pass(10);
        assertThat(redis.log().count("release")).isZero();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        pass(1_000);
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isTrue();
        other.unlock();
    }

    /** As if there had been no room on the stack to wake the watchdog. */
    @Test
    void holdAndAttempt_thatAnErrorLeftWithoutAWord_endWithOneLook() {
        for (boolean begun : new boolean[] {false, true}) {
            lock.lock();
            Hold hold = inside.holds().all().iterator().next();
            if (begun) {
                hold.beginRelease(clock.nanoTime());
            }
            Thread watchdog = inside.watchdog().threads().get(0);
            long look = clock.nanoTime() + TimeUnit.SECONDS.toNanos(2);
            await().until(() -> clock.isParked(watchdog) && clock.wakeOf(watchdog) <= look);
            Attempt attempt = inside.attempts()
                    .make(
                            LockKeys.of("redis-locks", "job"),
                            hold.owner,
                            new Attempt.Request(30_000, true, false),
                            WaitLimit.endless(Settings.DEFAULTS.retryForNanos()));
            inside.attempts().begin(attempt);
            hold.stranded = true;
            attempt.stranded = true;
            clock.advanceMillis(2_000);
            await().untilAsserted(() -> {
                assertThat(inside.holds().all()).isEmpty();
                assertThat(inside.attempts().all()).isEmpty();
            });
            othersHaveTheLock();
        }
    }

    /** Keeps the watchdog from looking after anything until it is told to go on, or the test has failed for long. */
    private CountDownLatch watchdogHeldUp() throws InterruptedException {
        CountDownLatch heldUp = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Thread watchdog = inside.watchdog().threads().get(0);
        inside.watchdog().run(new PendingCommand(clock, KEY, Long.MAX_VALUE) {
            @Override
            public Call call() {
                return Inspections.locked(LockKeys.of("redis-locks", "job"));
            }

            @Override
            public Need need() {
                if (Thread.currentThread() != watchdog) {
                    return Need.LATER;
                }
                heldUp.countDown();
                Uninterruptibles.until(
                        System.nanoTime() + HELD_UP_NANOS, nanos -> goOn.await(nanos, TimeUnit.NANOSECONDS));
                return Need.NOW;
            }

            @Override
            public long follow(Reply reply, long sentNanos) {
                return DONE;
            }
        });
        heldUp.await();
        return goOn;
    }

    /** A hold whose unlock met an error, above a loss of which the thread has not been told. */
    private CountDownLatch leftByAnErrorAboveALoss() throws InterruptedException {
        lock.lock();
        lock.forceUnlock();
        lock.lock();
        inside.watchdog().sender(KEY, new HashSet<>());
        CountDownLatch goOn = watchdogHeldUp();
        errorAt("release", 1, false);
        assertThatThrownBy(lock::unlock).isInstanceOf(InternalError.class);
        return goOn;
    }

    @Test
    void unlock_thatMeetsAnError_hidesNoLossBefore_ifTheThreadLocksAgainAtOnce() throws InterruptedException {
        CountDownLatch goOn = leftByAnErrorAboveALoss();
        lock.lock();
        goOn.countDown();
        lock.unlock();
        assertThatThrownBy(lock::unlock).as("of the first lock").isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isNotInstanceOf(LockLostException.class);
        settle();
        assertThat(losses).hasSize(1);
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void unlock_thatMeetsAnError_handsOnAllTheSame() throws InterruptedException {
        for (boolean afterwards : new boolean[] {false, true}) {
            lock.lock();
            Waiter next = new Waiter();
            next.start();
            await().until(() -> next.getState() == Thread.State.WAITING);
            errorAt("release", 1, afterwards);
            assertThatThrownBy(lock::unlock).isInstanceOf(InternalError.class);
            await().until(next::holds);
            next.end();
            othersHaveTheLock();
        }
    }

    @Test
    void lock_thatMeetsAnError_isNotHeldAndLeavesNothing() {
        for (boolean afterwards : new boolean[] {false, true}) {
            errorAt("acquire", 1, afterwards);
            whileTimePasses(() -> assertThatThrownBy(lock::lock).isInstanceOf(InternalError.class));
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            pass(1_200);
            othersHaveTheLock();
        }
    }

    @Test
    void lock_thatMeetsAnErrorBeforeItAsks_leavesNothing() {
        AtomicBoolean unlucky = new AtomicBoolean();
        Redis port = (Redis) Proxy.newProxyInstance(
                Redis.class.getClassLoader(), new Class<?>[] {Redis.class}, (proxy, method, args) -> {
                    if (method.getName().equals("hasLines") && unlucky.getAndSet(false)) {
                        throw new InternalError("of the test, once the attempt has begun");
                    }
                    return method.invoke(redis, args);
                });
        RedisLocks third = RedisLocks.on(port, Settings.DEFAULTS, LossListener.to(losses::add), clock);
        unlucky.set(true);
        try {
            assertThatThrownBy(third.reentrantLock("job")::lock).isInstanceOf(InternalError.class);
            // A look-up of the watchdog, at the latest.
            clock.advanceMillis(3_000);
            await().untilAsserted(
                            () -> assertThat(inside(third).attempts().all()).isEmpty());
            othersHaveTheLock();
        } finally {
            whileTimePasses(() -> true, third::close);
        }
    }

    @Test
    void awaitThatHasToReturn_andMeetsAnError_leavesNothing() {
        for (boolean afterwards : new boolean[] {false, true}) {
            lock.lock();
            errorAt("rejoin", 1, afterwards);
            whileTimePasses(() -> assertThatThrownBy(
                            () -> lock.newCondition("ready").await(50, TimeUnit.MILLISECONDS))
                    .isInstanceOf(InternalError.class));
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            pass(1_200);
            othersHaveTheLock();
        }
    }

    @Test
    void reentryAndInnerUnlock_thatMeetAnError_leaveTheHold() {
        lock.lock();
        errorAt("reenter", 1, true);
        assertThatThrownBy(lock::lock).isInstanceOf(InternalError.class);
        assertThat(lock.getHoldCount()).isEqualTo(1);
        lock.lock();
        errorAt("release_inner", 1, false);
        assertThatThrownBy(lock::unlock).isInstanceOf(InternalError.class);
        assertThat(lock.getHoldCount()).isEqualTo(1);
        lock.unlock();
        othersHaveTheLock();
    }

    @Test
    void await_thatMeetsAnError_leavesNothing() {
        for (boolean afterwards : new boolean[] {false, true}) {
            lock.lock();
            errorAt("await", 1, afterwards);
            assertThatThrownBy(() -> lock.newCondition("ready").await()).isInstanceOf(InternalError.class);
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            othersHaveTheLock();
        }
    }

    @Test
    void await_thatMeetsAnErrorWhenItHasTheLockAgain_leavesNothing() throws InterruptedException {
        AtomicReference<@Nullable Thread> unlucky = new AtomicReference<>();
        Redis port = new TwoServers(redis, redis, key -> {
            if (unlucky.compareAndSet(Thread.currentThread(), null)) {
                throw new InternalError("of the test, once the hold is made");
            }
            return false;
        });
        RedisLocks third = RedisLocks.on(port, Settings.DEFAULTS, LossListener.to(losses::add), clock);
        RedisReentrantLock again = third.reentrantLock("job");
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            again.lock();
            again.newCondition("ready").awaitUninterruptibly();
        });
        waiter.setUncaughtExceptionHandler((thread, e) -> thrown.set(e));
        waiter.start();
        await().until(() -> !server.zset(KEY + ":conditions").isEmpty() && clock.isParked(waiter));
        // So that its hold is in doubt, and a leave is to follow it.
        redis.failNext(1, verb("heartbeat"), Fault.FIRST_COPY_LATE);
        clock.advanceMillis(1_500);
        Attempt waiting = inside(third).attempts().all().iterator().next();
        await().until(waiting::mayRun);
        other.lock();
        other.newCondition("ready").signal();
        unlucky.set(waiter);
        other.unlock();
        waiter.join();
        assertThat(thrown.get()).isInstanceOf(InternalError.class);
        long began = clock.nanoTime();
        passUntil(() -> server.hash(KEY).isEmpty());
        assertThat(clock.nanoTime() - began)
                .as("by a look-up of the watchdog at the latest")
                .isLessThan(TimeUnit.SECONDS.toNanos(3));
        othersHaveTheLock();
        await().until(() -> inside(third).holds().all().isEmpty()
                && inside(third).localQueue().size() == 0);
        whileTimePasses(() -> true, third::close);
    }

    @Test
    void renewal_thatMeetsErrors_isSentAgain() {
        lock.lock();
        errorAt("renew", 2, false);
        pass(60_000);
        lock.ensureHeld();
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void heartbeat_thatMeetsErrors_isSentAgain() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        errorAt("heartbeat", 2, false);
        pass(3_000);
        redis.dropMessages(true);
        other.unlock();
        passUntil(waiter::holds);
        waiter.end();
        assertThat(losses).isEmpty();
    }

    @Test
    void leave_thatMeetsErrors_isSentAgain() throws InterruptedException {
        other.lock();
        errorAt("leave", 2, false);
        Thread waiter = new Thread(
                () -> assertThatThrownBy(() -> lock.lockInterruptibly()).isInstanceOf(InterruptedException.class));
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        waiter.interrupt();
        passUntil(() -> !waiter.isAlive());
        pass(1_000);
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        other.unlock();
        othersHaveTheLock();
    }

    @Test
    void watchdogThatMeetsAnErrorInItsWalk_comesBack() {
        lock.lock();
        AtomicInteger errors = new AtomicInteger();
        // The walk asks this of a hold.
        Predicate<Call> renewal = verb("renew");
        Watchdog watchdog = inside.watchdog();
        Hold hold = inside.holds().all().iterator().next();
        hold.renewAt(0);
        PendingCommand failing = new PendingCommand(clock, KEY, Long.MAX_VALUE) {
            @Override
            public Call call() {
                return Scripts.held(hold);
            }

            @Override
            public Need need() {
                if (errors.getAndIncrement() < 3) {
                    throw new InternalError("of the test, in the walk");
                }
                return Need.NOW;
            }

            @Override
            public long follow(Reply reply, long sentNanos) {
                return DONE;
            }
        };
        watchdog.run(failing);
        pass(40_000);
        assertThat(errors.get()).isGreaterThan(3);
        lock.ensureHeld();
        assertThat(redis.log().calls().stream()
                        .filter(logged -> renewal.test(logged.call()))
                        .count())
                .isGreaterThan(3);
        lock.unlock();
    }

    /** The caller would not know that it holds the lock. */
    @Test
    void acquired_thatMeetsAnError_throwsNothing() {
        Attempt attempt = new Attempt(
                1,
                LockKeys.of("redis-locks", "job"),
                inside.owners().caller(),
                new Attempt.Request(30_000, true, false),
                WaitLimit.endless());
        Attempt.Grant grant = new Attempt.Grant(1, false, Long.MAX_VALUE, clock.nanoTime(), true);
        Hold hold = new Hold(attempt, grant, clock.nanoTime(), Long.MAX_VALUE, null) {
            @Override
            public LockLost.@Nullable Reason lossReason() {
                throw new InternalError("of the test");
            }
        };
        EventNotifier events = new EventNotifier(List.of());
        assertThatCode(() -> events.acquired(attempt.keys, hold, clock.nanoTime(), null))
                .doesNotThrowAnyException();
        assertThat(hold.isAnnounced()).isTrue();
    }

    @Test
    void lossThatCannotBeTold_forWantOfAThread_isToldLater() {
        List<LockLost> told = new ArrayList<>();
        // The threads of the listener and of the log, each when the loss is added and once more.
        AtomicInteger refused = new AtomicInteger(4);
        ThreadFactory scarce = work -> {
            if (refused.getAndDecrement() > 0) {
                throw new OutOfMemoryError("unable to create native thread, of the test");
            }
            return new Thread(work);
        };
        EventNotifier report = new EventNotifier(LossListener.to(told::add), Threads.of(scarce, "test"));
        report.lost(LockLost.of("a", 1, "main", LockLost.Reason.EXPIRED), () -> true);
        report.startThreads();
        assertThat(told).isEmpty();
        report.startThreads();
        report.awaitTold(Duration.ofSeconds(10));
        assertThat(told).hasSize(1);
    }

    @Test
    void lossThatMeetsAnErrorBeforeItIsTold_isToldByTheWatchdog() {
        lock.lock();
        Hold hold = inside.holds().all().iterator().next();
        // As if the thread that found it had met an error at once.
        assertThat(hold.lose(LockLost.Reason.TAKEN)).isTrue();
        settle();
        await().until(() -> losses.size() == 1);
        settle();
        assertThat(losses).hasSize(1);
        assertThat(inside.localQueue().size()).as("its turn has ended").isZero();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    /**
     * A call finds the loss and meets an error before it reports it; the thread unlocks before the watchdog's next
     * walk.
     */
    @Test
    void lossThatMeetsAnErrorBeforeItIsTold_andIsUnlockedAtOnce_opensTheGateAndIsTold() throws InterruptedException {
        inside.watchdog().sender(KEY, new HashSet<>());
        lock.lock();
        Waiter next = new Waiter();
        next.start();
        await().until(() -> clock.isParked(next));
        Hold hold = inside.holds().all().iterator().next();
        Inspections.Held seen = new Inspections.Held(hold.owner.id, hold.attempt, hold.token);
        server.another().run(Inspections.force(LockKeys.of("redis-locks", "job"), seen), 1_000_000_000);
        CountDownLatch goOn = watchdogHeldUp();
        assertThat(hold.lose(LockLost.Reason.TAKEN)).isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        goOn.countDown();
        passUntil(next::holds);
        next.end();
        assertThat(losses).hasSize(1);
    }

    @Test
    void unlock_rightAfterOneThatMetAnError_tellsOfALossBefore() throws InterruptedException {
        CountDownLatch goOn = leftByAnErrorAboveALoss();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        goOn.countDown();
        settle();
        assertThat(losses).hasSize(1);
        losses.clear();
        othersHaveTheLock();
    }

    /** The error comes between the turn and its telling, and the repeated release finds nothing to hand on. */
    @Test
    void successorWithTheTurn_thatWasNotTold_looksUp() throws InterruptedException {
        lock.lock();
        Hold hold = inside.holds().all().iterator().next();
        Waiter next = new Waiter();
        next.start();
        await().until(() -> clock.isParked(next));
        Attempt successor = inside.attempts().all().iterator().next();
        throwAt("release", 1, true, () -> {
            inside.localQueue().inherit(hold.attempt, successor);
            server.flushAll();
            throw new InternalError("of the test");
        });
        assertThatThrownBy(lock::unlock).isInstanceOf(InternalError.class);
        passUntil(next::holds);
        next.end();
        othersHaveTheLock();
    }

    /** As of a logger, once the script has run. */
    private void exceptionAt(String verb) {
        throwAt(verb, 1, true, () -> {
            throw new IllegalStateException("of the test, at " + verb);
        });
    }

    @Test
    void lock_thatMeetsAnyException_leavesNothing() {
        exceptionAt("acquire");
        whileTimePasses(() -> assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class));
        pass(1_200);
        othersHaveTheLock();
    }

    @Test
    void await_thatMeetsAnyException_leavesNothing() {
        for (String verb : List.of("await", "rejoin")) {
            lock.lock();
            exceptionAt(verb);
            whileTimePasses(() -> assertThatThrownBy(
                            () -> lock.newCondition("ready").await(50, TimeUnit.MILLISECONDS))
                    .isInstanceOf(IllegalStateException.class));
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            pass(1_200);
            assertThat(server.zset(KEY + ":conditions")).isEmpty();
            othersHaveTheLock();
        }
    }

    /** As of a logger while the request is still on its way. */
    @Test
    void exceptionAtARequestThatRunsLate_leavesNothing() throws InterruptedException {
        for (String verb : List.of("acquire", "await", "rejoin")) {
            AtomicReference<@Nullable Call> late = new AtomicReference<>();
            // An await runs between the caller's leave and what the watchdog does about the hold.
            CountDownLatch watchdog = verb.equals("await") ? watchdogHeldUp() : new CountDownLatch(0);
            redis.hold(call -> {
                if (verb(verb).test(call) && late.compareAndSet(null, call)) {
                    throw new IllegalStateException("of the test, at " + verb);
                }
                return false;
            });
            whileTimePasses(() -> assertThatThrownBy(() -> {
                        lock.lock();
                        lock.newCondition("ready").await(50, TimeUnit.MILLISECONDS);
                    })
                    .isInstanceOf(IllegalStateException.class));
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            redis.heal();
            redis.runLate(Objects.requireNonNull(late.get()));
            watchdog.countDown();
            pass(1_200);
            assertThat(server.zset(KEY + ":conditions")).isEmpty();
            othersHaveTheLock();
        }
    }

    /** The answer came to a second copy, and an error on the way to the hold. */
    @Test
    void errorAfterAnAnswerToASecondCopy_leavesNothingToTheFirst() {
        boolean met = true;
        for (int first = 1; met; first++) {
            redis.log().clear();
            redis.failNext(1, verb("acquire"), Fault.FIRST_COPY_LATE);
            clock.failReadings(first, 1);
            try {
                whileTimePasses(lock::lock);
            } catch (InternalError e) {
                assertThat(e).hasMessageContaining("of the test");
            }
            met = clock.heal() >= first;
            if (lock.isHeldByCurrentThread()) {
                lock.unlock();
            }
            pass(100);
            redis.heal();
            Call copy = redis.log().calls().stream()
                    .map(logged -> logged.call())
                    .filter(verb("acquire"))
                    .findFirst()
                    .orElse(null);
            if (copy != null) {
                redis.runLate(copy);
            }
            pass(5_000);
            othersHaveTheLock();
        }
    }
}
