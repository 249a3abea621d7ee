package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Tests what a client with a grace of 30 s does after a failover; the other client has no grace. */
class FailoverGraceTest extends FakeTime {

    private static final Duration SOON = Duration.ofSeconds(10);
    private static final int GRACE = 30_000;

    @Override
    public Settings options() {
        return Settings.DEFAULTS.withFailoverGrace(Duration.ofMillis(GRACE));
    }

    private long sent(String... scripts) {
        return redis.log().count(scripts);
    }

    /** A thread of the first client that does something and says how it ended: what it returned, or threw. */
    private static final class Doing extends Thread {

        final AtomicReference<Object> outcome = new AtomicReference<>();
        private final Callable<?> action;

        Doing(Callable<?> action) {
            this.action = action;
        }

        @Override
        public void run() {
            try {
                outcome.set(action.call());
            } catch (Exception e) {
                outcome.set(e);
            }
        }
    }

    private Doing doing(Callable<?> action) {
        Doing thread = new Doing(action);
        thread.start();
        return thread;
    }

    private void isHeldBackUntilTheGraceIsOver(Waiter waiter) throws InterruptedException {
        pass(GRACE - 2_000);
        assertThat(waiter.held.get()).isNull();
        pass(1_900);
        passUntil(waiter::holds);
        assertThat(clock.nanoTime()).isGreaterThan(GRACE * 1_000_000L);
        waiter.end();
        assertThat(losses).isEmpty();
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void lock_waitsUntilTheGraceIsOver_andAsksNobodyMeanwhile() throws InterruptedException {
        redis.moved();
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> clock.isParked(waiter));
        pass(GRACE - 1);
        assertThat(waiter.held.get()).isNull();
        assertThat(sent("take", "acquire")).isZero();
        passUntil(waiter::holds);
        waiter.end();
    }

    @Test
    void tryLock_failsAtOnce_andSaysForHowLong() {
        redis.moved();
        pass(10_000);
        assertThatThrownBy(lock::tryLock)
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.FAILOVER_GRACE)
                .hasMessageContaining("failoverGrace (30000 ms)")
                .hasMessageContaining("for another 20000 ms");
        assertThat(sent("take", "acquire")).isZero();
        pass(20_000);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    /** The new server may not know a writer that still writes. */
    @Test
    void optimisticReads_areNotValidUntilTheGraceIsOver() {
        RedisReentrantReadWriteLock shared = locks.readWriteLock("job");
        long stamp = shared.tryOptimisticRead();
        redis.moved();
        assertThat(shared.validate(stamp)).isFalse();
        assertThat(shared.tryOptimisticRead()).isZero();
        pass(GRACE);
        assertThat(shared.validate(stamp)).isTrue();
    }

    @Test
    void timedTry_waitsAndThenDoesNotSayBusy() throws InterruptedException {
        redis.moved();
        Doing brief = doing(() -> lock.tryLock(1, TimeUnit.SECONDS));
        Doing patient = doing(() -> {
            boolean locked = lock.tryLock(31, TimeUnit.SECONDS);
            lock.unlock();
            return locked;
        });
        await().until(() -> clock.isParked(brief) && clock.isParked(patient));
        pass(999);
        assertThat(brief.outcome.get()).isNull();
        pass(1);
        brief.join();
        assertThat(brief.outcome.get()).isInstanceOf(LockUnavailableException.class);
        pass(GRACE - 1_001);
        assertThat(patient.outcome.get()).isNull();
        passUntil(() -> !patient.isAlive());
        assertThat(patient.outcome.get()).isEqualTo(true);
    }

    @Test
    void lockInterruptibly_duringTheGrace_endsByAnInterrupt() throws InterruptedException {
        redis.moved();
        Doing caller = doing(() -> {
            lock.lockInterruptibly();
            return true;
        });
        await().until(() -> clock.isParked(caller));
        caller.interrupt();
        caller.join();
        assertThat(caller.outcome.get()).isInstanceOf(InterruptedException.class);
    }

    @Test
    void hold_isRenewedReenteredAndReleasedAsEver() {
        lock.lock();
        redis.moved();
        pass(15_000);
        assertThat(sent("renew")).isEqualTo(2);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
        lock.unlock();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(losses).isEmpty();
    }

    @Test
    void acquisitionThatReachesTheNewServer_doesNotCount() throws InterruptedException {
        HeldCalls held = redis.hold(verb("acquire")).whateverTheirTimeouts();
        Waiter waiter = new Waiter();
        waiter.start();
        held.awaitParked(1, SOON);
        redis.moved();
        held.release();
        await().until(() -> sent("take", "acquire") == 1 && clock.isParked(waiter));
        assertThat(server.hash(KEY)).as("the request has taken the lock").isNotEmpty();
        isHeldBackUntilTheGraceIsOver(waiter);
    }

    @Test
    void tryLockThatReachesTheNewServer_failsAndGivesBack() throws InterruptedException {
        HeldCalls held = redis.hold(verb("acquire")).whateverTheirTimeouts();
        Doing caller = doing(lock::tryLock);
        held.awaitParked(1, SOON);
        redis.moved();
        held.release();
        caller.join();
        assertThat(caller.outcome.get()).isInstanceOf(LockUnavailableException.class);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void heartbeatThatReachesTheNewServer_doesNotCount() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        HeldCalls held = redis.hold(verb("heartbeat")).whateverTheirTimeouts();
        clock.advanceMillis(1_500);
        held.awaitParked(1, SOON);
        server.flushAll();
        redis.moved();
        held.release();
        settle();
        assertThat(sent("heartbeat")).isEqualTo(1);
        assertThat(server.hash(KEY)).as("the request has taken the lock").isNotEmpty();
        isHeldBackUntilTheGraceIsOver(waiter);
        assertThatThrownBy(other::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void waiter_sendsNoHeartbeatDuringTheGrace() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        server.flushAll();
        redis.moved();
        pass(GRACE - 1);
        assertThat(sent("heartbeat")).isZero();
        passUntil(waiter::holds);
        waiter.end();
        assertThatThrownBy(other::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void grantByAMessage_duringTheGrace_doesNotCount() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        Thread reader = inside.mailbox().reader();
        long parks = clock.parks(reader);
        redis.moved();
        await().until(() -> clock.parks(reader) > parks);
        passUntil(inside.mailbox()::isOpen);
        long messages = redis.log().requests();
        other.unlock();
        assertThat(server.hash(KEY).get("owner"))
                .as("granted, and a message was sent")
                .endsWith(":" + waiter.getId());
        assertThat(redis.log().requests()).isEqualTo(messages);
        isHeldBackUntilTheGraceIsOver(waiter);
    }

    @Test
    void localSuccessor_duringTheGrace_waitsTillItIsOver() throws InterruptedException {
        lock.lock();
        Waiter successor = new Waiter();
        successor.start();
        await().until(() -> successor.getState() == Thread.State.WAITING);
        redis.moved();
        lock.unlock();
        assertThat(server.hash(KEY).get("owner")).endsWith(":" + successor.getId());
        isHeldBackUntilTheGraceIsOver(successor);
    }

    @Test
    void localSuccessor_interruptedDuringTheGrace_givesBackWhatItWasGiven() throws InterruptedException {
        lock.lock();
        Doing successor = doing(() -> {
            lock.lockInterruptibly();
            return "held";
        });
        await().until(() -> successor.getState() == Thread.State.WAITING);
        redis.moved();
        lock.unlock();
        assertThat(server.hash(KEY).get("owner")).endsWith(":" + successor.getId());
        settle();
        successor.interrupt();
        successor.join();
        assertThat(successor.outcome.get()).isInstanceOf(InterruptedException.class);
        settle();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(inside.localQueue().size()).isZero();
    }

    @Test
    void await_whoseTimeIsOver_queuesWhenTheGraceIsOver() throws InterruptedException {
        Doing caller = doing(() -> {
            lock.lock();
            boolean signalled = lock.newCondition("ready").await(1, TimeUnit.SECONDS);
            lock.unlock();
            return signalled;
        });
        await().until(() -> clock.isParked(caller));
        settle();
        redis.moved();
        pass(GRACE - 1);
        assertThat(sent("rejoin")).isZero();
        passUntil(() -> !caller.isAlive());
        // Which it says depends on who comes first, he or his heartbeat, which finds his place in the Condition gone.
        assertThat(caller.outcome.get()).isInstanceOf(Boolean.class);
    }

    @Test
    void await_whoseThreadIsHeldUpInTheGrace_queuesWhenTheGraceIsOver() throws InterruptedException {
        Doing caller = doing(() -> {
            lock.lock();
            boolean signalled = lock.newCondition("ready").await(1, TimeUnit.SECONDS);
            lock.unlock();
            return signalled;
        });
        await().until(() -> clock.isParked(caller));
        settle();
        long moved = clock.nanoTime();
        redis.moved();
        settle();
        clock.holdUp(caller, 9_000);
        clock.advanceMillis(1_000);
        await().until(() -> clock.nanoTime() - moved >= 10_000_000_000L && clock.isParked(caller));
        assertThat(Duration.ofNanos(clock.wakeOf(caller) - moved)).isEqualTo(Duration.ofMillis(GRACE));
        pass(GRACE - 10_000);
        passUntil(() -> !caller.isAlive());
    }

    @Test
    void acquireAsync_whoseThreadIsHeldUpInTheGrace_asksWhenTheGraceIsOver() {
        redis.moved();
        long over = clock.nanoTime() + GRACE * 1_000_000L;
        clock.moveAtReadings(1);
        CompletableFuture<LockHandle> future = locks.reentrantLock("job").acquireAsync();
        Thread async = thread("async", locks);
        await().until(() -> clock.isParked(async));
        clock.moveAtReadings(0);
        assertThat(clock.wakeOf(async)).isBetween(1L, over);
        pass(GRACE);
        passUntil(future::isDone);
        future.join().close();
    }

    private static Thread thread(String role, RedisLocks of) {
        String client = of.clientId().substring(of.clientId().lastIndexOf(':') + 1);
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().equals("redis-locks-" + role + '-' + client))
                .findAny()
                .orElseThrow();
    }

    @Test
    void graceLongerThanRetryFor_afterAnOutage_lockWaitsNevertheless() throws InterruptedException {
        redis.down(true);
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> clock.isParked(waiter));
        pass(3_000);
        redis.down(false);
        redis.moved();
        isHeldBackUntilTheGraceIsOver(waiter);
    }

    @Test
    void anotherFailover_beginsTheGraceAnew() {
        redis.moved();
        pass(20_000);
        redis.moved();
        pass(20_000);
        assertThatThrownBy(lock::tryLock).hasMessageContaining("for another 10000 ms");
    }
}
