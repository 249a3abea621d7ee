package io.github.redislocks.readwrite;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantReadWriteLock;
import io.github.redislocks.fixture.Moment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Readers and writers of two clients take turns, and none of them keeps the others out. */
@ParameterizedClass
@EnumSource
class ReadWriteOrderTest extends ReadWriteTest {

    @Test
    void aWriterThatWaits_keepsNewReadersOut_butNotReentries() throws InterruptedException {
        lock.readLock().lock();
        Holder writer = waitingWriter(remote);
        // The recall may still be under way.
        awaitThat()
                .until(() -> !elsewhere(() -> {
                    boolean read = lock.readLock().tryLock();
                    if (read) {
                        lock.readLock().unlock();
                    }
                    return read;
                }));
        assertThat(elsewhere(() -> remote.readLock().tryLock())).isFalse();
        Holder here = waitingReader(lock);
        Holder there = waitingReader(remote);
        lock.readLock().lock();
        assertThat(lock.readLock().tryLock()).isTrue();
        assertThat(writer.has()).isFalse();
        lock.readLock().unlock();
        lock.readLock().unlock();
        lock.readLock().unlock();
        writer.awaitHas();
        assertThat(here.has()).isFalse();
        assertThat(there.has()).isFalse();
        writer.end();
        here.awaitHas();
        there.awaitHas();
        here.end();
        there.end();
        assertFree();
    }

    @Test
    void afterAWriter_allReadersThatWaitGoIn_beforeTheNextWriter() throws InterruptedException {
        Holder first = writing(lock);
        Holder second = waitingWriter(remote);
        List<Holder> readers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            readers.add(waitingReader(lock));
            readers.add(waitingReader(remote));
        }
        first.end();
        for (Holder reader : readers) {
            reader.awaitHas();
        }
        assertThat(second.has()).isFalse();
        Holder late = waitingReader(lock);
        for (Holder reader : readers) {
            assertThat(second.has()).isFalse();
            reader.end();
        }
        second.awaitHas();
        assertThat(late.has()).isFalse();
        second.end();
        late.awaitHas();
        late.end();
        assertFree();
    }

    @Test
    void aWriterThatGivesUp_letsReadersInAgain() throws InterruptedException {
        Holder reader = reading(remote);
        Actor<Boolean> writer = new Actor<>(() -> {
            try {
                lock.writeLock().lockInterruptibly();
                return false;
            } catch (InterruptedException e) {
                return true;
            }
        });
        awaitParked(lock, writer.thread);
        Holder waiting = waitingReader(lock);
        writer.thread.interrupt();
        assertThat(writer.result()).isTrue();
        waiting.awaitHas();
        waiting.end();
        reader.end();
        assertFree();
    }

    /** A leave that empties the line of writers once let readers in while another writer held the lock. */
    @Test
    void aWriterThatGivesUpBehindAWriter_letsNobodyIn() throws InterruptedException {
        Holder holder = writing(lock);
        Actor<Boolean> writer = new Actor<>(() -> {
            try {
                remote.writeLock().lockInterruptibly();
                return false;
            } catch (InterruptedException e) {
                return true;
            }
        });
        awaitParked(remote, writer.thread);
        Holder reader = waitingReader(remote);
        writer.thread.interrupt();
        assertThat(writer.result()).isTrue();
        assertThat(remote.readLock().tryLock()).isFalse();
        assertThat(reader.has()).isFalse();
        holder.end();
        reader.awaitHas();
        reader.end();
        assertFree();
    }

    @Test
    void close_whileThreadsRead_endsTheShare() throws InterruptedException {
        RedisLocks third = clients.connect();
        RedisReentrantReadWriteLock closed = third.readWriteLock(name);
        CountDownLatch go = new CountDownLatch(1);
        Actor<Class<?>> reader = new Actor<>(() -> {
            closed.readLock().lock();
            go.await();
            try {
                closed.readLock().unlock();
                return null;
            } catch (RuntimeException e) {
                return e.getClass();
            }
        });
        awaitThat().until(() -> closed.getReadLockCount() == 1);
        Holder writer = waitingWriter(lock);
        third.close();
        writer.awaitHas();
        writer.end();
        go.countDown();
        assertThat(reader.result()).isEqualTo(LockLostException.class);
        assertFree();
    }

    @Test
    void manyThreads_excludeEachOther_andNobodyStarves() throws InterruptedException {
        int turns = 15;
        long[] written = new long[2];
        AtomicBoolean ended = new AtomicBoolean();
        List<Actor<Integer>> writers = new ArrayList<>();
        List<Actor<Integer>> readers = new ArrayList<>();
        for (RedisReentrantReadWriteLock one : List.of(lock, remote)) {
            for (int i = 0; i < 2; i++) {
                writers.add(new Actor<>(() -> {
                    for (int turn = 0; turn < turns; turn++) {
                        one.writeLock().lock();
                        try {
                            written[0]++;
                            Moment.pass();
                            written[1]++;
                        } finally {
                            one.writeLock().unlock();
                        }
                    }
                    return turns;
                }));
            }
            for (int i = 0; i < 4; i++) {
                readers.add(new Actor<>(() -> {
                    int reads = 0;
                    while (!ended.get() || reads == 0) {
                        one.readLock().lock();
                        try {
                            assertThat(written[0]).isEqualTo(written[1]);
                            reads++;
                        } finally {
                            one.readLock().unlock();
                        }
                    }
                    return reads;
                }));
            }
        }
        for (Actor<Integer> writer : writers) {
            writer.result();
        }
        ended.set(true);
        for (Actor<Integer> reader : readers) {
            assertThat(reader.result()).isPositive();
        }
        assertThat(written).containsExactly(4L * turns, 4L * turns);
        assertFree();
    }
}
