package io.github.redislocks.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The sentences of Lock's and ReentrantLock's documentation on acquisition and release. */
@ParameterizedClass
@EnumSource
class LockSentencesTest extends Sentences {

    /** A way to acquire. */
    private enum Form {
        LOCK(false),
        LOCK_INTERRUPTIBLY(true),
        TRY(false),
        TRY_TIMED(true),
        TRY_ZERO(true),
        TRY_NEGATIVE(true),
        TRY_LEAST(true),
        TRY_LONGEST(true);

        final boolean interruptible;

        Form(boolean interruptible) {
            this.interruptible = interruptible;
        }

        boolean acquire(Subject lock) throws InterruptedException {
            return switch (this) {
                case LOCK -> {
                    lock.lock();
                    yield true;
                }
                case LOCK_INTERRUPTIBLY -> {
                    lock.lockInterruptibly();
                    yield true;
                }
                case TRY -> lock.tryLock();
                case TRY_TIMED -> lock.tryLock(20, TimeUnit.SECONDS);
                case TRY_ZERO -> lock.tryLock(0, TimeUnit.NANOSECONDS);
                case TRY_NEGATIVE -> lock.tryLock(-1, TimeUnit.SECONDS);
                case TRY_LEAST -> lock.tryLock(Long.MIN_VALUE, TimeUnit.DAYS);
                case TRY_LONGEST -> lock.tryLock(Long.MAX_VALUE, TimeUnit.DAYS);
            };
        }

        /** Whether it waits while another holds the lock. */
        boolean waits() {
            return this == LOCK || this == LOCK_INTERRUPTIBLY || this == TRY_TIMED || this == TRY_LONGEST;
        }

        boolean isDormant(Thread thread) {
            Thread.State state = thread.getState();
            return switch (this) {
                case LOCK, LOCK_INTERRUPTIBLY -> state == Thread.State.WAITING;
                case TRY_TIMED -> state == Thread.State.TIMED_WAITING;
                // A time that nobody lives to see may count as none.
                default -> isParked(thread);
            };
        }
    }

    @Test
    void acquire_free_holdsOnce() throws InterruptedException {
        for (Form form : Form.values()) {
            assertThat(form.acquire(lock)).as("%s", form).isTrue();
            assertThat(lock.getHoldCount()).as("%s", form).isEqualTo(1);
            lock.unlock();
            assertFree();
        }
    }

    @Test
    void acquire_heldBySelf_countsEach() throws InterruptedException {
        lock.lock();
        int holds = 1;
        for (Form form : Form.values()) {
            assertThat(form.acquire(lock)).as("%s", form).isTrue();
            assertThat(lock.getHoldCount()).as("%s", form).isEqualTo(++holds);
        }
        while (holds > 0) {
            assertThat(lock.isLocked()).isTrue();
            lock.unlock();
            assertThat(lock.getHoldCount()).isEqualTo(--holds);
        }
        assertFree();
    }

    @Test
    void acquire_heldByAnother_isFalseOrWaits() throws InterruptedException {
        for (Form form : Form.values()) {
            Holder holder = new Holder(there);
            if (form.waits()) {
                Actor<Integer> waiter = start(() -> {
                    assertThat(form.acquire(lock)).as("%s", form).isTrue();
                    int holds = lock.getHoldCount();
                    lock.unlock();
                    return holds;
                });
                awaitThat()
                        .alias(form + " lies dormant")
                        .until(() -> lock.hasQueuedThread(waiter.thread) && form.isDormant(waiter.thread));
                assertThat(waiter.isDone()).isFalse();
                holder.end();
                assertThat(waiter.result()).as("%s: holds", form).isEqualTo(1);
            } else {
                assertThat(form.acquire(lock)).as("%s", form).isFalse();
                assertThat(holder.actor.isDone()).isFalse();
                holder.end();
            }
            assertFree();
        }
    }

    @Test
    void tryLock_timed_isNeverFalseEarly() throws InterruptedException {
        Holder holder = new Holder(there);
        for (long millis : new long[] {1, 20, 150}) {
            long began = System.nanoTime();
            assertThat(lock.tryLock(millis, TimeUnit.MILLISECONDS)).isFalse();
            assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(millis * 1_000_000);
            assertThat(lock.hasQueuedThread(Thread.currentThread())).isFalse();
        }
        assertThat(holder.actor.isDone()).isFalse();
        holder.end();
    }

    @Test
    void tryLock_timesOfAnyUnit_areNotOverrun() throws InterruptedException {
        for (TimeUnit unit : TimeUnit.values()) {
            assertThat(lock.tryLock(Long.MAX_VALUE, unit)).as("%s", unit).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(Long.MIN_VALUE, unit)).as("%s", unit).isTrue();
            lock.unlock();
        }
        assertFree();
    }

    @Test
    void acquire_interruptedBefore_throwsOrKeepsTheFlag() throws InterruptedException {
        for (Form form : Form.values()) {
            Ended expected = form.interruptible ? Ended.BY_INTERRUPT : Ended.WELL_WITH_FLAG;
            int got = form.interruptible ? 0 : 1;
            assertThat(Ended.ofInterrupted(() -> form.acquire(lock)))
                    .as("%s of a free lock", form)
                    .isEqualTo(expected);
            assertThat(lock.getHoldCount()).as("%s", form).isEqualTo(got);
            unlock(lock, got);
            lock.lock();
            assertThat(Ended.ofInterrupted(() -> form.acquire(lock)))
                    .as("%s of its own lock", form)
                    .isEqualTo(expected);
            assertThat(lock.getHoldCount()).as("%s", form).isEqualTo(1 + got);
            unlock(lock, 1 + got);
            assertFree();
        }
    }

    @Test
    void acquire_interruptedBefore_heldByAnother_throwsOrKeepsTheFlag() throws InterruptedException {
        for (Form form : Form.values()) {
            Holder holder = new Holder(there);
            Actor<Ended> waiter = start(() -> Ended.ofInterrupted(() -> {
                if (form.acquire(lock)) {
                    lock.unlock();
                }
            }));
            if (form == Form.LOCK) {
                awaitParked(lock, waiter);
                holder.end();
            }
            assertThat(waiter.result())
                    .as("%s", form)
                    .isEqualTo(form.interruptible ? Ended.BY_INTERRUPT : Ended.WELL_WITH_FLAG);
            holder.end();
            assertFree();
        }
    }

    @Test
    void acquire_interruptedWhileParked_throwsOrWaitsOn() throws InterruptedException {
        for (Form form : Form.values()) {
            if (!form.waits()) {
                continue;
            }
            Holder holder = new Holder(there);
            Actor<Ended> waiter = start(() -> Ended.of(() -> {
                form.acquire(lock);
                lock.unlock();
            }));
            awaitParked(lock, waiter);
            waiter.thread.interrupt();
            if (form.interruptible) {
                assertThat(waiter.result()).as("%s", form).isEqualTo(Ended.BY_INTERRUPT);
                assertThat(lock.hasQueuedThread(waiter.thread)).isFalse();
            } else {
                // Whatever the interrupt wakes it to do, it comes back to wait.
                awaitThat().until(() -> !waiter.thread.isInterrupted());
                awaitParked(lock, waiter);
                holder.end();
                assertThat(waiter.result()).as("%s", form).isEqualTo(Ended.WELL_WITH_FLAG);
            }
            holder.end();
            awaitFree();
        }
    }

    @Test
    void acquire_interruptedAtAnyMoment_holdsOrThrowsAndLeavesNothing() throws InterruptedException {
        long seed = Long.getLong("compat.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int round = 0; round < 120; round++) {
            Form form = new Form[] {Form.LOCK, Form.LOCK_INTERRUPTIBLY, Form.TRY_TIMED}[round % 3];
            Holder holder = new Holder(there);
            Actor<Ended> waiter = start(() -> Ended.of(() -> {
                form.acquire(lock);
                // Nothing but a hold comes without an exception.
                assertThat(lock.getHoldCount()).isEqualTo(1);
                lock.unlock();
            }));
            LockSupport.parkNanos(random.nextInt(1_500_000));
            boolean freeFirst = random.nextBoolean();
            if (freeFirst) {
                holder.free();
                LockSupport.parkNanos(random.nextInt(400_000));
            }
            waiter.thread.interrupt();
            holder.end();
            Ended ended = waiter.result();
            assertThat(ended.interrupted())
                    .as("%s, -Dcompat.seed=%d", form, seed)
                    .isIn(false, form.interruptible);
            assertThat(ended.interrupted() && ended.flag()).as("both told").isFalse();
            awaitFree();
        }
    }

    @Test
    void unlock_interrupted_worksAndKeepsTheFlag() {
        lock.lock();
        lock.lock();
        for (int holds = 1; holds >= 0; holds--) {
            assertThat(Ended.ofInterrupted(lock::unlock)).isEqualTo(Ended.WELL_WITH_FLAG);
            assertThat(lock.getHoldCount()).isEqualTo(holds);
        }
        assertFree();
    }

    @Test
    void unlock_notHeld_throwsAndChangesNothing() throws InterruptedException {
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        lock.lock();
        elsewhere(() -> assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class));
        elsewhere(() -> assertThatThrownBy(there::unlock).isInstanceOf(IllegalMonitorStateException.class));
        assertThat(lock.getHoldCount()).isEqualTo(2);
        unlock(lock, 2);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertFree();
    }

    @Test
    void tryLock_nullUnit_throwsBeforeAllElse() {
        assertThatThrownBy(() -> lock.tryLock(1, null)).isInstanceOf(NullPointerException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> lock.tryLock(1, null)).isInstanceOf(NullPointerException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertFree();
    }

    @Test
    void twoLocks_excludeApart() throws InterruptedException {
        Subject another = locks.another();
        lock.lock();
        elsewhere(() -> {
            assertThat(another.tryLock()).isTrue();
            another.unlock();
        });
        lock.unlock();
    }

    @Test
    void lock_contended_showsWhatTheHolderBeforeWrote() throws InterruptedException {
        // Plain: only the lock makes a write of one thread visible to the other.
        int[] count = new int[1];
        Actor<Void> other = start(() -> {
            for (int i = 0; i < 200; i++) {
                there.lock();
                count[0]++;
                there.unlock();
            }
            return null;
        });
        for (int i = 0; i < 200; i++) {
            lock.lock();
            count[0]++;
            lock.unlock();
        }
        other.result();
        assertThat(count[0]).isEqualTo(400);
        assertFree();
    }
}
