package io.github.redislocks.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The sentences of Condition's documentation on signals. The waiters are here, the signals come from there. */
@ParameterizedClass
@EnumSource
class SignalSentencesTest extends Sentences {

    private Condition condition;
    private Condition other;
    private Condition thereCondition;

    @BeforeEach
    void makeConditions() {
        condition = lock.newCondition();
        other = lock.newCondition();
        // Of the same order of creation, and so the same Condition.
        thereCondition = there == lock ? condition : there.newCondition();
    }

    private Actor<Boolean> waiter(Condition in, int already) {
        Actor<Boolean> waiter = start(() -> {
            lock.lock();
            try {
                return in.await(20, TimeUnit.SECONDS);
            } finally {
                lock.unlock();
            }
        });
        lockWithWaiters(lock, in, already + 1);
        lock.unlock();
        return waiter;
    }

    private void signalThere() {
        there.lock();
        thereCondition.signal();
        there.unlock();
    }

    @Test
    void signal_severalWaiters_wakesOneByOneInOrder() throws InterruptedException {
        List<Actor<Boolean>> waiters = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            waiters.add(waiter(condition, i));
        }
        for (int i = 0; i < 4; i++) {
            signalThere();
            assertThat(waiters.get(i).result()).isTrue();
            lockWithWaiters(lock, condition, 3 - i);
            lock.unlock();
        }
        assertFree();
    }

    @Test
    void signalAll_severalWaiters_wakesAllOfThisConditionOnly() throws InterruptedException {
        List<Actor<Boolean>> waiters = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            waiters.add(waiter(condition, i));
        }
        Actor<Boolean> another = waiter(other, 0);
        there.lock();
        thereCondition.signalAll();
        there.unlock();
        for (Actor<Boolean> waiter : waiters) {
            assertThat(waiter.result()).isTrue();
        }
        lock.lock();
        assertThat(lock.hasWaiters(condition)).isFalse();
        assertThat(lock.getWaitingThreads(other)).containsExactly(another.thread);
        other.signal();
        lock.unlock();
        assertThat(another.result()).isTrue();
        assertFree();
    }

    @Test
    void signal_noWaiters_doesNothing() throws InterruptedException {
        lock.lock();
        condition.signal();
        condition.signalAll();
        assertThat(condition.await(30, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        lock.unlock();
        assertFree();
    }

    @Test
    void signal_heldTwice_keepsTheLock() throws InterruptedException {
        Actor<Boolean> waiter = waiter(condition, 0);
        there.lock();
        there.lock();
        thereCondition.signal();
        assertThat(there.getHoldCount()).isEqualTo(2);
        there.unlock();
        assertThat(there.isHeldByCurrentThread()).isTrue();
        assertThat(waiter.isDone()).isFalse();
        there.unlock();
        assertThat(waiter.result()).isTrue();
        assertFree();
    }

    @Test
    void signal_interrupted_worksAndKeepsTheFlag() throws InterruptedException {
        Actor<Boolean> waiter = waiter(condition, 0);
        there.lock();
        assertThat(Ended.ofInterrupted(thereCondition::signal)).isEqualTo(Ended.WELL_WITH_FLAG);
        assertThat(Ended.ofInterrupted(thereCondition::signalAll)).isEqualTo(Ended.WELL_WITH_FLAG);
        there.unlock();
        assertThat(waiter.result()).isTrue();
    }

    @Test
    void signal_firstWaiterHasLeft_goesToTheNext() throws InterruptedException {
        Actor<Boolean> leaves = waiter(condition, 0);
        Actor<Boolean> stays = waiter(condition, 1);
        lock.lock();
        leaves.thread.interrupt();
        awaitThat().until(() -> lock.hasQueuedThread(leaves.thread));
        condition.signal();
        lock.unlock();
        assertThatThrownBy(leaves::result).hasCauseInstanceOf(InterruptedException.class);
        assertThat(stays.result()).isTrue();
        assertFree();
    }

    @Test
    void signal_notHeld_throwsAndWakesNobody() throws InterruptedException {
        Actor<Boolean> waiter = waiter(condition, 0);
        for (boolean heldByAnother : new boolean[] {false, true}) {
            if (heldByAnother) {
                lock.lock();
            }
            elsewhere(() -> {
                assertThatThrownBy(condition::signal).isInstanceOf(IllegalMonitorStateException.class);
                assertThatThrownBy(thereCondition::signalAll).isInstanceOf(IllegalMonitorStateException.class);
            });
        }
        assertThat(lock.getWaitingThreads(condition)).containsExactly(waiter.thread);
        condition.signal();
        lock.unlock();
        assertThat(waiter.result()).isTrue();
    }

    @Test
    void signal_atTheMomentOfAnInterrupt_isNotLost() throws InterruptedException {
        for (int round = 0; round < 20; round++) {
            Actor<Boolean> first = waiter(condition, 0);
            Actor<Boolean> second = waiter(condition, 1);
            there.lock();
            Actor<Void> interrupter = start(() -> {
                first.thread.interrupt();
                return null;
            });
            thereCondition.signal();
            there.unlock();
            interrupter.result();
            // Either the first was signalled and the second waits on, or the first has left the signal to it.
            boolean signalled = endedBySignal(first);
            if (signalled) {
                signalThere();
            }
            assertThat(second.result()).as("signal of the first: %s", signalled).isTrue();
            assertFree();
        }
    }

    private static boolean endedBySignal(Actor<Boolean> waiter) throws InterruptedException {
        try {
            return waiter.result();
        } catch (AssertionError e) {
            assertThat(e).hasCauseInstanceOf(InterruptedException.class);
            return false;
        }
    }
}
