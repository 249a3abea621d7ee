package io.github.redislocks.readwrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisReentrantReadWriteLock;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The sentences of the documentation of ReadWriteLock and ReentrantReadWriteLock, across two clients. */
@ParameterizedClass
@EnumSource
class ReadWriteContractTest extends ReadWriteTest {

    /** A way to acquire that waits. */
    private enum Form {
        LOCK,
        LOCK_INTERRUPTIBLY,
        TRY_TIMED;

        boolean acquire(Lock one) throws InterruptedException {
            switch (this) {
                case LOCK -> one.lock();
                case LOCK_INTERRUPTIBLY -> one.lockInterruptibly();
                default -> {
                    return one.tryLock(20, TimeUnit.SECONDS);
                }
            }
            return true;
        }
    }

    private static boolean tries(Lock one) {
        if (one.tryLock()) {
            one.unlock();
            return true;
        }
        return false;
    }

    @Test
    void readLock_readersOfTwoClients_readTogether() throws InterruptedException {
        Holder first = reading(lock);
        Holder second = reading(lock);
        Holder third = reading(remote);
        assertThat(lock.getReadLockCount()).isEqualTo(2);
        assertThat(remote.getReadLockCount()).isEqualTo(1);
        assertThat(lock.isWriteLocked()).isFalse();
        assertThat(tries(remote.readLock())).isTrue();
        first.end();
        second.end();
        third.end();
        assertFree();
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    void writeLock_othersRead_waitsForTheLast(Form form) throws InterruptedException {
        Holder here = reading(lock);
        Holder there = reading(remote);
        Actor<Boolean> writer = new Actor<>(() -> {
            boolean acquired = form.acquire(lock.writeLock());
            assertThat(lock.getWriteHoldCount()).isEqualTo(1);
            lock.writeLock().unlock();
            return acquired;
        });
        awaitParked(lock, writer.thread);
        here.end();
        assertThat(writer.isDone()).isFalse();
        there.end();
        assertThat(writer.result()).isTrue();
        assertFree();
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    void readLock_anotherWrites_waits(Form form) throws InterruptedException {
        Holder writer = writing(remote);
        Actor<Boolean> reader = new Actor<>(() -> {
            boolean acquired = form.acquire(lock.readLock());
            assertThat(lock.getReadHoldCount()).isEqualTo(1);
            lock.readLock().unlock();
            return acquired;
        });
        awaitParked(lock, reader.thread);
        assertThat(lock.isWriteLocked()).isTrue();
        writer.end();
        assertThat(reader.result()).isTrue();
        assertFree();
    }

    @Test
    void readLock_anotherThreadOfTheClientWrites_waits() throws InterruptedException {
        Holder writer = writing(lock);
        Holder reader = waitingReader(lock);
        assertThat(elsewhere(() -> tries(lock.readLock()))).isFalse();
        writer.end();
        reader.awaitHas();
        reader.end();
        assertFree();
    }

    @Test
    void tryLock_ofEither_isFalseAgainstAnother() throws InterruptedException {
        Holder writer = writing(remote);
        assertThat(tries(lock.readLock())).isFalse();
        assertThat(tries(lock.writeLock())).isFalse();
        assertThat(lock.readLock().tryLock(-1, TimeUnit.SECONDS)).isFalse();
        writer.end();
        Holder reader = reading(remote);
        assertThat(tries(lock.writeLock())).isFalse();
        assertThat(elsewhere(() -> tries(remote.writeLock()))).isFalse();
        assertThat(tries(lock.readLock())).isTrue();
        reader.end();
        assertFree();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 20, 150})
    void tryLock_timed_isNeverFalseEarly_andLeavesNothing(long millis) throws InterruptedException {
        Holder writer = writing(remote);
        long began = System.nanoTime();
        assertThat(lock.readLock().tryLock(millis, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(millis * 1_000_000);
        writer.end();
        Holder reader = reading(remote);
        began = System.nanoTime();
        assertThat(lock.writeLock().tryLock(millis, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(millis * 1_000_000);
        assertThat(tries(lock.readLock())).as("no writer is left in line").isTrue();
        reader.end();
        assertFree();
    }

    @Test
    void reentry_ofReaders_isFreedByAsManyUnlocks() throws InterruptedException {
        for (int count = 1; count <= 3; count++) {
            lock.readLock().lock();
            assertThat(lock.getReadHoldCount()).isEqualTo(count);
            assertThat(lock.getReadLockCount()).isEqualTo(count);
        }
        assertThat(elsewhere(lock::getReadHoldCount)).isZero();
        for (int count = 3; count > 0; count--) {
            assertThat(tries(remote.writeLock())).isFalse();
            assertThat(lock.readLock().isHeldByCurrentThread()).isTrue();
            lock.readLock().unlock();
        }
        assertThat(lock.readLock().isHeldByCurrentThread()).isFalse();
        assertFree();
    }

    @Test
    void reentry_ofAWriter_readsInside() throws InterruptedException {
        lock.writeLock().lock();
        lock.writeLock().lock();
        lock.readLock().lock();
        assertThat(lock.readLock().tryLock()).isTrue();
        assertThat(lock.getWriteHoldCount()).isEqualTo(2);
        assertThat(lock.getReadHoldCount()).isEqualTo(2);
        assertThat(lock.isWriteLockedByCurrentThread()).isTrue();
        assertThat(elsewhere(lock::isWriteLockedByCurrentThread)).isFalse();
        assertThat(tries(remote.readLock())).isFalse();
        lock.readLock().unlock();
        lock.readLock().unlock();
        assertThat(tries(remote.readLock())).isFalse();
        lock.writeLock().unlock();
        lock.writeLock().unlock();
        assertFree();
    }

    @Test
    void downgrade_readsWhatItWrote_andLetsReadersIn() throws InterruptedException {
        lock.writeLock().lock();
        long token = lock.writeLock().fencingToken();
        Holder waiting = waitingReader(remote);
        lock.readLock().lock();
        lock.writeLock().unlock();
        assertThat(lock.isWriteLockedByCurrentThread()).isFalse();
        assertThat(lock.getReadHoldCount()).isEqualTo(1);
        assertThat(lock.readLock().version()).isEqualTo(token);
        waiting.awaitHas();
        assertThat(tries(remote.writeLock())).isFalse();
        waiting.end();
        assertThat(tries(remote.writeLock())).isFalse();
        lock.readLock().unlock();
        assertFree();
    }

    @Test
    void downgrade_aWriterWaits_itWaitsForTheReader() throws InterruptedException {
        lock.writeLock().lock();
        Holder writer = waitingWriter(remote);
        lock.readLock().lock();
        lock.writeLock().unlock();
        assertThat(writer.has()).isFalse();
        assertThat(lock.readLock().isHeldByCurrentThread()).isTrue();
        lock.readLock().unlock();
        writer.awaitHas();
        writer.end();
        assertFree();
    }

    @Test
    void upgrade_isRefusedAtOnce_andTheThreadReadsOn() throws InterruptedException {
        lock.readLock().lock();
        assertThatThrownBy(lock.writeLock()::lock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class)
                .hasMessageContaining(name);
        assertThatThrownBy(lock.writeLock()::lockInterruptibly).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.writeLock().tryLock()).isFalse();
        assertThat(lock.getReadHoldCount()).isEqualTo(1);
        assertThat(tries(remote.readLock())).as("no writer is in line").isTrue();
        lock.readLock().unlock();
        assertFree();
    }

    @Test
    void unlock_byAStranger_throwsAndChangesNothing() throws InterruptedException {
        lock.readLock().lock();
        assertThatThrownBy(remote.readLock()::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class)
                .hasMessageContaining(name);
        Class<?> thrown = elsewhere(() -> {
            try {
                lock.readLock().unlock();
                return null;
            } catch (IllegalMonitorStateException e) {
                return e.getClass();
            }
        });
        assertThat(thrown).isEqualTo(IllegalMonitorStateException.class);
        assertThatThrownBy(lock.writeLock()::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.getReadHoldCount()).isEqualTo(1);
        lock.readLock().unlock();
        assertThatThrownBy(lock.readLock()::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertFree();
    }

    @Test
    void version_isTheTokenOfTheLastWriter() throws InterruptedException {
        lock.writeLock().lock();
        long first = lock.writeLock().fencingToken();
        lock.writeLock().unlock();
        remote.readLock().lock();
        assertThat(remote.readLock().version()).isEqualTo(first);
        remote.readLock().unlock();
        lock.writeLock().lock();
        long second = lock.writeLock().fencingToken();
        lock.writeLock().unlock();
        assertThat(second).isGreaterThan(first);
        remote.readLock().lock();
        assertThat(remote.readLock().version()).isEqualTo(second);
        remote.readLock().unlock();
        assertThatThrownBy(remote.readLock()::version).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void newCondition_ofTheWriteLock_works_andOfTheReadLockIsRefused() throws InterruptedException {
        assertThatThrownBy(lock.readLock()::newCondition).isInstanceOf(UnsupportedOperationException.class);
        Condition condition = lock.writeLock().newCondition();
        Actor<Boolean> waiter = new Actor<>(() -> {
            lock.writeLock().lock();
            try {
                return condition.await(20, TimeUnit.SECONDS);
            } finally {
                lock.writeLock().unlock();
            }
        });
        awaitThat().until(() -> {
            lock.writeLock().lock();
            try {
                return lock.writeLock().hasWaiters(condition);
            } finally {
                lock.writeLock().unlock();
            }
        });
        Holder reader = reading(remote);
        reader.end();
        lock.writeLock().lock();
        condition.signal();
        lock.readLock().lock();
        lock.writeLock().unlock();
        lock.readLock().unlock();
        assertThat(waiter.result()).isTrue();
        assertFree();
    }

    @Test
    void lockInterruptibly_interrupted_throwsOnEntry_andWhileItWaits() throws InterruptedException {
        lock.readLock().lock();
        Thread.currentThread().interrupt();
        assertThatThrownBy(lock.readLock()::lockInterruptibly).isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isFalse();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> lock.readLock().tryLock(1, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        lock.readLock().unlock();
        Holder writer = writing(remote);
        for (Form form : new Form[] {Form.LOCK_INTERRUPTIBLY, Form.TRY_TIMED}) {
            Actor<Boolean> reader = new Actor<>(() -> {
                try {
                    form.acquire(lock.readLock());
                    return false;
                } catch (InterruptedException e) {
                    return true;
                }
            });
            awaitParked(lock, reader.thread);
            reader.thread.interrupt();
            assertThat(reader.result()).as("%s", form).isTrue();
        }
        writer.end();
        assertFree();
    }

    @Test
    void lock_interrupted_waitsOn_andKeepsTheFlag() throws InterruptedException {
        Holder writer = writing(remote);
        Actor<Boolean> reader = new Actor<>(() -> {
            lock.readLock().lock();
            boolean flag = Thread.currentThread().isInterrupted();
            lock.readLock().unlock();
            return flag;
        });
        awaitParked(lock, reader.thread);
        reader.thread.interrupt();
        assertThat(lock.readLock().tryLock(20, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(reader.isDone()).isFalse();
        writer.end();
        assertThat(reader.result()).isTrue();
        assertFree();
    }

    @Test
    void queries_countThisClientsThreads() throws InterruptedException {
        Holder writer = writing(remote);
        assertThat(lock.getQueueLength()).isZero();
        Holder reader = waitingReader(lock);
        Holder second = waitingWriter(lock);
        assertThat(lock.getQueuedReaderThreads()).containsExactly(reader.actor.thread);
        assertThat(lock.getQueuedWriterThreads()).containsExactly(second.actor.thread);
        assertThat(lock.hasQueuedThreads()).isTrue();
        assertThat(lock.getQueueLength()).isEqualTo(2);
        assertThat(remote.hasQueuedThreads()).isFalse();
        assertThat(remote.isWriteLocked()).isTrue();
        assertThat(remote.getWriteHoldCount()).isZero();
        writer.end();
        reader.awaitHas();
        reader.end();
        second.awaitHas();
        second.end();
        assertFree();
        assertThat(lock.toString()).contains(name);
        assertThat(lock.readLock().toString()).contains(name);
    }

    /** The first example of ReentrantReadWriteLock's documentation: a cache that is filled under a downgrade. */
    private static final class CachedData {

        private final RedisReentrantReadWriteLock rwl;
        private final long[] data;

        CachedData(RedisReentrantReadWriteLock rwl, long[] data) {
            this.rwl = rwl;
            this.data = data;
        }

        long process() {
            rwl.readLock().lock();
            if (data[0] == 0) {
                rwl.readLock().unlock();
                rwl.writeLock().lock();
                try {
                    if (data[0] == 0) {
                        data[0] = 42;
                        data[1]++;
                    }
                    rwl.readLock().lock();
                } finally {
                    rwl.writeLock().unlock();
                }
            }
            try {
                return data[0];
            } finally {
                rwl.readLock().unlock();
            }
        }
    }

    @Test
    void cachedData_ofTwoClients_isFilledOnce() throws InterruptedException {
        long[] data = new long[2];
        Actor<Long> first = new Actor<>(new CachedData(lock, data)::process);
        Actor<Long> second = new Actor<>(new CachedData(remote, data)::process);
        Actor<Long> third = new Actor<>(new CachedData(remote, data)::process);
        assertThat(first.result()).isEqualTo(42);
        assertThat(second.result()).isEqualTo(42);
        assertThat(third.result()).isEqualTo(42);
        assertThat(data[1]).isEqualTo(1);
        assertFree();
    }

    /** The second example: a dictionary that many read and few write. */
    @Test
    void dictionary_ofTwoClients_isNeverReadHalfWritten() throws InterruptedException {
        TreeMap<String, Integer> map = new TreeMap<>();
        Actor<Void> writer = new Actor<>(() -> {
            for (int i = 0; i < 20; i++) {
                lock.writeLock().lock();
                try {
                    map.put("a", i);
                    map.put("b", i);
                } finally {
                    lock.writeLock().unlock();
                }
            }
            return null;
        });
        for (int i = 0; i < 50; i++) {
            remote.readLock().lock();
            try {
                assertThat(map.get("a")).isEqualTo(map.get("b"));
            } finally {
                remote.readLock().unlock();
            }
        }
        assertThat(writer.result()).isNull();
        assertFree();
    }
}
