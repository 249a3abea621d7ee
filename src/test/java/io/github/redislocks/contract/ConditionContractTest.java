package io.github.redislocks.contract;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The contract of a Condition, on every topology and with every kind of lock. Two clients stand for two JVMs. */
@Timeout(60)
public abstract class ConditionContractTest {

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final String name = "condition:" + UUID.randomUUID();
    private RedisLocks here;
    private RedisLocks there;
    private RedisReentrantLock lock;
    private RedisReentrantLock remote;
    private Condition condition;
    private Condition remoteCondition;

    /** A client of the Redis under test. */
    protected abstract RedisLocks connect();

    /** The kind of lock under test. */
    protected abstract RedisReentrantLock lock(RedisLocks locks, String lockName);

    @BeforeEach
    void connectTwice() {
        here = connect();
        there = connect();
        lock = lock(here, name);
        remote = lock(there, name);
        condition = lock.newCondition();
        remoteCondition = remote.newCondition();
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        here.close();
        there.close();
    }

    /** Waits until somebody waits in the Condition of this client. */
    private void awaitWaiters(int count) {
        await().pollInSameThread().until(() -> {
            lock.lock();
            try {
                return lock.getWaitQueueLength(condition) == count;
            } finally {
                lock.unlock();
            }
        });
    }

    private Future<String> waiter(String label) {
        return threads.submit(() -> {
            lock.lock();
            try {
                condition.await();
                return label;
            } catch (InterruptedException e) {
                return "interrupted";
            } finally {
                lock.unlock();
            }
        });
    }

    private void signalThere(boolean all) {
        remote.lock();
        try {
            if (all) {
                remoteCondition.signalAll();
            } else {
                remoteCondition.signal();
            }
        } finally {
            remote.unlock();
        }
    }

    @Test
    void signal_ofAnotherClient_wakesTheLongestWaiter() throws Exception {
        Future<String> first = waiter("first");
        awaitWaiters(1);
        Future<String> second = waiter("second");
        awaitWaiters(2);
        signalThere(false);
        assertThat(first.get(10, TimeUnit.SECONDS)).isEqualTo("first");
        assertThat(second.isDone()).isFalse();
        signalThere(false);
        assertThat(second.get(10, TimeUnit.SECONDS)).isEqualTo("second");
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void inspect_showsWhoWaitsInWhichCondition() throws Exception {
        Condition odd = remote.newCondition("odd name\n{1}%");
        Future<String> first = waiter("first");
        awaitWaiters(1);
        Future<String> second = waiter("second");
        awaitWaiters(2);
        Future<Boolean> third = threads.submit(() -> {
            remote.lock();
            try {
                return odd.await(10, TimeUnit.SECONDS);
            } finally {
                remote.unlock();
            }
        });
        await().until(() -> there.inspect(name).conditions().size() == 2);
        assertThat(there.inspect(name).queue()).isEmpty();
        assertThat(here.inspect(name).conditions())
                .flatExtracting(LockInspection.Waiting::waiters)
                .as("the waiters of one client, by their threads")
                .filteredOn(waiter -> waiter.owner().threadName().isPresent())
                .hasSize(2)
                .allMatch(waiter -> waiter.threads().orElse(0) == 1);
        assertThat(there.inspect(name).conditions())
                .anySatisfy(waiting -> {
                    assertThat(waiting.condition()).isEqualTo("odd name\n{1}%");
                    assertThat(waiting.waiters()).hasSize(1);
                })
                .anySatisfy(waiting -> {
                    assertThat(waiting.waiters()).hasSize(2);
                    assertThat(waiting.waiters().get(0).age())
                            .isGreaterThanOrEqualTo(waiting.waiters().get(1).age());
                    assertThat(waiting.waiters().get(0).owner().pid())
                            .isEqualTo(ProcessHandle.current().pid());
                });
        signalThere(true);
        assertThat(first.get(10, TimeUnit.SECONDS) + second.get(10, TimeUnit.SECONDS))
                .isEqualTo("firstsecond");
        lock.lock();
        lock.newCondition("odd name\n{1}%").signal();
        lock.unlock();
        assertThat(third.get(10, TimeUnit.SECONDS)).isTrue();
        assertThat(there.inspect(name).conditions()).isEmpty();
    }

    @Test
    void signalAll_wakesAll_ofThisConditionOnly() throws Exception {
        Condition other = lock.newCondition("other");
        List<Future<String>> waiters = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            waiters.add(waiter("w" + i));
        }
        awaitWaiters(5);
        Future<Boolean> elsewhere = threads.submit(() -> {
            lock.lock();
            try {
                return other.await(800, TimeUnit.MILLISECONDS);
            } finally {
                lock.unlock();
            }
        });
        signalThere(true);
        for (Future<String> waiter : waiters) {
            assertThat(waiter.get(10, TimeUnit.SECONDS)).startsWith("w");
        }
        assertThat(elsewhere.get(10, TimeUnit.SECONDS)).isFalse();
    }

    @Test
    void signal_withoutWaiters_isForgotten() throws Exception {
        lock.lock();
        condition.signal();
        condition.signalAll();
        assertThat(condition.await(100, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
    }

    @Test
    void await_restoresTheCountAndHasANewToken() throws Exception {
        Future<Integer> waiter = threads.submit(() -> {
            lock.lock();
            lock.lock();
            lock.lock();
            long token = lock.fencingToken();
            condition.await();
            int count = lock.getHoldCount();
            assertThat(lock.fencingToken()).isGreaterThan(token);
            for (int i = 0; i < 3; i++) {
                lock.unlock();
            }
            return count;
        });
        awaitWaiters(1);
        signalThere(false);
        assertThat(waiter.get(10, TimeUnit.SECONDS)).isEqualTo(3);
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void await_timed_isNeverEarlyAndHoldsAgain() throws Exception {
        lock.lock();
        long began = System.nanoTime();
        assertThat(condition.awaitNanos(150_000_000)).isLessThanOrEqualTo(0);
        assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(150_000_000);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        Instant until = Instant.now().plusMillis(150);
        assertThat(condition.awaitUntil(Date.from(until))).isFalse();
        assertThat(Instant.now()).isAfterOrEqualTo(until.minusMillis(1));
        assertThat(lock.getHoldCount()).isEqualTo(1);
        lock.unlock();
    }

    @Test
    void await_signalledInTime_tellsWhatIsLeft() throws Exception {
        Future<Long> waiter = threads.submit(() -> {
            lock.lock();
            try {
                return condition.awaitNanos(TimeUnit.SECONDS.toNanos(20));
            } finally {
                lock.unlock();
            }
        });
        awaitWaiters(1);
        signalThere(false);
        assertThat(waiter.get(10, TimeUnit.SECONDS)).isPositive();
    }

    @Test
    void await_interrupted_throwsWithTheLockHeld() throws Exception {
        Thread[] waiting = new Thread[1];
        Future<Boolean> waiter = threads.submit(() -> {
            waiting[0] = Thread.currentThread();
            lock.lock();
            try {
                condition.await();
                return false;
            } catch (InterruptedException e) {
                return lock.isHeldByCurrentThread() && !Thread.currentThread().isInterrupted();
            } finally {
                lock.unlock();
            }
        });
        awaitWaiters(1);
        waiting[0].interrupt();
        assertThat(waiter.get(10, TimeUnit.SECONDS)).isTrue();
        lock.lock();
        Thread.currentThread().interrupt();
        assertThatThrownBy(condition::await).isInstanceOf(InterruptedException.class);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
    }

    @Test
    void awaitUninterruptibly_interrupted_waitsOnAndKeepsTheFlag() throws Exception {
        Thread[] waiting = new Thread[1];
        Future<Boolean> waiter = threads.submit(() -> {
            waiting[0] = Thread.currentThread();
            lock.lock();
            try {
                condition.awaitUninterruptibly();
                return Thread.interrupted();
            } finally {
                lock.unlock();
            }
        });
        awaitWaiters(1);
        waiting[0].interrupt();
        awaitWaiters(1);
        signalThere(false);
        assertThat(waiter.get(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void signal_ofAWaiterThatHasJustLeft_goesToTheNext() throws Exception {
        Thread[] waiting = new Thread[1];
        Future<?> leaving = threads.submit(() -> {
            waiting[0] = Thread.currentThread();
            lock.lock();
            try {
                condition.await();
            } catch (InterruptedException e) {
                // Expected.
            } finally {
                lock.unlock();
            }
        });
        awaitWaiters(1);
        Future<String> staying = waiter("staying");
        awaitWaiters(2);
        waiting[0].interrupt();
        leaving.get(10, TimeUnit.SECONDS);
        signalThere(false);
        assertThat(staying.get(10, TimeUnit.SECONDS)).isEqualTo("staying");
    }

    @Test
    void withoutTheLock_everythingIsRefused() {
        assertThatThrownBy(condition::await).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(condition::signal).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(condition::signalAll).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> lock.hasWaiters(condition)).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> lock.hasWaiters(null)).isInstanceOf(NullPointerException.class);
        assertThatIllegalArgumentException().isThrownBy(() -> lock.hasWaiters(remoteCondition));
        assertThatIllegalArgumentException().isThrownBy(() -> lock.hasWaiters(new ReentrantLock().newCondition()));
        assertThatIllegalArgumentException().isThrownBy(() -> lock.newCondition(""));
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void lockLost_awaitAndSignalSaySo() {
        lock.lock();
        remote.forceUnlock();
        assertThatThrownBy(condition::await).isInstanceOf(LockLostException.class);
        assertThatThrownBy(condition::signal).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        lock.lock();
        remote.forceUnlock();
        assertThatThrownBy(condition::signal).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void holderLost_wakesWaitersSpuriously() throws Exception {
        Future<String> waiter = waiter("woken");
        awaitWaiters(1);
        fixed(remote, Duration.ofMillis(150)).lock();
        // The holder never signals, nor unlocks: the next one cannot know whom it would have signalled.
        assertThat(waiter.get(15, TimeUnit.SECONDS)).isEqualTo("woken");
        assertThatThrownBy(remote::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void close_whileAnotherThreadAwaits_thatAwaitThrows() throws Exception {
        Future<?> waiter = threads.submit(() -> {
            lock.lock();
            condition.awaitUninterruptibly();
        });
        awaitWaiters(1);
        here.close();
        assertThatThrownBy(() -> waiter.get(10, TimeUnit.SECONDS)).hasCauseInstanceOf(IllegalStateException.class);
        assertThat(remote.tryLock()).isTrue();
        remote.unlock();
    }

    @Test
    void boundedBuffer_ofTwoClients_movesEveryItemOnce() throws Exception {
        int items = 400;
        int capacity = 3;
        Queue<Integer> buffer = new ArrayDeque<>();
        List<Integer> taken = new CopyOnWriteArrayList<>();
        List<Future<Void>> done = new ArrayList<>();
        for (int worker = 0; worker < 8; worker++) {
            RedisReentrantLock mine = worker % 4 < 2 ? lock : remote;
            Condition notFull = mine.newCondition("not-full");
            Condition notEmpty = mine.newCondition("not-empty");
            boolean producer = worker % 2 == 0;
            int number = worker / 2;
            done.add(threads.submit(() -> {
                for (int i = 0; i < items / 4; i++) {
                    mine.lock();
                    try {
                        while (producer ? buffer.size() == capacity : buffer.isEmpty()) {
                            (producer ? notFull : notEmpty).await();
                        }
                        if (producer) {
                            buffer.add(number * items + i);
                            notEmpty.signal();
                        } else {
                            taken.add(buffer.remove());
                            notFull.signal();
                        }
                    } finally {
                        mine.unlock();
                    }
                }
                return null;
            }));
        }
        for (Future<Void> worker : done) {
            worker.get(50, TimeUnit.SECONDS);
        }
        assertThat(taken).hasSize(items).doesNotHaveDuplicates();
        assertThat(buffer).isEmpty();
        assertThat(lock.tryLock()).as("nobody holds the lock").isTrue();
        lock.unlock();
    }
}
