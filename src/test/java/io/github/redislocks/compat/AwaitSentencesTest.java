package io.github.redislocks.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The sentences of Condition's documentation on waiting. */
@ParameterizedClass
@EnumSource
@SuppressWarnings("JavaUtilDate") // Of the interface.
class AwaitSentencesTest extends Sentences {

    /** A way to wait; the timed ones take a time in milliseconds. */
    private enum Form {
        AWAIT,
        UNINTERRUPTIBLY,
        TIMED,
        NANOS,
        UNTIL;

        /** Whether it ended by a signal, as far as it tells. */
        boolean await(Condition condition, long millis) throws InterruptedException {
            return switch (this) {
                case AWAIT -> {
                    condition.await();
                    yield true;
                }
                case UNINTERRUPTIBLY -> {
                    condition.awaitUninterruptibly();
                    yield true;
                }
                case TIMED -> condition.await(millis, TimeUnit.MILLISECONDS);
                case NANOS -> condition.awaitNanos(TimeUnit.MILLISECONDS.toNanos(millis)) > 0;
                case UNTIL -> condition.awaitUntil(date(millis));
            };
        }

        boolean await(Condition condition) throws InterruptedException {
            return await(condition, 20_000);
        }

        boolean interruptible() {
            return this != UNINTERRUPTIBLY;
        }

        boolean timed() {
            return this == TIMED || this == NANOS || this == UNTIL;
        }

        /** So long from now; the ends of time are those of Date. */
        private static Date date(long millis) {
            boolean end = millis == Long.MAX_VALUE || millis == Long.MIN_VALUE;
            return new Date(end ? millis : Instant.now().toEpochMilli() + millis);
        }
    }

    private Condition condition;

    @BeforeEach
    void makeCondition() {
        condition = lock.newCondition();
    }

    /** A thread that waits with two holds, and ends with the lock free. */
    private Actor<Ended> waiter(Form form) {
        return start(() -> {
            lock.lock();
            lock.lock();
            Ended ended = Ended.of(
                    () -> assertThat(form.await(condition)).as("%s", form).isTrue());
            assertThat(lock.getHoldCount()).as("%s: holds restored", form).isEqualTo(2);
            unlock(lock, 2);
            return ended;
        });
    }

    private Actor<Boolean> timedWaiter(Form form, long millis) {
        return start(() -> {
            lock.lock();
            try {
                return form.await(condition, millis);
            } finally {
                lock.unlock();
            }
        });
    }

    /** Signals the one that waits, as soon as it does. */
    private void signalWaiter() {
        lockWithWaiters(lock, condition, 1);
        condition.signal();
        lock.unlock();
    }

    @Test
    void await_signalled_returnsWithTheHoldsRestored() throws InterruptedException {
        for (Form form : Form.values()) {
            Actor<Ended> waiter = waiter(form);
            lockWithWaiters(lock, condition, 1);
            condition.signal();
            assertThat(waiter.isDone()).as("%s: before the lock is free", form).isFalse();
            lock.unlock();
            assertThat(waiter.result()).as("%s", form).isEqualTo(Ended.WELL);
            assertFree();
        }
    }

    @Test
    void await_anyForm_liesDormant() throws InterruptedException {
        for (Form form : Form.values()) {
            Actor<Ended> waiter = waiter(form);
            lockWithWaiters(lock, condition, 1);
            lock.unlock();
            Thread.State dormant = form.timed() ? Thread.State.TIMED_WAITING : Thread.State.WAITING;
            awaitThat().alias(form + " is " + dormant).until(() -> waiter.thread.getState() == dormant);
            signalWaiter();
            waiter.result();
        }
    }

    @Test
    void await_interruptedBefore_throwsWithTheHoldsKept() {
        lock.lock();
        lock.lock();
        for (Form form : Form.values()) {
            if (form.interruptible()) {
                assertThat(Ended.ofInterrupted(() -> form.await(condition)))
                        .as("%s", form)
                        .isEqualTo(Ended.BY_INTERRUPT);
                assertThat(lock.getHoldCount()).as("%s", form).isEqualTo(2);
            }
        }
        unlock(lock, 2);
        assertFree();
    }

    @Test
    void await_interruptedWhileWaiting_throwsWithTheHoldsRestored() throws InterruptedException {
        for (Form form : Form.values()) {
            if (form.interruptible()) {
                Actor<Ended> waiter = waiter(form);
                lockWithWaiters(lock, condition, 1);
                lock.unlock();
                waiter.thread.interrupt();
                assertThat(waiter.result()).as("%s", form).isEqualTo(Ended.BY_INTERRUPT);
                assertFree();
            }
        }
    }

    @Test
    void await_interruptedAfterTheSignal_returnsAndKeepsTheFlag() throws InterruptedException {
        for (Form form : Form.values()) {
            Actor<Ended> waiter = waiter(form);
            lockWithWaiters(lock, condition, 1);
            condition.signal();
            waiter.thread.interrupt();
            lock.unlock();
            assertThat(waiter.result()).as("%s", form).isEqualTo(Ended.WELL_WITH_FLAG);
            assertFree();
        }
    }

    @Test
    void awaitUninterruptibly_interrupted_waitsOnAndKeepsTheFlag() throws InterruptedException {
        for (boolean before : new boolean[] {true, false}) {
            Actor<Ended> waiter = start(() -> {
                lock.lock();
                if (before) {
                    Thread.currentThread().interrupt();
                }
                Ended ended = Ended.of(condition::awaitUninterruptibly);
                lock.unlock();
                return ended;
            });
            lockWithWaiters(lock, condition, 1);
            waiter.thread.interrupt();
            lock.unlock();
            awaitThat().until(() -> !waiter.thread.isInterrupted() && isParked(waiter.thread));
            signalWaiter();
            assertThat(waiter.result()).isEqualTo(Ended.WELL_WITH_FLAG);
            assertFree();
        }
    }

    @Test
    void await_timedOut_isFalseNeverEarlyWithTheHoldsRestored() throws InterruptedException {
        lock.lock();
        lock.lock();
        for (Form form : Form.values()) {
            if (form.timed()) {
                for (long millis : new long[] {1, 20, 120}) {
                    long began = System.nanoTime();
                    Instant wall = Instant.now();
                    assertThat(form.await(condition, millis)).as("%s", form).isFalse();
                    if (form == Form.UNTIL) {
                        assertThat(Instant.now().toEpochMilli()).isGreaterThanOrEqualTo(wall.toEpochMilli() + millis);
                    } else {
                        assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(millis * 1_000_000);
                    }
                    assertThat(lock.getHoldCount()).as("%s", form).isEqualTo(2);
                }
            }
        }
        unlock(lock, 2);
        assertFree();
    }

    @Test
    void await_timeThatIsOver_isFalseAtOnceWithTheLockHeld() throws InterruptedException {
        lock.lock();
        for (Form form : Form.values()) {
            if (form.timed()) {
                for (long millis : new long[] {0, -1, -100_000, Long.MIN_VALUE}) {
                    assertThat(form.await(condition, millis))
                            .as("%s %d", form, millis)
                            .isFalse();
                    assertThat(lock.getHoldCount()).as("%s %d", form, millis).isEqualTo(1);
                }
            }
        }
        lock.unlock();
        assertFree();
    }

    @Test
    void await_longestTime_isNotOverrun() throws InterruptedException {
        for (Form form : Form.values()) {
            if (form.timed()) {
                Actor<Boolean> waiter = timedWaiter(form, Long.MAX_VALUE);
                signalWaiter();
                assertThat(waiter.result()).as("%s", form).isTrue();
            }
        }
        assertFree();
    }

    @Test
    void await_timedOutWhileTheLockIsHeld_returnsFalseWhenItIsFree() throws InterruptedException {
        for (Form form : Form.values()) {
            if (form.timed()) {
                Actor<Boolean> waiter = timedWaiter(form, 200);
                lockWithWaiters(lock, condition, 1);
                awaitThat().until(() -> lock.hasQueuedThread(waiter.thread));
                // Too late: its time was over first.
                condition.signal();
                assertThat(waiter.isDone()).isFalse();
                lock.unlock();
                assertThat(waiter.result()).as("%s", form).isFalse();
            }
        }
        assertFree();
    }

    @Test
    void awaitNanos_anyTime_returnsTheTimeLessWhatWasSpent() throws InterruptedException {
        lock.lock();
        for (long nanos : new long[] {30_000_000, 0, -1, -5_000_000_000L, Long.MIN_VALUE}) {
            long began = System.nanoTime();
            long left = condition.awaitNanos(nanos);
            long spent = System.nanoTime() - began;
            assertThat(left).as("%d", nanos).isLessThanOrEqualTo(Math.min(0, nanos));
            if (nanos >= 0) {
                assertThat(left).as("%d", nanos).isGreaterThanOrEqualTo(nanos - spent);
            }
        }
        lock.unlock();
        Actor<Long> waiter = start(() -> {
            lock.lock();
            long left = condition.awaitNanos(Long.MAX_VALUE);
            lock.unlock();
            return left;
        });
        signalWaiter();
        assertThat(waiter.result()).isBetween(Long.MAX_VALUE - 60_000_000_000L, Long.MAX_VALUE);
    }

    @Test
    void await_notHeld_throws() {
        for (Form form : Form.values()) {
            assertThatThrownBy(() -> form.await(condition))
                    .as("%s", form)
                    .isInstanceOf(IllegalMonitorStateException.class);
        }
        assertFree();
    }

    @Test
    void await_notHeldButInterrupted_throwsWhatIsCheckedFirst() {
        for (Form form : Form.values()) {
            if (form.interruptible()) {
                assertThat(Ended.ofInterrupted(() -> form.await(condition)))
                        .as("%s", form)
                        .isEqualTo(Ended.BY_INTERRUPT);
            } else {
                Thread.currentThread().interrupt();
                assertThatThrownBy(() -> form.await(condition)).isInstanceOf(IllegalMonitorStateException.class);
                assertThat(Thread.interrupted()).as("kept").isTrue();
            }
        }
    }

    @Test
    void await_nullArgument_throwsBeforeAllElse() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> condition.await(1, null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> condition.awaitUntil(null)).isInstanceOf(NullPointerException.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void awaitUntil_dateOfADatabase_isADate() throws InterruptedException {
        lock.lock();
        assertThat(condition.awaitUntil(new java.sql.Date(Instant.now().toEpochMilli() + 5)))
                .isFalse();
        lock.unlock();
    }

    @Test
    void await_heldTwice_freesTheLockForOthers() throws InterruptedException {
        for (Form form : Form.values()) {
            Actor<Ended> waiter = waiter(form);
            lockWithWaiters(lock, condition, 1);
            lock.unlock();
            Holder holder = new Holder(there);
            holder.end();
            signalWaiter();
            assertThat(waiter.result()).as("%s", form).isEqualTo(Ended.WELL);
        }
    }
}
