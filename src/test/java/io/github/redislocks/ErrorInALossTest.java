package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.NearTheEnd;
import io.github.redislocks.fixture.OwnThread;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A loss whose report meets an error: the listeners are notified once, at the next look of the watchdog; the thread
 * meets the loss at each unlock that it still has to call; and others get the lock. So it is with and without
 * residency.
 */
@Timeout(60)
class ErrorInALossTest extends FakeTime {

    private static final LockOptions KEPT = LockOptions.defaults().residency(Duration.ofHours(1));
    private static final long LOOK_MILLIS = 2_000;
    private static final int DEPTHS = 120;

    /** How many reports of a loss still meet an error. */
    private final AtomicInteger errors = new AtomicInteger();
    /** Counts down when a report has begun. */
    private final CountDownLatch reporting = new CountDownLatch(1);
    /** Holds a report back before it meets its error. */
    private volatile CountDownLatch goOn = new CountDownLatch(0);

    @BeforeEach
    void listen() {
        // A client keeps no lock before it can hear that others want the lock.
        inside.mailbox().want();
        await().until(() -> inside.mailbox().isOpen());
    }

    /** Before the clients close: an error out of a test method would end all tests. */
    @AfterEach
    void endErrors() {
        errors.set(0);
    }

    /** A thread without a name, as a virtual thread may be: a report of its loss calls toString(). */
    private final class Holder extends Thread {

        Holder(Runnable work) {
            super(null, work, "");
        }

        @Override
        public String toString() {
            if (Thread.currentThread() != this && errors.getAndDecrement() > 0) {
                reporting.countDown();
                awaitGoOn();
                throw new OutOfMemoryError("of the test");
            }
            return "holder";
        }
    }

    private void awaitGoOn() {
        try {
            goOn.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void inAHolder(Callable<Void> work) throws Exception {
        FutureTask<Void> task = new FutureTask<>(work);
        new Holder(task).start();
        task.get(40, TimeUnit.SECONDS);
    }

    private RedisReentrantLock wanted(boolean kept) {
        return kept ? locks.reentrantLock("job", KEPT) : lock;
    }

    /** The calling thread still has to unlock so many holds that it lost; then others get the lock. */
    private void onlyLossesAreLeft(RedisReentrantLock wanted, int times) {
        for (int i = 0; i < times; i++) {
            assertThatThrownBy(wanted::unlock).isInstanceOf(LockLostException.class);
        }
        assertThatThrownBy(wanted::unlock).isExactlyInstanceOf(IllegalMonitorStateException.class);
        whileTimePasses(other::lock);
        other.unlock();
        pass(LOOK_MILLIS);
        assertThat(inside.holds().all()).noneMatch(hold -> hold.lock().equals(KEY));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void report_meetsErrors_isRepeated(boolean kept) throws Exception {
        RedisReentrantLock wanted = wanted(kept);
        inAHolder(() -> {
            wanted.lock();
            errors.set(2);
            other.forceUnlock();
            pass(LOOK_MILLIS);
            assertThat(errors).hasNonPositiveValue();
            assertThat(losses).hasSize(1);
            onlyLossesAreLeft(wanted, 1);
            return null;
        });
        assertThat(losses).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void report_meetsAnErrorBeforeItsThreadUnlocks_isRepeated(boolean kept) throws Exception {
        RedisReentrantLock wanted = wanted(kept);
        inAHolder(() -> {
            wanted.lock();
            findTheLossWithAnError();
            onlyLossesAreLeft(wanted, 1);
            return null;
        });
        assertThat(losses).hasSize(1);
    }

    /** Another thread finds that the deadline has passed, and its report meets an error. The watchdog sleeps. */
    private void findTheLossWithAnError() {
        settle();
        errors.set(1);
        clock.moveAtReadings(TimeUnit.SECONDS.toNanos(31));
        assertThatThrownBy(OwnThread.run(locks::heldNames)::join).hasRootCauseInstanceOf(OutOfMemoryError.class);
        clock.moveAtReadings(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void report_meetsAnErrorAfterItsThreadHasLockedAgain_isRepeated(boolean kept) throws Exception {
        RedisReentrantLock wanted = wanted(kept);
        inAHolder(() -> {
            wanted.lock();
            other.forceUnlock();
            await().until(() -> losses.size() == 1);
            wanted.lock();
            goOn = new CountDownLatch(1);
            errors.set(1);
            other.forceUnlock();
            reporting.await();
            Thread holder = Thread.currentThread();
            AtomicBoolean again = new AtomicBoolean();
            CompletableFuture<Void> failing = OwnThread.run(() -> {
                await().until(() -> again.get() || clock.isParked(holder));
                goOn.countDown();
            });
            whileTimePasses(wanted::lock);
            again.set(true);
            failing.join();
            pass(LOOK_MILLIS);
            assertThat(losses).hasSize(2);
            wanted.unlock();
            onlyLossesAreLeft(wanted, 2);
            return null;
        });
        assertThat(losses).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void report_meetsErrorsAgainAndAgain_keepsNoOtherLockFromItsRenewal(boolean kept) throws Exception {
        RedisReentrantLock wanted = wanted(kept);
        RedisReentrantLock renewed = locks.reentrantLock("renewed");
        RedisReentrantLock resident = locks.reentrantLock("resident", KEPT);
        renewed.lock();
        resident.lock();
        resident.unlock();
        inAHolder(() -> {
            wanted.lock();
            errors.set(Integer.MAX_VALUE);
            other.forceUnlock();
            pass(35_000);
            assertThat(locks.countResident()).isEqualTo(1);
            server.del("redis-locks:{resident}");
            pass(LOOK_MILLIS);
            assertThat(locks.countResident()).as("asked for at its heartbeat").isZero();
            errors.set(0);
            pass(LOOK_MILLIS);
            onlyLossesAreLeft(wanted, 1);
            return null;
        });
        renewed.unlock();
        assertThat(losses).hasSize(1);
    }

    /** A thread that has a lock and finds at the end of its stack that its deadline has passed. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void held_atTheEndOfTheStack_reportsTheLossOnce(boolean kept) throws Exception {
        RedisReentrantLock wanted = wanted(kept);
        int overflows = 0;
        for (int left = 0; NearTheEnd.goesOn(left, overflows, DEPTHS); left++) {
            int above = left;
            boolean met = NearTheEnd.inAThread(() -> {
                wanted.lock();
                // No other thread wakes to find the loss.
                clock.moveAtReadings(TimeUnit.SECONDS.toNanos(31));
                return NearTheEnd.overflows(above, wanted::isHeldByCurrentThread);
            });
            overflows += met ? 1 : 0;
            clock.moveAtReadings(0);
            clock.advanceMillis(31_000);
            pass(LOOK_MILLIS);
            assertThat(losses).as("%d calls above", left).hasSize(left + 1);
            assertThat(other.tryLock()).as("%d calls above", left).isTrue();
            other.unlock();
        }
        assertThat(overflows).isBetween(1, NearTheEnd.MOST - 1);
    }
}
