package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.sun.management.ThreadMXBean;
import io.github.redislocks.state.Settings;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Re-entry without a request, where it is wanted and the hold is sure to last. */
class LocalReentryTest extends FakeTime {

    @Override
    public Settings options() {
        return Settings.DEFAULTS.withLocalReentry(true);
    }

    private int reentries() {
        return redis.log().count("reenter", "release_inner");
    }

    private String shown() {
        return server.hash(KEY).get("holds");
    }

    @Test
    void reentry_ofARenewedHold_sendsNothingAndRedisShowsTheOutermostCount() throws InterruptedException {
        lock.lock();
        long requests = redis.log().requests();
        lock.lock();
        lock.lockInterruptibly();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(4);
        assertThat(shown()).isEqualTo("1");
        lock.unlock();
        lock.unlock();
        lock.unlock();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(redis.log().requests()).isEqualTo(requests);
        assertThat(other.tryLock()).isFalse();
        lock.unlock();
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void reentry_ofAnInterruptedThread_throwsWhereTheInterruptEndsAWait() throws InterruptedException {
        lock.lock();
        Thread.currentThread().interrupt();
        lock.lock();
        assertThat(lock.tryLock()).isTrue();
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(4);
        assertThat(reentries()).isZero();
        lock.unlock();
        lock.unlock();
        lock.unlock();
        lock.unlock();
    }

    @Test
    void reentry_ofARenewedHold_allocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        lock.lock();
        enterAndLeave(1_000);
        long before = threads.getCurrentThreadAllocatedBytes();
        enterAndLeave(10_000);
        assertThat(threads.getCurrentThreadAllocatedBytes() - before)
                .as("less than an object for each")
                .isLessThan(10_000);
        lock.unlock();
    }

    private void enterAndLeave(int times) {
        for (int i = 0; i < times; i++) {
            lock.lock();
            lock.unlock();
        }
    }

    @Test
    void reentry_withALeaseThatIsCovered_sendsNothing() {
        lock.lock();
        fixed(lock, Duration.ofSeconds(20)).lock();
        assertThat(reentries()).isZero();
        lock.unlock();
        lock.unlock();
    }

    @Test
    void reentry_withALongerLease_isSentAndExtends() {
        lock.lock();
        fixed(lock, Duration.ofSeconds(60)).lock();
        assertThat(reentries()).isEqualTo(1);
        assertThat(server.pttl(KEY)).isEqualTo(60_000);
        assertThat(lock.remainingLease()).isGreaterThan(Duration.ofSeconds(59));
        assertThat(shown()).as("the outermost").isEqualTo("1");
        lock.unlock();
        lock.unlock();
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void reentry_thatWantsRenewalOfAHoldWithALease_isSent() {
        fixed(lock, Duration.ofSeconds(5)).lock();
        lock.lock();
        assertThat(reentries()).isEqualTo(1);
        pass(60_000);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        pass(31_000);
        assertThat(lock.isHeldByCurrentThread()).as("the outer lease").isFalse();
    }

    @Test
    void reentry_pastTheDeadline_isANewHold() {
        fixed(lock, Duration.ofSeconds(5)).lock();
        long token = lock.fencingToken();
        pass(5_000);
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(lock.fencingToken()).isGreaterThan(token);
        lock.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void hold_thatWasRemoved_isLostAtItsNextRenewal() {
        lock.lock();
        lock.lock();
        server.del(KEY);
        lock.lock();
        lock.unlock();
        pass(10_000);
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }
}
