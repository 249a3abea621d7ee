package io.github.redislocks.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The sentences of ReentrantLock's documentation on its queries. Each thread is looked for in the lock that it uses.
 */
@ParameterizedClass
@EnumSource
class QuerySentencesTest extends Sentences {

    private Actor<Void> queue() {
        Actor<Void> waiter = start(() -> {
            lock.lockInterruptibly();
            lock.unlock();
            return null;
        });
        awaitThat().until(() -> lock.hasQueuedThread(waiter.thread));
        return waiter;
    }

    private Actor<Boolean> waitIn(Condition condition) {
        return start(() -> {
            lock.lock();
            try {
                return condition.await(20, TimeUnit.SECONDS);
            } finally {
                lock.unlock();
            }
        });
    }

    private void assertWaiters(Condition condition, Thread... threads) {
        assertThat(lock.hasWaiters(condition)).isEqualTo(threads.length > 0);
        assertThat(lock.getWaitQueueLength(condition)).isEqualTo(threads.length);
        assertThat(lock.getWaitingThreads(condition)).containsExactlyInAnyOrder(threads);
    }

    private void assertQueued(Thread... threads) {
        assertThat(lock.hasQueuedThreads()).isEqualTo(threads.length > 0);
        assertThat(lock.getQueueLength()).isEqualTo(threads.length);
        assertThat(lock.getQueuedThreads()).containsExactlyInAnyOrder(threads);
        for (Thread thread : threads) {
            assertThat(lock.hasQueuedThread(thread)).isTrue();
        }
    }

    @Test
    void isFair_anyLock_isAsItWasMade() {
        assertThat(lock.isFair()).isEqualTo(kind.fair);
    }

    @Test
    void holderQueries_anyState_tellTheHolderFromOthers() throws InterruptedException {
        assertThat(lock.isLocked()).isFalse();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.getOwner()).isNull();
        lock.lock();
        lock.lock();
        assertThat(lock.isLocked()).isTrue();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        Thread owner = Thread.currentThread();
        elsewhere(() -> {
            for (Subject seen : List.of(lock, there)) {
                assertThat(seen.isLocked()).isTrue();
                assertThat(seen.isHeldByCurrentThread()).isFalse();
                assertThat(seen.getHoldCount()).isZero();
                // Of a thread of another JVM nothing is known.
                assertThat(seen.getOwner()).isSameAs(seen == lock ? owner : null);
            }
        });
        unlock(lock, 2);
        assertThat(lock.getOwner()).isNull();
        assertFree();
    }

    @Test
    void queueQueries_waitersThatComeAndGo_countThem() throws InterruptedException {
        assertQueued();
        Holder holder = new Holder(there);
        Actor<Void> first = queue();
        assertQueued(first.thread);
        Actor<Void> second = queue();
        assertQueued(first.thread, second.thread);
        assertThat(lock.hasQueuedThread(holder.actor.thread)).isFalse();
        first.thread.interrupt();
        assertThatThrownBy(first::result).hasCauseInstanceOf(InterruptedException.class);
        assertQueued(second.thread);
        assertThat(lock.hasQueuedThread(first.thread)).isFalse();
        holder.end();
        second.result();
        assertQueued();
        assertFree();
    }

    @Test
    void queueQueries_timedWaiter_countItForItsTime() throws InterruptedException {
        Holder holder = new Holder(there);
        Actor<Boolean> waiter = start(() -> lock.tryLock(100, TimeUnit.MILLISECONDS));
        awaitThat().until(() -> lock.hasQueuedThread(waiter.thread) || waiter.isDone());
        assertThat(waiter.result()).isFalse();
        assertQueued();
        holder.end();
    }

    @Test
    void hasQueuedThread_ofOtherThreads_isFalse() throws InterruptedException {
        assertThatThrownBy(() -> lock.hasQueuedThread(null)).isInstanceOf(NullPointerException.class);
        assertThat(lock.hasQueuedThread(new Thread())).isFalse();
        assertThat(lock.hasQueuedThread(Thread.currentThread())).isFalse();
        lock.lock();
        assertThat(lock.hasQueuedThread(Thread.currentThread())).isFalse();
        lock.unlock();
    }

    @Test
    void waitersQueries_threadsInTwoConditions_areCountedApart() throws InterruptedException {
        Condition condition = lock.newCondition();
        Condition other = lock.newCondition();
        Actor<Boolean> first = waitIn(condition);
        lockWithWaiters(lock, condition, 1);
        assertWaiters(condition, first.thread);
        assertWaiters(other);
        lock.unlock();
        Actor<Boolean> second = waitIn(condition);
        lockWithWaiters(lock, condition, 2);
        lock.unlock();
        Actor<Boolean> third = waitIn(other);
        lockWithWaiters(lock, other, 1);
        assertWaiters(condition, first.thread, second.thread);
        assertWaiters(other, third.thread);
        assertQueued();
        condition.signalAll();
        other.signalAll();
        lock.unlock();
        assertThat(first.result() && second.result() && third.result()).isTrue();
        lock.lock();
        assertWaiters(condition);
        assertWaiters(other);
        lock.unlock();
        assertFree();
    }

    @Test
    void signal_ofALocalWaiter_movesItToTheQueueBeforeItReturns() throws InterruptedException {
        Condition condition = lock.newCondition();
        Actor<Boolean> first = waitIn(condition);
        lockWithWaiters(lock, condition, 1);
        lock.unlock();
        Actor<Boolean> second = waitIn(condition);
        lockWithWaiters(lock, condition, 2);
        condition.signal();
        assertWaiters(condition, second.thread);
        assertQueued(first.thread);
        condition.signalAll();
        assertWaiters(condition);
        assertQueued(first.thread, second.thread);
        lock.unlock();
        assertThat(first.result() && second.result()).isTrue();
        assertFree();
    }

    @Test
    void interrupt_ofAWaiter_movesItToTheQueue() throws InterruptedException {
        Condition condition = lock.newCondition();
        Actor<Boolean> waiter = waitIn(condition);
        lockWithWaiters(lock, condition, 1);
        waiter.thread.interrupt();
        awaitThat().until(() -> lock.hasQueuedThread(waiter.thread));
        assertWaiters(condition);
        assertThat(waiter.isDone()).isFalse();
        lock.unlock();
        assertThatThrownBy(waiter::result).hasCauseInstanceOf(InterruptedException.class);
        assertFree();
    }

    @Test
    void waitersQueries_wrongArgumentOrNotHeld_areRefusedInThisOrder() throws InterruptedException {
        Condition ours = lock.newCondition();
        List<Consumer<Condition>> queries =
                List.of(lock::hasWaiters, lock::getWaitQueueLength, lock::getWaitingThreads);
        for (boolean held : new boolean[] {false, true}) {
            if (held) {
                lock.lock();
            }
            for (Consumer<Condition> query : queries) {
                assertThatThrownBy(() -> query.accept(null)).isInstanceOf(NullPointerException.class);
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> query.accept(locks.another().newCondition()));
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> query.accept(
                                new ReentrantReadWriteLock().writeLock().newCondition()));
                if (there != lock) {
                    assertThatIllegalArgumentException().isThrownBy(() -> query.accept(there.newCondition()));
                }
                elsewhere(() ->
                        assertThatThrownBy(() -> query.accept(ours)).isInstanceOf(IllegalMonitorStateException.class));
                if (held) {
                    query.accept(ours);
                }
            }
        }
        lock.unlock();
    }

    @Test
    void toString_anyState_tellsTheOwner() throws InterruptedException {
        assertThat(lock.toString()).endsWith("[Unlocked]");
        lock.lock();
        String owned = "[Locked by thread " + Thread.currentThread().getName() + "]";
        assertThat(lock.toString()).endsWith(owned);
        elsewhere(() -> assertThat(lock.toString()).endsWith(owned));
        lock.unlock();
        assertThat(lock.toString()).endsWith("[Unlocked]");
    }
}
