package io.github.redislocks.readwrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockReleased;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantReadWriteLock;
import io.github.redislocks.testkit.InMemoryLocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** A read-write lock beside handles, several locks, residency, fairness, and threads that give up or end. */
@ParameterizedClass
@EnumSource(names = {"IN_MEMORY", "SINGLE_SERVER"})
class ReadWriteSeamsTest extends ReadWriteTest {

    @Test
    void lockOfSeveral_byAThreadThatReadsOne_isRefused() {
        lock.readLock().lock();
        assertThatThrownBy(clients.here.multiLock(List.of(name, name + ":b"))::lock)
                .isInstanceOf(IllegalMonitorStateException.class);
        lock.readLock().unlock();
    }

    @Test
    void aHandle_byAThreadThatReads_isRefused() {
        lock.readLock().lock();
        assertThatThrownBy(lock.writeLock()::acquire).isInstanceOf(IllegalMonitorStateException.class);
        lock.readLock().unlock();
    }

    @Test
    void aHandleOfTheWriteLock_keepsReadersOut() throws InterruptedException {
        Holder reader;
        try (LockHandle held = remote.writeLock().acquire()) {
            assertThat(held.isHeld()).isTrue();
            reader = waitingReader(lock);
            assertThat(reader.has()).isFalse();
        }
        reader.awaitHas();
        reader.end();
        assertFree();
    }

    @Test
    void aReaderThatAsksForAllAndIsInterrupted_leavesTheTaskToTheNext() throws InterruptedException {
        Holder writer = writing(remote);
        Actor<Boolean> asker = new Actor<>(() -> {
            try {
                lock.readLock().lockInterruptibly();
                return false;
            } catch (InterruptedException e) {
                return true;
            }
        });
        awaitParked(lock, asker.thread);
        Holder next = waitingReader(lock);
        asker.thread.interrupt();
        assertThat(asker.result()).isTrue();
        assertThat(next.has()).isFalse();
        writer.end();
        next.awaitHas();
        next.end();
        assertFree();
    }

    @Test
    void aReaderThatAsksForAllAndRunsOutOfTime_leavesTheTaskToTheNext() throws InterruptedException {
        Holder writer = writing(remote);
        Actor<Boolean> asker = new Actor<>(() -> lock.readLock().tryLock(300, TimeUnit.MILLISECONDS));
        awaitParked(lock, asker.thread);
        Holder next = waitingReader(lock);
        assertThat(asker.result()).isFalse();
        writer.end();
        next.awaitHas();
        next.end();
        assertFree();
    }

    @Test
    void aWriterOfTheSameClient_waitsForItsReaders_andKeepsNewOnesOut() throws InterruptedException {
        lock.readLock().lock();
        Holder writer = waitingWriter(lock);
        awaitKeptOut(lock);
        Holder late = waitingReader(lock);
        lock.readLock().lock();
        lock.readLock().unlock();
        assertThat(writer.has()).isFalse();
        lock.readLock().unlock();
        writer.awaitHas();
        assertThat(late.has()).isFalse();
        writer.end();
        late.awaitHas();
        late.end();
        assertFree();
    }

    @Test
    void aThreadThatEndsWithoutUnlock_keepsNoWriterOut() throws InterruptedException {
        new Actor<>(() -> {
                    lock.readLock().lock();
                    return null;
                })
                .result();
        assertThat(remote.writeLock().tryLock(15, TimeUnit.SECONDS)).isTrue();
        remote.writeLock().unlock();
    }

    @Test
    void heldNames_haveTheLockWhileAThreadReads() {
        lock.readLock().lock();
        assertThat(clients.here.heldNames()).contains(name);
        lock.readLock().unlock();
        awaitThat().until(() -> !clients.here.heldNames().contains(name));
    }

    @Test
    void aFairWriteLock_takesTurnsWithReaders() throws InterruptedException {
        RedisReentrantReadWriteLock fair =
                clients.here.readWriteLock(name, LockOptions.defaults().fair(true));
        Holder reader = reading(remote);
        Holder writer = new Holder(fair.writeLock());
        awaitParked(fair, writer.actor.thread);
        Holder late = waitingReader(lock);
        reader.end();
        writer.awaitHas();
        assertThat(late.has()).isFalse();
        writer.end();
        late.awaitHas();
        late.end();
        assertFree();
    }

    /** A client that keeps the plain lock of the name gives it up for readers of its own and of other clients. */
    @Test
    void aKeptLockOfTheName_isGivenUpForReaders() throws InterruptedException {
        if (topology != Topology.IN_MEMORY) {
            return;
        }
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks keeping = memory.newClient(builder -> builder.residency(Duration.ofSeconds(60)));
            RedisLocks reading = memory.newClient();
            // A client keeps no lock before it can hear that others want the lock.
            awaitThat().until(() -> {
                keeping.reentrantLock("kept").runWithLock(() -> {});
                return keeping.countResident() == 1;
            });
            assertThat(reading.readWriteLock("kept").readLock().tryLock()).isTrue();
            reading.readWriteLock("kept").readLock().unlock();
            keeping.reentrantLock("kept").runWithLock(() -> {});
            assertThat(keeping.readWriteLock("kept").readLock().tryLock(10, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(keeping.countResident()).isZero();
            keeping.readWriteLock("kept").readLock().unlock();
        }
    }

    @Test
    void lose_inTheTestKit_takesTheReadersLock() {
        if (topology != Topology.IN_MEMORY) {
            return;
        }
        BlockingQueue<LockLost> losses = new LinkedBlockingQueue<>();
        try (InMemoryLocks memory = InMemoryLocks.start(builder -> builder.onLockLost(losses::add))) {
            RedisReentrantReadWriteLock one = memory.client().readWriteLock("job");
            one.readLock().lock();
            memory.lose("job");
            assertThat(one.readLock().isHeldByCurrentThread()).isFalse();
            assertThat(losses).hasSize(1);
        }
    }

    @Test
    void aDowngrade_isHeardAsAnAcquisitionMore_andEachEndsOnce() {
        List<String> heard = new ArrayList<>();
        LockListener listener = new LockListener() {
            @Override
            public void acquired(LockAcquired event) {
                heard.add("acquired");
            }

            @Override
            public void released(LockReleased event) {
                heard.add("released");
            }
        };
        try (InMemoryLocks memory = InMemoryLocks.start(builder -> builder.listener(listener))) {
            RedisReentrantReadWriteLock one = memory.client().readWriteLock("job");
            one.writeLock().lock();
            one.readLock().lock();
            one.writeLock().unlock();
            one.readLock().unlock();
            assertThat(heard).containsExactly("acquired", "acquired", "released", "released");
        }
    }
}
