package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Call;
import io.github.redislocks.testkit.twin.Fault;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Losses that a thread learns of, of its own holds or those of others, and of holds of which the end was not answered.
 */
class ToldLossTest extends FakeTime {

    /** Locks in a thread of the first client; whether the holder before was lost. */
    private AtomicReference<Boolean> lockingTellsLoss() {
        AtomicReference<Boolean> lost = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            lock.lock();
            lost.set(lock.previousHolderLost());
            lock.unlock();
        });
        thread.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        return lost;
    }

    @Test
    void grant_afterAHoldThatWasForced_tellsItsLossByTheMessage() {
        other.lock();
        AtomicReference<Boolean> lost = lockingTellsLoss();
        other.forceUnlock();
        await().until(() -> lost.get() != null);
        assertThat(redis.log().count("heartbeat"))
                .as("no heartbeat found the loss")
                .isZero();
        assertThat(lost.get()).isTrue();
    }

    @Test
    void forceUnlock_byAnotherClient_isReportedByItsMessage() {
        inside.mailbox().open(TimeUnit.SECONDS.toNanos(20));
        lock.lock();
        other.forceUnlock();
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void grant_afterAnUnlock_tellsNoLoss() {
        other.lock();
        AtomicReference<Boolean> lost = lockingTellsLoss();
        other.unlock();
        await().until(() -> lost.get() != null);
        assertThat(lost.get()).isFalse();
    }

    /** As virtual threads are made. */
    @Test
    void threadWithoutAName_isNamedByItsNumber() throws Exception {
        FutureTask<String> told = new FutureTask<>(() -> {
            lock.lock();
            String shown = locks.inspect("job")
                    .holder()
                    .orElseThrow()
                    .owner()
                    .threadName()
                    .orElse("");
            other.forceUnlock();
            String lost = String.valueOf(catchThrowable(lock::unlock).getMessage());
            return shown + '\n' + lost + '\n' + catchThrowable(lock::unlock).getMessage();
        });
        new Thread(null, told, "").start();
        assertThat(told.get(20, TimeUnit.SECONDS).lines()).hasSize(3).allMatch(line -> line.contains("Thread["));
    }

    /** The hold was given up as lost while Redis still had it: it is no leaving of a call that nobody had. */
    @Test
    void lock_overTheLostHoldOfItsOwnThread_tellsTheLoss() {
        lock.lock();
        redis.down(true);
        pass(29_800);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        redis.heal();
        assertThat(server.hash(KEY)).as("its lease is not over").isNotEmpty();
        whileTimePasses(() -> {
            lock.lock();
            assertThat(lock.previousHolderLost()).isTrue();
            lock.unlock();
            assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        });
    }

    @Test
    void unlocks_afterSeveralLosses_areAskedForAsOftenAsTheThreadLocked() {
        lock.lock();
        lock.lock();
        other.forceUnlock();
        pass(10_000);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        lock.lock();
        other.forceUnlock();
        pass(10_000);
        lock.lock();
        lock.unlock();
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(lock::unlock).as("%d", i).isInstanceOf(LockLostException.class);
        }
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class);
    }

    @Test
    void signals_ofOneHold_areAsMany() {
        Condition condition = lock.newCondition("ready");
        Thread[] waiting = new Thread[3];
        for (int i = 0; i < 3; i++) {
            waiting[i] = new Thread(() -> {
                lock.lock();
                condition.awaitUninterruptibly();
                lock.unlock();
            });
            waiting[i].start();
            int size = i + 1;
            await().until(() -> server.zset(KEY + ":conditions").size() == size);
        }
        await().until(() -> server.hash(KEY).isEmpty());
        other.lock();
        Condition same = other.newCondition("ready");
        same.signal();
        assertThat(server.zset(KEY + ":conditions")).hasSize(2);
        same.signal();
        assertThat(server.zset(KEY + ":conditions")).hasSize(1);
        same.signalAll();
        assertThat(server.zset(KEY + ":conditions")).isEmpty();
        other.unlock();
        for (Thread thread : waiting) {
            passUntil(() -> !thread.isAlive());
        }
    }

    /** A thread of the first client that waits in a Condition, whose first request for that is not answered. */
    private Thread awaiting(AtomicReference<Object> outcome) {
        redis.failNext(1, verb("await"), Fault.REPLY_LOST);
        Thread thread = startAwaiting(outcome);
        await().until(() -> !server.zset(KEY + ":conditions").isEmpty() && clock.isParked(thread));
        return thread;
    }

    private Thread startAwaiting(AtomicReference<Object> outcome) {
        Condition condition = lock.newCondition("ready");
        Thread thread = new Thread(() -> {
            lock.lock();
            try {
                condition.awaitUninterruptibly();
                outcome.set(lock.isHeldByCurrentThread());
                lock.unlock();
            } catch (RuntimeException e) {
                outcome.set(e);
            }
        });
        thread.start();
        return thread;
    }

    @Test
    void await_sentTwiceAndNotKnownAnyMoreToTheSecondCopy_isNoLoss() {
        AtomicReference<@Nullable Call> first = new AtomicReference<>();
        redis.failNext(1, verb("await"), Fault.FIRST_COPY_LATE);
        redis.hold(call -> {
            if (verb("await").test(call) && first.compareAndSet(null, call)) {
                assertThat(redis.runLate(call).code()).isEqualTo("FREED");
                server.flushAll();
            }
            return false;
        });
        AtomicReference<Object> outcome = new AtomicReference<>();
        Thread thread = startAwaiting(outcome);
        await().until(() -> first.get() != null && (clock.isParked(thread) || !thread.isAlive()));
        passUntil(() -> outcome.get() != null);
        assertThat(outcome.get()).isEqualTo(true);
        assertThat(losses).isEmpty();
    }

    @Test
    void await_unansweredAndThenNotKnownAnyMore_isNoLoss() {
        AtomicReference<Object> outcome = new AtomicReference<>();
        awaiting(outcome);
        server.flushAll();
        passUntil(() -> outcome.get() != null);
        assertThat(outcome.get()).isEqualTo(true);
        assertThat(losses).isEmpty();
    }

    @Test
    void await_unansweredAndThenRefused_hasGivenItsHoldUp() {
        AtomicReference<Object> outcome = new AtomicReference<>();
        awaiting(outcome);
        redis.failNext(1, verb("await"), Fault.refused("ERR no"));
        passUntil(() -> outcome.get() != null);
        assertThat(outcome.get()).isInstanceOf(LockUnavailableException.class);
        assertThat(losses).isEmpty();
        pass(100);
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }
}
