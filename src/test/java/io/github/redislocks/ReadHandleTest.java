package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.handles.RedisReadHandle;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Handles of a read lock, on moved time. */
class ReadHandleTest extends FakeTime {

    private static final int LEASE = 30_000;
    private static final int HEARTBEAT = 1_500;
    private static final int MANY = 1_000;

    private final RedisReentrantReadWriteLock shared = locks.readWriteLock("job");
    private final RedisReadLock reads = shared.readLock();
    private final RedisReadLock theirReads = others.readWriteLock("job").readLock();

    private ReadHandle acquire() {
        CompletableFuture<ReadHandle> future = reads.acquireAsync();
        passUntilDone(future);
        return future.join();
    }

    private void assertNothingIsLeft() {
        pass(2 * HEARTBEAT);
        assertThat(server.hash(KEY + ":shares")).isEmpty();
        assertThat(shared.getReadLockCount()).isZero();
        othersHaveTheLock();
    }

    /** A writer of the other client that waits, with its place in Redis. */
    private CompletableFuture<LockHandle> waitingWriter() {
        // A client that does not listen yet is not asked to let the writer in.
        await().until(() -> inside.mailbox().isOpen());
        CompletableFuture<LockHandle> writer = other.acquireAsync();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        return writer;
    }

    @Test
    void acquire_ofAFreeLock_readsForTheHandle() throws InterruptedException {
        lock.lock();
        long version = lock.fencingToken();
        lock.unlock();
        try (ReadHandle handle = reads.acquire()) {
            assertThat(handle.isHeld()).isTrue();
            handle.ensureHeld();
            assertThat(handle.name()).isEqualTo("job");
            assertThat(handle.version()).isEqualTo(version);
            assertThat(handle.previousHolderLost()).isFalse();
            assertThat(handle.remainingLease()).isPositive();
            assertThat(handle.owner()).startsWith(locks.clientId() + ":h");
            assertThat(handle.toString()).contains("ReadHandle job", "handle h", "token " + version, "held");
            assertThat(reads.isHeldByCurrentThread()).isFalse();
            assertThat(shared.getReadLockCount()).isEqualTo(1);
            assertThat(locks.heldNames()).containsExactly("job");
            othersFindReaders();
        }
        assertNothingIsLeft();
    }

    @Test
    void thousandHandles_areOneShare_andOneRequest() {
        List<CompletableFuture<ReadHandle>> futures = new ArrayList<>();
        LockHandle writer = other.acquireAsync().join();
        settle();
        int before = redis.log().count("share");
        for (int i = 0; i < MANY; i++) {
            futures.add(reads.acquireAsync());
        }
        settle();
        int waiting = redis.log().count("share") - before;
        assertThat(locks.countWaitingCalls()).isEqualTo(MANY);
        assertThat(locks.waitedForNames()).containsExactly("job");
        writer.close();
        passUntilDone(futures.toArray(CompletableFuture[]::new));
        assertThat(waiting).isBetween(1, 3);
        assertThat(redis.log().count("share") - before).isBetween(1, 6);
        assertThat(shared.getReadLockCount()).isEqualTo(MANY);
        assertThat(inside.attempts().all()).isEmpty();
        futures.forEach(future -> future.join().close());
        assertNothingIsLeft();
    }

    @Test
    void acquireAsync_underAnOpenShare_isDoneAtOnce_withoutARequest() {
        ReadHandle first = acquire();
        int before = redis.log().count("share");
        CompletableFuture<ReadHandle> second = reads.acquireAsync();
        assertThat(second).isCompleted();
        assertThat(redis.log().count("share")).isEqualTo(before);
        second.join().close();
        assertThat(first.isHeld()).isTrue();
        first.close();
        assertNothingIsLeft();
    }

    @Test
    void share_underHandles_isRenewed() {
        ReadHandle handle = acquire();
        pass(5 * LEASE);
        assertThat(handle.isHeld()).isTrue();
        othersFindReaders();
        handle.close();
        assertNothingIsLeft();
    }

    @Test
    void writer_waitsForTheLastHandle_andLaterHandlesForTheWriter() {
        ReadHandle first = acquire();
        ReadHandle second = acquire();
        CompletableFuture<LockHandle> writer = waitingWriter();
        CompletableFuture<Optional<ReadHandle>> tried = reads.tryAcquireAsync(Duration.ZERO);
        CompletableFuture<ReadHandle> later = reads.acquireAsync();
        passUntilDone(tried);
        assertThat(tried.join()).isEmpty();
        first.close();
        settle();
        assertThat(writer).isNotDone();
        assertThat(second.isHeld()).isTrue();
        second.close();
        passUntilDone(writer);
        settle();
        assertThat(later).isNotDone();
        long version = writer.join().fencingToken();
        writer.join().close();
        passUntilDone(later);
        assertThat(later.join().version()).isEqualTo(version);
        later.join().close();
        assertNothingIsLeft();
    }

    @Test
    void close_twice_countsOnce() {
        ReadHandle first = acquire();
        ReadHandle second = acquire();
        first.close();
        first.close();
        assertThat(first.release()).isFalse();
        assertThat(first.isHeld()).isFalse();
        assertThat(first.remainingLease()).isZero();
        assertThatThrownBy(first::ensureHeld)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class);
        assertThat(second.isHeld()).isTrue();
        assertThat(shared.getReadLockCount()).isEqualTo(1);
        assertThat(second.releaseAsync().toCompletableFuture().join()).isTrue();
        assertNothingIsLeft();
    }

    @Test
    void releaseAfter_isRefused_andReleasesNothing() {
        ReadHandle handle = acquire();
        assertThatThrownBy(() -> handle.releaseAfter(Duration.ofSeconds(1)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("releaseAfter");
        assertThatThrownBy(() -> handle.releaseAfterAsync(Duration.ofSeconds(1)))
                .isInstanceOf(UnsupportedOperationException.class);
        assertThat(handle.isHeld()).isTrue();
        handle.close();
        assertNothingIsLeft();
    }

    @Test
    void aShareThatIsForced_isLostForAllItsHandles_andTold() {
        ReadHandle first = acquire();
        ReadHandle second = acquire();
        CompletableFuture<LockLost> told = first.lost().toCompletableFuture();
        await().until(() -> inside.mailbox().isOpen());
        other.forceUnlock();
        passUntilDone(told);
        assertThat(told.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(told.join().owner()).startsWith("handle h");
        assertThat(first.isHeld()).isFalse();
        assertThatThrownBy(second::ensureHeld).isInstanceOf(LockLostException.class);
        assertThatThrownBy(first::version).isInstanceOf(LockLostException.class);
        assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
        first.close();
        assertThat(second.release()).isFalse();
        settle();
        assertThat(losses).hasSize(2);
        ReadHandle third = acquire();
        assertThat(third.isHeld()).isTrue();
        third.close();
    }

    @Test
    void aShareThatNobodyCanRenew_isLostInTime() {
        ReadHandle handle = acquire();
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        redis.down(true);
        pass(LEASE);
        assertThat(told.join().reason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        assertThat(handle.releaseAsync().toCompletableFuture().join()).isFalse();
        redis.heal();
    }

    /** As if the garbage collector had found that nobody has the handle any more. */
    @Test
    void handle_thatNobodyHas_isAbandoned_andAnotherReadsOn() {
        ReadHandle kept = acquire();
        ReadHandle dropped = acquire();
        ((RedisReadHandle) dropped).handleOwner().forget();
        pass(10_100);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.ABANDONED);
        assertThat(kept.isHeld()).isTrue();
        assertThat(shared.getReadLockCount()).isEqualTo(1);
        kept.close();
        pass(2 * HEARTBEAT);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void close_ofTheClient_isALossOfItsHandles() {
        ReadHandle handle = acquire();
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        whileTimePasses(locks::close);
        assertThat(told.join().reason()).isEqualTo(LockLost.Reason.CLOSED);
        assertThat(handle.release()).isFalse();
        assertThatThrownBy(reads::acquireAsync).isInstanceOf(IllegalStateException.class);
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void close_ofTheClient_failsTheHandlesAndThreadsThatWait() throws InterruptedException {
        other.lock();
        CompletableFuture<ReadHandle> first = reads.acquireAsync();
        settle();
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            try {
                reads.lock();
            } catch (Throwable e) {
                thrown.complete(e);
            }
        });
        reader.start();
        await().until(() -> shared.getQueuedReaderThreads().contains(reader));
        CompletableFuture<ReadHandle> second = reads.acquireAsync();
        whileTimePasses(locks::close);
        reader.join();
        assertThat(thrown.join()).isInstanceOf(IllegalStateException.class);
        for (CompletableFuture<ReadHandle> each : List.of(first, second)) {
            assertThatThrownBy(each::join)
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(IllegalStateException.class);
        }
        other.unlock();
        assertThat(server.hash(KEY + ":shares")).isEmpty();
    }

    /** A thread that waits for the answer to another reader does not wait for ever if nobody hears that answer. */
    @Test
    void close_thatDoesNotWaitForTheAnswerToAHandle_failsTheThreadsThatWaitForIt() {
        HeldCalls held = redis.hold(verb("share")).whateverTheirTimeouts();
        CompletableFuture<ReadHandle> asker = reads.acquireAsync();
        held.awaitParked(1, Duration.ofSeconds(10));
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            try {
                reads.lock();
            } catch (Throwable e) {
                thrown.complete(e);
            }
        });
        reader.start();
        await().until(() -> shared.getQueuedReaderThreads().contains(reader));
        Thread.currentThread().interrupt();
        whileTimePasses(() -> true, locks::close);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(thrown).succeedsWithin(Duration.ofSeconds(10)).isInstanceOf(IllegalStateException.class);
        assertThat(asker).failsWithin(Duration.ofSeconds(10));
        held.release();
    }

    @Test
    void cancel_ofTheAsker_leavesNothing_andTheNextAsks() {
        LockHandle writer = other.acquireAsync().join();
        CompletableFuture<ReadHandle> asker = reads.acquireAsync();
        settle();
        CompletableFuture<ReadHandle> next = reads.acquireAsync();
        settle();
        assertThat(server.hash(KEY + ":shares")).hasSize(1);
        asker.cancel(true);
        settle();
        assertThat(server.hash(KEY + ":shares")).hasSize(1);
        writer.close();
        passUntilDone(next);
        next.join().close();
        assertNothingIsLeft();
    }

    @Test
    void cancel_ofAll_leavesNoPlace() {
        LockHandle writer = other.acquireAsync().join();
        List<CompletableFuture<ReadHandle>> futures = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            futures.add(reads.acquireAsync());
        }
        settle();
        futures.forEach(future -> future.cancel(true));
        settle();
        assertThat(inside.async().count()).isZero();
        assertThat(server.hash(KEY + ":shares")).isEmpty();
        writer.close();
        assertNothingIsLeft();
    }

    @Test
    void cancel_whileTheRequestIsUnderWay_leavesNoShare() {
        redis.failNext(verb("share"), Fault.REPLY_LOST);
        CompletableFuture<ReadHandle> future = reads.acquireAsync();
        future.cancel(true);
        pass(2 * LEASE);
        assertNothingIsLeft();
    }

    @Test
    void tryAcquireAsync_whoseTimeIsOver_isEmpty_andLeavesNoPlace() {
        LockHandle writer = other.acquireAsync().join();
        CompletableFuture<Optional<ReadHandle>> asker = reads.tryAcquireAsync(Duration.ofMillis(100));
        settle();
        CompletableFuture<Optional<ReadHandle>> second = reads.tryAcquireAsync(Duration.ofMillis(200));
        pass(99);
        assertThat(asker).isNotDone();
        pass(1);
        passUntilDone(asker);
        assertThat(asker.join()).isEmpty();
        assertThat(second).isNotDone();
        pass(100);
        passUntilDone(second);
        assertThat(second.join()).isEmpty();
        settle();
        assertThat(server.hash(KEY + ":shares")).isEmpty();
        writer.close();
        assertNothingIsLeft();
    }

    @Test
    void acquireAsync_withoutRedis_failsAfterItsTime() {
        redis.down(true);
        CompletableFuture<Optional<ReadHandle>> first = reads.tryAcquireAsync(Duration.ofMillis(500));
        CompletableFuture<Optional<ReadHandle>> second = reads.tryAcquireAsync(Duration.ofMillis(500));
        passUntilDone(first, second);
        for (CompletableFuture<Optional<ReadHandle>> each : List.of(first, second)) {
            assertThatThrownBy(each::join).hasCauseInstanceOf(LockUnavailableException.class);
        }
        redis.heal();
        pass(LEASE);
        assertNothingIsLeft();
    }

    /** The readers that wait learn of the outage from the one that asks, instead of asking one after the other. */
    @Test
    void readersThatWait_withoutAnswers_failTogether() {
        redis.failNext(Integer.MAX_VALUE, call -> true, Fault.REPLY_LOST);
        List<CompletableFuture<ReadHandle>> futures = new ArrayList<>();
        List<Integer> requests = new CopyOnWriteArrayList<>();
        for (int i = 0; i < 20; i++) {
            futures.add(reads.acquireAsync());
            CompletableFuture<?> unused = futures.get(i)
                    .whenComplete((handle, failure) -> requests.add(redis.log().count("share")));
        }
        passUntilDone(futures.toArray(CompletableFuture[]::new));
        for (CompletableFuture<ReadHandle> each : futures) {
            assertThatThrownBy(each::join).hasCauseInstanceOf(LockUnavailableException.class);
        }
        assertThat(redis.log().count("share") - requests.get(0)).isBetween(0, 3);
        redis.heal();
        pass(LEASE);
        assertNothingIsLeft();
    }

    @Test
    void aRequestThatIsNotAnswered_isAskedAgain() {
        redis.failNext(verb("share"), Fault.REPLY_LOST);
        ReadHandle handle = acquire();
        assertThat(handle.isHeld()).isTrue();
        handle.close();
        pass(2 * LEASE);
        assertNothingIsLeft();
    }

    @Test
    void handlesAndThreads_thatWait_goInTogether() throws InterruptedException {
        LockHandle writer = other.acquireAsync().join();
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch in = new CountDownLatch(2);
        List<Thread> threads = new ArrayList<>();
        List<CompletableFuture<ReadHandle>> futures = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            futures.add(reads.acquireAsync());
            Thread reader = new Thread(() -> {
                reads.lock();
                in.countDown();
                try {
                    go.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                reads.unlock();
            });
            reader.start();
            threads.add(reader);
            await().until(() -> shared.getQueuedReaderThreads().contains(reader));
        }
        settle();
        writer.close();
        passUntil(() -> in.getCount() == 0 && futures.stream().allMatch(CompletableFuture::isDone));
        assertThat(shared.getReadLockCount()).isEqualTo(4);
        go.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        othersFindReaders();
        futures.forEach(future -> future.join().close());
        assertNothingIsLeft();
    }

    @Test
    void aThreadWaitsBehindAHandleThatAsks_andAHandleBehindAThreadThatAsks() throws InterruptedException {
        other.lock();
        CompletableFuture<ReadHandle> asks = new CompletableFuture<>();
        Thread asker = new Thread(() -> {
            try {
                asks.complete(reads.acquire());
            } catch (InterruptedException e) {
                asks.completeExceptionally(e);
            }
        });
        asker.start();
        await().until(() -> shared.getQueuedReaderThreads().contains(asker));
        settle();
        CompletableFuture<ReadHandle> behind = reads.acquireAsync();
        settle();
        asker.interrupt();
        asker.join();
        assertThat(asks).isCompletedExceptionally();
        settle();
        other.unlock();
        passUntilDone(behind);
        behind.join().close();
        assertNothingIsLeft();
    }

    @Test
    void handle_insideAReadOfTheThread_isOnItsOwn() throws InterruptedException {
        reads.lock();
        ReadHandle handle = reads.acquire();
        assertThat(shared.getReadHoldCount()).isEqualTo(1);
        assertThat(shared.getReadLockCount()).isEqualTo(2);
        reads.unlock();
        assertThat(handle.isHeld()).isTrue();
        othersFindReaders();
        handle.close();
        assertNothingIsLeft();
    }

    @Test
    void writeLock_ofTheThreadThatHasAHandle_waitsForTheHandle() throws InterruptedException {
        ReadHandle handle = reads.acquire();
        assertThat(lock.tryLock()).isFalse();
        CompletableFuture<Void> wrote = new CompletableFuture<>();
        Thread writer = new Thread(() -> {
            lock.lock();
            lock.unlock();
            wrote.complete(null);
        });
        writer.start();
        await().until(() -> shared.getQueuedWriterThreads().contains(writer));
        settle();
        assertThat(wrote).isNotDone();
        handle.close();
        passUntilDone(wrote);
        writer.join();
        assertNothingIsLeft();
    }

    @Test
    void downgrade_besideAHandleThatWaits_letsTheHandleIn() throws InterruptedException {
        lock.lock();
        CompletableFuture<ReadHandle> waits = reads.acquireAsync();
        settle();
        reads.lock();
        whileTimePasses(lock::unlock);
        passUntilDone(waits);
        assertThat(reads.isHeldByCurrentThread()).isTrue();
        reads.unlock();
        assertThat(waits.join().isHeld()).isTrue();
        waits.join().close();
        assertNothingIsLeft();
    }

    @Test
    void allReaders_afterALostWriter_areTold() throws InterruptedException {
        LockHandle writer = other.acquireAsync().join();
        assertThat(writer.isHeld()).isTrue();
        lock.forceUnlock();
        ReadHandle first = acquire();
        ReadHandle second = reads.acquire();
        reads.lock();
        assertThat(first.previousHolderLost()).isTrue();
        assertThat(second.previousHolderLost()).isTrue();
        assertThat(reads.previousHolderLost()).isTrue();
        reads.unlock();
        first.close();
        second.close();
        assertThat(writer.release()).isFalse();
    }

    @Test
    void remainingLease_ofAThread_isThatOfItsShare() {
        assertThat(reads.remainingLease()).isZero();
        reads.lock();
        assertThat(reads.remainingLease()).isBetween(Duration.ofMillis(1), Duration.ofMillis(LEASE));
        reads.unlock();
        assertThat(reads.remainingLease()).isZero();
    }

    @Test
    void everyWay_ofTheReadLock_reads() throws Exception {
        assertThat(reads.callWithLock(shared::getReadHoldCount)).isEqualTo(1);
        assertThat(reads.tryRunWithLock(Duration.ZERO, reads::ensureHeld)).isTrue();
        assertThat(reads.callWithHandle(Handle::isHeld)).isTrue();
        assertThat(reads.tryCallWithHandle(Duration.ZERO, ReadHandle::name).ran())
                .isTrue();
        CompletableFuture<Boolean> called =
                reads.callWithHandleAsync(held -> CompletableFuture.completedFuture(held.isHeld()));
        passUntilDone(called);
        assertThat(called.join()).isTrue();
        assertThat(reads.tryLock(Duration.ofSeconds(1))).isTrue();
        reads.unlock();
        assertNothingIsLeft();
    }

    @Test
    void handlesOfTwoClients_readTogether() {
        ReadHandle mine = acquire();
        CompletableFuture<ReadHandle> future = theirReads.acquireAsync();
        passUntilDone(future);
        assertThat(mine.isHeld() && future.join().isHeld()).isTrue();
        mine.close();
        future.join().close();
        assertNothingIsLeft();
    }
}
