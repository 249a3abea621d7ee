package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The server's clock is set, which no client may do more than notice: see docs/SAFETY.md. */
class ClockStepTest extends FakeTime {

    private static final long HOUR = 3_600_000;
    private static final long RENEWAL = 10_000;
    private static final long HEARTBEAT = 1_500;

    private final AtomicLong waited = new AtomicLong();

    /** A thread that takes the lock and notes when, in ms. */
    private Thread waiter() {
        Thread waiter = new Thread(() -> {
            lock.lock();
            waited.set(clock.nanoTime() / 1_000_000);
            lock.unlock();
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        return waiter;
    }

    @Test
    void forward_whileHeld_tellsTheHolderByItsNextRenewal() {
        lock.lock();
        long token = lock.fencingToken();
        clock.stepServerMillis(HOUR);
        assertThat(other.tryLock()).as("Redis has ended the lease").isTrue();
        assertThat(other.previousHolderLost()).isTrue();
        assertThat(other.fencingToken()).isGreaterThan(token);
        pass(RENEWAL);
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        other.unlock();
    }

    @Test
    void forward_whileSomebodyWaits_costsItNoMoreThanAHeartbeat() throws InterruptedException {
        other.lock();
        Thread waiter = waiter();
        clock.stepServerMillis(HOUR);
        long free = clock.nanoTime() / 1_000_000;
        pass(HEARTBEAT);
        waiter.join();
        assertThat(waited.get() - free).isLessThanOrEqualTo(HEARTBEAT);
        assertThatThrownBy(other::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void forward_whileRequestsSayByWhenTheyMayRun_costsOneMore() {
        lock.lock();
        lock.unlock();
        clock.stepServerMillis(HOUR);
        lock.lock();
        assertThat(redis.log().count("take", "acquire"))
                .as("a late request, and one by the new time")
                .isEqualTo(3);
        lock.unlock();
    }

    @Test
    void back_whileHeldAndWaitedFor_changesNothing() throws InterruptedException {
        other.lock();
        Thread waiter = waiter();
        clock.stepServerMillis(-HOUR);
        pass(3 * RENEWAL);
        assertThat(other.isHeldByCurrentThread()).isTrue();
        assertThat(waiter.isAlive()).isTrue();
        long free = clock.nanoTime() / 1_000_000;
        other.unlock();
        pass(HEARTBEAT);
        waiter.join();
        assertThat(waited.get() - free).isLessThanOrEqualTo(HEARTBEAT);
        assertThat(losses).isEmpty();
    }

    @Test
    void back_afterAHolderVanished_blocksUntilItsLeaseEndsByTheNewTime() throws InterruptedException {
        fixed(other, Duration.ofSeconds(5)).lock();
        Thread waiter = waiter();
        clock.stepServerMillis(-2_000);
        pass(6_999);
        assertThat(waiter.isAlive()).isTrue();
        pass(HEARTBEAT);
        waiter.join();
    }
}
