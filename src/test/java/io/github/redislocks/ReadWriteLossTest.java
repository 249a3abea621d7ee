package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Readers whose share is lost, and a writer that waits for a client that is gone. */
class ReadWriteLossTest extends FakeTime {

    private static final int LEASE = 30_000;
    private static final int HEARTBEAT = 1_500;
    /** Three heartbeats, and one in which the writer asks. */
    private static final int IDLE = 4 * HEARTBEAT;

    private final RedisReentrantReadWriteLock shared = locks.readWriteLock("job");
    private final RedisReentrantReadWriteLock theirs = others.readWriteLock("job");

    /** A thread that reads, and unlocks when told. */
    private final class Reader {

        private final CountDownLatch has = new CountDownLatch(1);
        private final CountDownLatch go = new CountDownLatch(1);
        private final AtomicReference<Throwable> thrown = new AtomicReference<>();
        private final Thread thread = new Thread(() -> {
            shared.readLock().lock();
            has.countDown();
            try {
                go.await();
                shared.readLock().unlock();
            } catch (Throwable e) {
                thrown.set(e);
            }
        });

        Reader() throws InterruptedException {
            thread.start();
            assertThat(has.await(20, TimeUnit.SECONDS)).isTrue();
        }

        Throwable end() throws InterruptedException {
            go.countDown();
            thread.join();
            return thrown.get();
        }
    }

    private void assertBothLost(Reader reader, LockLost.Reason reason) throws InterruptedException {
        assertThat(shared.readLock().isHeldByCurrentThread()).isFalse();
        assertThat(shared.getReadHoldCount()).isZero();
        assertThatThrownBy(shared.readLock()::ensureHeld).isInstanceOf(LockLostException.class);
        assertThatThrownBy(shared.readLock()::unlock)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(reason));
        assertThat(reader.end()).isInstanceOf(LockLostException.class);
        assertThat(losses)
                .hasSize(2)
                .allSatisfy(loss -> assertThat(loss.reason()).isEqualTo(reason));
        assertThatThrownBy(shared.readLock()::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class);
    }

    @Test
    void aShareThatNobodyCanRenew_isLostForAllItsReaders() throws InterruptedException {
        shared.readLock().lock();
        Reader reader = new Reader();
        redis.down(true);
        pass(LEASE);
        assertBothLost(reader, LockLost.Reason.UNCONFIRMED);
        whileTimePasses(other::lock);
        other.unlock();
        redis.heal();
    }

    @Test
    void flushAll_takesTheShare() throws InterruptedException {
        shared.readLock().lock();
        Reader reader = new Reader();
        server.flushAll();
        pass(LEASE / 3 + HEARTBEAT);
        assertBothLost(reader, LockLost.Reason.TAKEN);
    }

    @Test
    void forceUnlock_byTheClientItself_takesTheShareAtOnce_withoutAMessage() {
        shared.readLock().lock();
        server.holdMessages();
        assertThat(lock.forceUnlock()).isTrue();
        assertThat(other.tryLock()).isTrue();
        assertThat(shared.readLock().isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(shared.readLock()::unlock).isInstanceOf(LockLostException.class);
        other.unlock();
    }

    @Test
    void forceUnlock_takesTheShare_andLetsAWriterIn() throws InterruptedException {
        shared.readLock().lock();
        Reader reader = new Reader();
        assertThat(other.forceUnlock()).isTrue();
        pass(HEARTBEAT);
        assertThat(other.tryLock()).isTrue();
        assertBothLost(reader, LockLost.Reason.TAKEN);
        other.unlock();
    }

    @Test
    void aReaderThatLostTheLock_readsAgain() {
        shared.readLock().lock();
        server.flushAll();
        pass(LEASE / 3 + HEARTBEAT);
        assertThatThrownBy(shared.readLock()::unlock).isInstanceOf(LockLostException.class);
        shared.readLock().lock();
        assertThat(shared.readLock().isHeldByCurrentThread()).isTrue();
        shared.readLock().unlock();
    }

    /** A process that once read and was killed delays writers by a few heartbeats, not by a lease. */
    @Test
    void theIdleShareOfAKilledClient_delaysAWriterByItsShortLease() throws InterruptedException {
        shared.readLock().lock();
        shared.readLock().unlock();
        // While the mailbox opens, a new share may be renewed at once, with the lease for a reader inside.
        await().until(() -> inside.mailbox().isOpen());
        pass(2 * HEARTBEAT);
        shared.readLock().lock();
        redis.down(true);
        shared.readLock().unlock();
        long began = clock.nanoTime();
        whileTimePasses(other::lock);
        assertThat((clock.nanoTime() - began) / 1_000_000).isLessThanOrEqualTo(IDLE);
        other.unlock();
        redis.heal();
    }

    @Test
    void aShareInUse_outlivesManyLeases() {
        shared.readLock().lock();
        pass(5 * LEASE);
        assertThat(shared.readLock().isHeldByCurrentThread()).isTrue();
        othersFindReaders();
        shared.readLock().unlock();
        settle();
        assertThat(losses).isEmpty();
    }

    @Test
    void anIdleShare_isGoneSoon() {
        shared.readLock().lock();
        shared.readLock().unlock();
        pass(2 * HEARTBEAT);
        assertThat(server.hash(KEY)).isEmpty();
        othersHaveTheLock();
    }

    @Test
    void aReaderThatWaits_isLetInByItsHeartbeat_ifTheMessageIsLost() throws InterruptedException {
        other.lock();
        CompletableFuture<Void> reads = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            shared.readLock().lock();
            reads.complete(null);
            shared.readLock().unlock();
        });
        reader.start();
        await().until(() -> shared.getQueuedReaderThreads().contains(reader));
        settle();
        redis.dropMessages(true);
        other.unlock();
        assertThat(reads).isNotDone();
        redis.dropMessages(false);
        passUntilDone(reads);
        reader.join();
    }

    @Test
    void aWriterWhoseRecallIsLost_recallsByItsHeartbeat() throws InterruptedException {
        shared.readLock().lock();
        await().until(() -> inside.mailbox().isOpen());
        redis.dropMessages(true);
        CompletableFuture<Void> writes = new CompletableFuture<>();
        Thread writer = new Thread(() -> {
            other.lock();
            writes.complete(null);
            other.unlock();
        });
        writer.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        redis.dropMessages(false);
        pass(2 * HEARTBEAT);
        assertThat(elsewhereTries()).isFalse();
        shared.readLock().unlock();
        passUntilDone(writes);
        writer.join();
    }

    /** A reader of the same client waits in Redis, and the message that ends its wait is on its way. */
    @Test
    void tryLock_afterTheWriter_succeedsBeforeAnyMessageArrives() throws InterruptedException {
        theirs.writeLock().lock();
        CountDownLatch has = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        Thread reader = new Thread(() -> {
            shared.readLock().lock();
            has.countDown();
            Uninterruptibles.until(
                    System.nanoTime() + TimeUnit.SECONDS.toNanos(30), nanos -> go.await(nanos, TimeUnit.NANOSECONDS));
            shared.readLock().unlock();
        });
        reader.start();
        await().until(() -> server.hash(KEY + ":shares").size() == 1);
        settle();
        server.holdMessages();
        assertThat(shared.readLock().tryLock()).as("a writer has the lock").isFalse();
        theirs.writeLock().unlock();
        // Time has to pass, so that the last reply is older than the try.
        pass(1);
        assertThat(shared.readLock().tryLock()).as("nobody has the lock").isTrue();
        assertThat(has.await(30, TimeUnit.SECONDS)).isTrue();
        shared.readLock().unlock();
        go.countDown();
        reader.join();
    }

    /** A try may be false only if Redis has said that a writer is there. */
    @Test
    void tryLock_whileRedisIsAway_saysSo() throws InterruptedException {
        theirs.writeLock().lock();
        Thread reader = new Thread(() -> {
            shared.readLock().lock();
            shared.readLock().unlock();
        });
        reader.start();
        await().until(() -> server.hash(KEY + ":shares").size() == 1);
        // Time has to pass, so that the last reply is older than the try.
        pass(1);
        redis.down(true);
        whileTimePasses(
                this::isQuiet,
                () -> assertThatThrownBy(shared.readLock()::tryLock).isInstanceOf(LockUnavailableException.class));
        redis.heal();
        theirs.writeLock().unlock();
        passUntil(() -> !reader.isAlive());
        reader.join();
    }

    /** The thread that lets readers in may meet an error, and wake nobody. */
    @Test
    void aReaderBehindAnother_looksAgainByItself() throws InterruptedException {
        theirs.writeLock().lock();
        List<Thread> readers = new ArrayList<>();
        for (int i = 1; i <= 2; i++) {
            Thread reader = new Thread(() -> {
                shared.readLock().lock();
                shared.readLock().unlock();
            });
            reader.start();
            readers.add(reader);
            int queued = i;
            await().until(() -> shared.getQueuedReaderThreads().size() == queued);
        }
        settle();
        await().until(() -> readers.stream().allMatch(clock::isParked));
        assertThat(clock.wakeOf(readers.get(1)) - clock.nanoTime())
                .isLessThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(HEARTBEAT));
        theirs.writeLock().unlock();
        passUntil(() -> readers.stream().noneMatch(Thread::isAlive));
    }

    /** A writer that leaves the line tells the clients that have closed their shares for it. */
    @Test
    void aReaderBehindAWriterThatGivesUp_isLetInAtOnce() throws InterruptedException {
        shared.readLock().lock();
        await().until(() -> inside.mailbox().isOpen());
        CompletableFuture<Boolean> wrote = new CompletableFuture<>();
        Thread writer = new Thread(() -> {
            try {
                wrote.complete(other.tryLock(100, TimeUnit.MILLISECONDS));
            } catch (InterruptedException e) {
                wrote.completeExceptionally(e);
            }
        });
        writer.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        CompletableFuture<Void> reads = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            shared.readLock().lock();
            reads.complete(null);
            shared.readLock().unlock();
        });
        reader.start();
        await().until(() -> shared.getQueuedReaderThreads().contains(reader));
        pass(99);
        assertThat(reads).isNotDone();
        pass(1);
        writer.join();
        assertThat(wrote.join()).isFalse();
        settle();
        await().until(reads::isDone);
        reader.join();
        shared.readLock().unlock();
    }

    private boolean elsewhereTries() {
        return CompletableFuture.supplyAsync(() -> {
                    boolean read = shared.readLock().tryLock();
                    if (read) {
                        shared.readLock().unlock();
                    }
                    return read;
                })
                .join();
    }

    /** A client that no message reaches waits by its heartbeats, and does not ask in a loop. */
    @Test
    void aReaderWithoutASubscription_asksSeldom() throws InterruptedException {
        InMemoryRedis port = server.another();
        RedisLocks deaf = RedisLocks.on(
                new ForwardingRedis(port) {
                    @Override
                    public Subscription subscribe(String channel, long timeoutNanos) {
                        throw new RedisException.Unanswered("no subscription", false, null);
                    }
                },
                Settings.DEFAULTS,
                List.of(),
                clock);
        clients.add(deaf);
        RedisReentrantReadWriteLock one = deaf.readWriteLock("job");
        other.lock();
        Thread reader = new Thread(() -> {
            one.readLock().lock();
            one.readLock().unlock();
        });
        reader.start();
        await().until(() -> one.getQueuedReaderThreads().contains(reader));
        settle();
        int before = port.log().count("share");
        pass(20L * HEARTBEAT);
        assertThat(port.log().count("share") - before).isBetween(1, 45);
        other.unlock();
        passUntil(() -> !reader.isAlive());
        whileTimePasses(() -> true, deaf::close);
        clients.remove(deaf);
    }

    @Test
    void aShareRequestThatIsNotAnswered_isAskedAgain_andLeavesNothing() {
        redis.failNext(verb("share"), Fault.REPLY_LOST);
        whileTimePasses(shared.readLock()::lock);
        assertThat(shared.getReadHoldCount()).isEqualTo(1);
        shared.readLock().unlock();
        pass(2 * LEASE);
        othersHaveTheLock();
    }

    @Test
    void theUnshareThatIsNotAnswered_isSentAgain() {
        shared.readLock().lock();
        redis.failNext(verb("unshare"), Fault.REQUEST_LOST);
        shared.readLock().unlock();
        pass(3 * HEARTBEAT);
        assertThat(server.hash(KEY)).isEmpty();
        othersHaveTheLock();
    }

    @Test
    void aDowngradeWhoseAnswerIsLost_readsOn() {
        shared.writeLock().lock();
        shared.readLock().lock();
        redis.failNext(verb("downgrade"), Fault.REPLY_LOST);
        whileTimePasses(shared.writeLock()::unlock);
        assertThat(shared.readLock().isHeldByCurrentThread()).isTrue();
        assertThat(shared.isWriteLockedByCurrentThread()).isFalse();
        othersFindReaders();
        shared.readLock().unlock();
        pass(2 * LEASE);
        othersHaveTheLock();
    }

    @Test
    void aDowngradeWithoutRedis_endsTheWriteHold_andLosesTheReads() {
        shared.writeLock().lock();
        shared.readLock().lock();
        redis.down(true);
        whileTimePasses(shared.writeLock()::unlock);
        assertThat(shared.isWriteLockedByCurrentThread()).isFalse();
        assertThat(shared.readLock().isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(shared.readLock()::unlock)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.UNCONFIRMED));
        redis.down(false);
        pass(2 * LEASE);
        othersHaveTheLock();
    }

    /** The lock of a thread in its downgrade may be taken from it, and the next writer of the client downgrades too. */
    @Test
    void aDowngradeInPlaceOfAnother_losesTheReadsOfTheOther() throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        CountDownLatch mayUnlock = new CountDownLatch(1);
        CompletableFuture<Boolean> read = new CompletableFuture<>();
        Thread first = new Thread(() -> {
            shared.writeLock().lock();
            shared.readLock().lock();
            try {
                mayUnlock.await();
                shared.writeLock().unlock();
            } catch (Throwable e) {
                thrown.set(e);
            }
            read.complete(shared.readLock().isHeldByCurrentThread());
        });
        first.start();
        await().until(() ->
                shared.isWriteLocked() && clock.parks(first) == 0 && first.getState() == Thread.State.WAITING);
        redis.down(true);
        mayUnlock.countDown();
        await().until(() -> clock.isParked(first));
        settle();
        server.flushAll();
        redis.heal();
        assertThat(shared.writeLock().tryLock()).isTrue();
        shared.readLock().lock();
        shared.writeLock().unlock();
        assertThat(shared.readLock().isHeldByCurrentThread()).isTrue();
        passUntilDone(read);
        assertThat(read.join()).isFalse();
        assertThat(thrown.get()).isNull();
        shared.readLock().unlock();
        first.join();
    }

    @Test
    void aReaderThatCouldNotBeToldSinceItsClientDidNotListenYet_asksAsSoonAsItListens() throws InterruptedException {
        AtomicReference<CountDownLatch> mayListen = new AtomicReference<>(new CountDownLatch(0));
        RedisLocks slow = RedisLocks.on(
                new ForwardingRedis(server.another()) {
                    @Override
                    public Subscription subscribe(String channel, long timeoutNanos) {
                        Uninterruptibles.until(
                                System.nanoTime() + TimeUnit.SECONDS.toNanos(20),
                                nanos -> mayListen.get().await(nanos, TimeUnit.NANOSECONDS));
                        return super.subscribe(channel, timeoutNanos);
                    }
                },
                Settings.DEFAULTS,
                List.of(),
                clock);
        // A client that starts subscribes once, to learn whether it may.
        mayListen.set(new CountDownLatch(1));
        RedisReentrantReadWriteLock one = slow.readWriteLock("job");
        other.lock();
        Thread reader = new Thread(() -> {
            one.readLock().lock();
            one.readLock().unlock();
        });
        reader.start();
        await().until(() -> server.hash(KEY + ":shares").size() == 1);
        other.unlock();
        mayListen.get().countDown();
        await("without a heartbeat in time").until(() -> !reader.isAlive());
        whileTimePasses(() -> true, slow::close);
    }
}
