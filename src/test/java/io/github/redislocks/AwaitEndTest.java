package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.testkit.twin.Fault;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests how an await ends when its time is over or its thread is interrupted, while its request runs twice or Redis
 * goes away.
 */
@Tag("long")
class AwaitEndTest extends FakeTime {

    private final Condition condition = lock.newCondition("ready");

    /** A thread of the first client that waits for a time, and what came of it. */
    private final class Awaiting extends Thread {

        final AtomicReference<Object> outcome = new AtomicReference<>();
        private final long millis;
        private final Runnable beforeAwait;

        Awaiting(long millis) {
            this(millis, () -> {});
        }

        Awaiting(long millis, Runnable beforeAwait) {
            this.millis = millis;
            this.beforeAwait = beforeAwait;
        }

        @Override
        public void run() {
            lock.lock();
            beforeAwait.run();
            try {
                outcome.set(condition.await(millis, TimeUnit.MILLISECONDS));
                lock.unlock();
            } catch (InterruptedException e) {
                outcome.set("interrupted");
                lock.unlock();
            } catch (LockUnavailableException | IllegalStateException e) {
                outcome.set(e);
            }
        }

        void startAndWait() {
            start();
            await().until(() -> !server.zset(KEY + ":conditions").isEmpty() && getState() == State.WAITING);
            settle();
        }
    }

    @Test
    void await_timedOut_whoseRequestToReturnRunsTwice_isNotSignalled() throws InterruptedException {
        Awaiting waiter = new Awaiting(200);
        waiter.startAndWait();
        redis.failNext(1, verb("rejoin"), Fault.REPLY_LOST);
        passUntil(() -> waiter.outcome.get() != null);
        assertThat(waiter.outcome.get()).isEqualTo(false);
        waiter.join();
    }

    @Test
    void await_interrupted_whoseRequestToReturnRunsTwice_saysSo() throws InterruptedException {
        Awaiting waiter = new Awaiting(100_000);
        waiter.startAndWait();
        redis.failNext(1, verb("rejoin"), Fault.REPLY_LOST);
        waiter.interrupt();
        passUntil(() -> waiter.outcome.get() != null);
        assertThat(waiter.outcome.get()).isEqualTo("interrupted");
        waiter.join();
    }

    @Test
    void await_thatHasToReturn_whileRedisIsAway_endsAfterRetryFor() throws InterruptedException {
        Awaiting waiter = new Awaiting(200);
        waiter.startAndWait();
        other.lock();
        pass(300);
        assertThat(redis.log().count("rejoin")).isEqualTo(1);
        redis.down(true);
        long began = clock.nanoTime();
        passUntil(() -> !waiter.isAlive());
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(() -> {
                    throw (RuntimeException) waiter.outcome.get();
                })
                .withMessageContaining("was released by await() and not acquired again");
        assertThat(TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - began)).isBetween(10_000L, 13_500L);
        redis.down(false);
        pass(1_500);
        assertThat(server.zset(KEY + ":queue")).as("it left").isEmpty();
        other.unlock();
    }

    @Test
    void await_begunWhileRedisIsAway_goesOnWhenItIsBack() throws InterruptedException {
        Awaiting waiter = new Awaiting(200, () -> redis.down(true));
        waiter.start();
        await().until(() -> clock.isParked(waiter));
        pass(400);
        redis.down(false);
        passUntil(() -> waiter.outcome.get() != null);
        assertThat(waiter.outcome.get()).isEqualTo(false);
        waiter.join();
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void await_begunWhileRedisIsAwayForTooLong_leavesTheLockFree() throws InterruptedException {
        Awaiting waiter = new Awaiting(200, () -> redis.down(true));
        waiter.start();
        passUntil(() -> !waiter.isAlive());
        assertThat(waiter.outcome.get()).isInstanceOf(LockUnavailableException.class);
        redis.down(false);
        pass(1_500);
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void await_thatIsRefusedForGood_leavesTheLockFree() throws InterruptedException {
        Awaiting waiter =
                new Awaiting(200, () -> redis.failNext(1, verb("await"), Fault.refused("NOPERM of the test")));
        waiter.start();
        passUntil(() -> !waiter.isAlive());
        assertThat(waiter.outcome.get()).isInstanceOf(LockUnavailableException.class);
        pass(100);
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void await_thatNeedNotReturn_whileRedisIsAway_goesOn() throws InterruptedException {
        Awaiting waiter = new Awaiting(60_000);
        waiter.startAndWait();
        redis.down(true);
        pass(20_000);
        assertThat(waiter.outcome.get()).isNull();
        redis.down(false);
        other.lock();
        others.reentrantLock("job").newCondition("ready").signal();
        other.unlock();
        passUntil(() -> waiter.outcome.get() != null);
        assertThat(waiter.outcome.get()).isEqualTo(true);
        waiter.join();
    }

    @Test
    void signal_ofAWaiterWhoseClientCloses_goesToTheNext() throws InterruptedException {
        Awaiting first = new Awaiting(100_000);
        first.startAndWait();
        AtomicReference<Boolean> woken = new AtomicReference<>();
        Condition ready = other.newCondition("ready");
        Thread second = new Thread(() -> {
            other.lock();
            try {
                woken.set(ready.await(100, TimeUnit.SECONDS));
                other.unlock();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        second.start();
        await().until(() -> server.zset(KEY + ":conditions").size() == 2);
        settle();
        redis.holdMessages();
        other.lock();
        ready.signal();
        other.unlock();
        assertThat(server.hash(KEY)).as("the first has been handed the lock").containsKey("signal");
        whileTimePasses(locks::close);
        passUntil(() -> woken.get() != null);
        assertThat(woken.get()).isTrue();
        second.join();
        first.join();
    }
}
