package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import java.time.Duration;
import java.util.Date;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Conditions while requests are lost, late or refused: who holds the lock afterwards, and what the caller learns. */
class ConditionFaultTest extends FakeTime {

    /** Longer than a request may take. */
    private static final long TOO_LATE_MILLIS = 1_100;

    private static final Fault REFUSED = Fault.refused("NOPERM of the test");

    private final Condition condition = lock.newCondition("ready");
    private final Condition othersCondition = other.newCondition("ready");

    @AfterEach
    void forgetInterrupts() {
        assertThat(Thread.interrupted()).isFalse();
    }

    private boolean awaits(long millis) {
        try {
            return condition.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits for a moment in which nobody signals; the calling thread holds the lock afterwards, as often as before. */
    private void awaitsInVain() {
        long token = lock.fencingToken();
        whileTimePasses(() -> assertThat(awaits(50)).isFalse());
        isHeld(1);
        assertThat(lock.fencingToken()).isGreaterThan(token);
        assertThat(losses).isEmpty();
    }

    private void isHeld(int times) {
        assertThat(lock.getHoldCount()).isEqualTo(times);
        assertThat(server.hash(KEY)).containsEntry("holds", Integer.toString(times));
    }

    /** The lock was given up: nobody holds it, and that is no loss. */
    private void isGivenUp() {
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        othersHaveTheLock();
    }

    private void endsUnavailable(Runnable call, String message) {
        whileTimePasses(() -> assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(call::run)
                .withMessageContaining(message));
    }

    /**
     * Has Redis answer the next two requests of a script that they came too late: the clock of the server was set
     * forward, and the thread gets no processor before it sends the request again.
     */
    private void delay(String script, Runnable afterwards) {
        AtomicInteger sent = new AtomicInteger();
        redis.hold(call -> {
            int count = verb(script).test(call) ? sent.incrementAndGet() : 0;
            if (count == 1) {
                clock.stepServerMillis(TOO_LATE_MILLIS);
            } else if (count == 2) {
                clock.advanceMillis(TOO_LATE_MILLIS);
            } else if (count == 3) {
                afterwards.run();
            }
            return false;
        });
    }

    /** A thread of a client that waits in the Condition; true if a signal wakes it. */
    private FutureTask<Boolean> waiter(RedisReentrantLock of) {
        int before = server.zset(KEY + ":conditions").size();
        FutureTask<Boolean> waiter = new FutureTask<>(() -> {
            of.lock();
            boolean signalled = of.newCondition("ready").await(1, TimeUnit.HOURS);
            of.unlock();
            return signalled;
        });
        new Thread(waiter).start();
        await().until(() -> server.zset(KEY + ":conditions").size() == before + 1);
        settle();
        return waiter;
    }

    @ParameterizedTest
    @ValueSource(strings = {"BUSY", "LOADING", "READONLY", "OOM", "MISCONF", "NOREPLICAS", "ERR max number of clients"})
    void await_refusedForAWhile_isRepeated(String reason) {
        lock.lock();
        redis.failNext(20, verb("await"), Fault.refused(reason + " for a while"));
        awaitsInVain();
    }

    @Test
    void await_refusedForLongerThanRetryFor_givesTheLockUp() {
        lock.lock();
        long began = clock.nanoTime();
        redis.failNext(10_000, verb("await"), Fault.refused("LOADING"));
        endsUnavailable(() -> awaits(50), "do not unlock it");
        assertThat(Duration.ofNanos(clock.nanoTime() - began))
                .isBetween(Duration.ofSeconds(10), Duration.ofSeconds(11));
        isGivenUp();
    }

    @Test
    void await_refusedPermanently_saysThatTheLockIsGivenUp() {
        lock.lock();
        redis.failNext(1, verb("await"), REFUSED);
        endsUnavailable(() -> awaits(50), "was released by await() and not acquired again");
        assertThat(redis.log().count("await")).isZero();
        isGivenUp();
    }

    @Test
    void await_timedOutAndRefusedForAWhile_acquiresTheLockAgain() {
        lock.lock();
        redis.failNext(20, verb("rejoin"), Fault.refused("LOADING"));
        awaitsInVain();
    }

    @Test
    void await_timedOutAndRefusedPermanently_saysThatTheLockIsGivenUp() {
        lock.lock();
        redis.failNext(1_000, verb("rejoin"), REFUSED);
        endsUnavailable(() -> awaits(50), "The thread does not hold it any more; do not unlock it.");
        isGivenUp();
    }

    @Test
    void await_tooLate_isRepeated() {
        lock.lock();
        delay("await", () -> {});
        awaitsInVain();
        assertThat(redis.log().count("await")).isEqualTo(3);
    }

    @Test
    void await_tooLateAndTheLockRemovedMeanwhile_isALoss() {
        lock.lock();
        delay("await", () -> server.del(KEY));
        whileTimePasses(() -> assertThatThrownBy(() -> awaits(50)).isInstanceOf(LockLostException.class));
        settle();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
    }

    @Test
    void await_whoseSecondCopyWasTooLate_wasGivenUpByTheFirst() {
        lock.lock();
        redis.failNext(2, verb("await"), Fault.SENT_AGAIN_LATE);
        awaitsInVain();
    }

    @Test
    void await_whoseSecondCopyWasTooLate_andThenForgottenByRedis_isNoLoss() {
        lock.lock();
        redis.failNext(2, verb("await"), Fault.SENT_AGAIN_LATE);
        AtomicInteger sent = new AtomicInteger();
        redis.hold(call -> {
            if (verb("await").test(call) && sent.incrementAndGet() == 3) {
                server.flushAll();
            }
            return false;
        });
        awaitsInVain();
    }

    @Test
    void await_signalledAndThenTimedOutWhileTheLockIsHeld_isTrue() throws Exception {
        FutureTask<Boolean> waiter = waiter(lock);
        other.lock();
        othersCondition.signal();
        pass(TimeUnit.HOURS.toMillis(1));
        assertThat(waiter).isNotDone();
        other.unlock();
        passUntil(waiter::isDone);
        assertThat(waiter.get()).isTrue();
    }

    @Test
    void await_timedOutAndTooLate_isRepeated() {
        lock.lock();
        delay("rejoin", () -> {});
        awaitsInVain();
        assertThat(redis.log().count("rejoin")).isEqualTo(3);
    }

    @Test
    void await_ofARemovedLock_isALoss() {
        lock.lock();
        server.del(KEY);
        assertThatThrownBy(() -> awaits(50)).isInstanceOf(LockLostException.class);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        settle();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void await_answeredAfterTheLeaseHasEnded_isAnExpiry() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        clock.advanceMillis(2_500);
        expireDuring("await");
        assertThatThrownBy(() -> awaits(50))
                .isInstanceOf(LockLostException.class)
                .hasMessageContaining("EXPIRED");
    }

    @Test
    void signal_answeredAfterTheLeaseHasEnded_isAnExpiry() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        clock.advanceMillis(2_500);
        expireDuring("signal");
        assertThatThrownBy(condition::signal)
                .isInstanceOf(LockLostException.class)
                .hasMessageContaining("EXPIRED");
    }

    private void expireDuring(String script) {
        redis.hold(call -> {
            if (verb(script).test(call)) {
                clock.advanceMillis(501);
            }
            return false;
        });
    }

    @Test
    void await_whoseLeaseEndsWhileTheClientSubscribes_givesNothingUp() {
        ForwardingRedis slow = new ForwardingRedis(server.another()) {
            @Override
            public Subscription subscribe(String channel, long timeoutNanos) {
                clock.advanceMillis(30_000);
                return super.subscribe(channel, timeoutNanos);
            }
        };
        RedisLocks third = RedisLocks.on(slow, Settings.DEFAULTS, LossListener.to(losses::add), clock);
        clients.add(third);
        RedisReentrantLock wanted = third.reentrantLock("job");
        wanted.lock();
        assertThatThrownBy(() -> wanted.newCondition("ready").await(50, TimeUnit.MILLISECONDS))
                .isInstanceOf(LockLostException.class);
        assertThat(server.zset(KEY + ":conditions")).isEmpty();
        settle();
        assertThat(losses).hasSize(1);
        whileTimePasses(() -> true, third::close);
        clients.remove(third);
    }

    @Test
    void await_withoutASubscription_isWokenByAHeartbeat() throws Exception {
        ForwardingRedis deaf = new ForwardingRedis(server.another()) {
            @Override
            public Subscription subscribe(String channel, long timeoutNanos) {
                throw new RedisException.Unanswered("of the test", false, null);
            }
        };
        RedisLocks third =
                RedisLocks.on(deaf, Settings.DEFAULTS.withCommandTimeout(Duration.ofMillis(20)), List.of(), clock);
        clients.add(third);
        RedisReentrantLock wanted = third.reentrantLock("job");
        FutureTask<Boolean> waiter = new FutureTask<>(() -> {
            wanted.lock();
            try {
                return wanted.newCondition("ready").await(1, TimeUnit.HOURS);
            } finally {
                wanted.unlock();
            }
        });
        new Thread(waiter).start();
        await().until(() -> server.zset(KEY + ":conditions").size() == 1);
        settle();
        other.lock();
        othersCondition.signal();
        other.unlock();
        pass(1_600);
        passUntil(waiter::isDone);
        assertThat(waiter.get()).isTrue();
        whileTimePasses(() -> true, third::close);
        clients.remove(third);
    }

    @Test
    void await_whoseSubscriptionIsRefusedPermanently_givesTheLockUp() {
        ForwardingRedis refusing = new ForwardingRedis(server.another()) {
            @Override
            public Subscription subscribe(String channel, long timeoutNanos) {
                throw new RedisException.Refused("NOPERM of the test", null);
            }
        };
        RedisLocks third = RedisLocks.on(refusing, Settings.DEFAULTS, List.of(), clock);
        clients.add(third);
        RedisReentrantLock wanted = third.reentrantLock("job");
        wanted.lock();
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(() -> wanted.newCondition("ready").await())
                .withMessageContaining("was released by await() and not acquired again");
        assertThat(wanted.isHeldByCurrentThread()).isFalse();
        pass(100);
        isGivenUp();
        whileTimePasses(() -> true, third::close);
        clients.remove(third);
    }

    @Test
    @SuppressWarnings("JavaUtilDate") // The interface names it.
    void awaitUntil_aDateInThePast_returnsAtOnceWithTheLock() throws InterruptedException {
        lock.lock();
        assertThat(condition.awaitUntil(new Date(clock.wall().toEpochMilli() - 1_000)))
                .isFalse();
        isHeld(1);
    }

    @Test
    void signal_unanswered_isRepeatedAndWakesTheWaiter() throws Exception {
        FutureTask<Boolean> waiter = waiter(other);
        lock.lock();
        redis.failNext(2, verb("signal"), Fault.REQUEST_LOST);
        whileTimePasses(condition::signal);
        lock.unlock();
        passUntil(waiter::isDone);
        assertThat(waiter.get()).isTrue();
    }

    @Test
    void signal_refusedForAWhile_isRepeatedAndWakesTheWaiter() throws Exception {
        FutureTask<Boolean> waiter = waiter(other);
        lock.lock();
        redis.failNext(20, verb("signal"), Fault.refused("OOM command not allowed"));
        whileTimePasses(condition::signal);
        lock.unlock();
        passUntil(waiter::isDone);
        assertThat(waiter.get()).isTrue();
    }

    @Test
    void signal_refusedPermanently_saysSoAndKeepsTheLock() {
        lock.lock();
        redis.failNext(1, verb("signal"), REFUSED);
        endsUnavailable(condition::signal, "was not signalled");
        isHeld(1);
    }

    @Test
    void signal_whileRedisIsAway_endsAfterRetryForAndKeepsTheLock() {
        lock.lock();
        redis.down(true);
        long began = clock.nanoTime();
        endsUnavailable(condition::signal, "was not signalled");
        assertThat(Duration.ofNanos(clock.nanoTime() - began))
                .isBetween(Duration.ofSeconds(10), Duration.ofSeconds(11));
        isHeld(1);
    }

    @Test
    void signal_unansweredUntilTheLeaseHasEnded_isALoss() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        redis.failNext(10_000, verb("signal"), Fault.REQUEST_LOST);
        whileTimePasses(() -> assertThatThrownBy(condition::signal).isInstanceOf(LockLostException.class));
    }

    @Test
    void signal_ofARemovedLock_isALoss() {
        lock.lock();
        server.del(KEY);
        assertThatThrownBy(condition::signal).isInstanceOf(LockLostException.class);
        settle();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
    }

    @Test
    void signalledWaiter_whileTheLockIsHeld_countsAsQueued() throws Exception {
        FutureTask<Boolean> waiter = waiter(lock);
        lock.lock();
        assertThat(lock.getWaitQueueLength(condition)).isEqualTo(1);
        condition.signal();
        assertThat(lock.hasWaiters(condition)).isFalse();
        assertThat(lock.getQueueLength()).isEqualTo(1);
        lock.unlock();
        passUntil(waiter::isDone);
        assertThat(waiter.get()).isTrue();
    }

    /** Each client numbers its calls by itself. */
    @Test
    void waiter_whileOneOfAnotherClientWithItsNumberIsSignalled_stillCountsAsWaiting() throws Exception {
        RedisLocks third = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(), clock);
        RedisLocks fourth = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(), clock);
        clients.addAll(List.of(third, fourth));
        FutureTask<Boolean> signalled = waiter(fourth.reentrantLock("job"));
        RedisReentrantLock signals = third.reentrantLock("job");
        FutureTask<Boolean> waits = waiter(signals);
        signals.lock();
        Condition ready = signals.newCondition("ready");
        ready.signal();
        assertThat(signals.hasWaiters(ready)).isTrue();
        assertThat(signals.hasQueuedThreads()).isFalse();
        ready.signal();
        signals.unlock();
        passUntil(() -> signalled.isDone() && waits.isDone());
        assertThat(signalled.get()).isTrue();
        assertThat(waits.get()).isTrue();
        clients.removeAll(List.of(third, fourth));
        whileTimePasses(() -> true, third::close);
        whileTimePasses(() -> true, fourth::close);
    }
}
