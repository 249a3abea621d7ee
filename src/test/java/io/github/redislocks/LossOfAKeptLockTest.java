package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A thread loses a lock that its client keeps: the loss is the thread's alone, and the next thread learns of it. */
class LossOfAKeptLockTest extends FakeTime {

    @Override
    Settings options() {
        return Settings.DEFAULTS.withResidency(Duration.ofHours(1));
    }

    @BeforeEach
    void listen() {
        await().until(() -> inside.mailbox().isOpen());
    }

    /** The calling thread has the lock and loses it; the listeners are notified. */
    private void loseTheLock() {
        lock.lock();
        server.del(KEY);
        pass(1_500);
        assertThat(losses).hasSize(1);
    }

    private void useElsewhere() {
        OwnThread.run(() -> lock.runWithLock(() -> {})).join();
    }

    private <T> T elsewhere(Callable<T> action) {
        CompletableFuture<T> result = OwnThread.call(action);
        passUntil(result::isDone);
        return result.join();
    }

    @Test
    void unlock_ofALostHold_leavesTheNextThreadItsHold() throws Exception {
        loseTheLock();
        CountDownLatch holds = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        CompletableFuture<Boolean> next = OwnThread.call(() -> {
            lock.lock();
            holds.countDown();
            over.await();
            boolean held = lock.isHeldByCurrentThread();
            lock.unlock();
            return held;
        });
        holds.await();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThat(this.<Boolean>elsewhere(lock::tryLock))
                .as("while the next thread holds it")
                .isFalse();
        over.countDown();
        assertThat(next.join()).isTrue();
    }

    @Test
    void loss_afterTheLateUnlockOfAnEarlierLoss_isReported() {
        loseTheLock();
        // The client gives up the first lease after the loss, since others may wait, and keeps the next.
        useElsewhere();
        useElsewhere();
        assertThat(locks.countResident()).isOne();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        pass(1_500);
        // Redis has confirmed the lease before this thread has the lock.
        pass(1);
        useElsewhere();
        server.del(KEY);
        pass(1_500);
        assertThat(losses).hasSize(2);
    }

    /** The clock moves, and neither the watchdog nor a request says so. */
    @Test
    void isHeld_afterTheEndOfTheLease_isFalse() {
        lock.lock();
        clock.moveAtReadings(Duration.ofSeconds(31).toNanos());
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        clock.moveAtReadings(0);
    }

    @Test
    void lock_whileRedisStillHasTheLostLease_saysThatThePreviousHolderLostIt() {
        lock.lock();
        redis.hold(verb("leave"));
        redis.down(true);
        pass(29_800);
        assertThat(losses).hasSize(1);
        redis.down(false);
        assertThat(server.hash(KEY)).isNotEmpty();
        assertThat(this.<Boolean>elsewhere(() -> {
                    lock.lock();
                    boolean lost = lock.previousHolderLost();
                    lock.unlock();
                    return lost;
                }))
                .isTrue();
    }
}
