package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.state.HandleOwner;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Handles, whose possession belongs to no thread. */
class HandleTest extends FakeTime {

    private static final Duration NO_WAIT = Duration.ZERO;

    private LockHandle acquire() {
        try {
            return locks.reentrantLock("job").acquire();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void onAnotherThread(Runnable action) {
        OwnThread.run(action).join();
    }

    @Test
    void acquire_ofAFreeLock_holdsItForTheHandle() throws InterruptedException {
        try (LockHandle handle = locks.reentrantLock("job").acquire()) {
            assertThat(handle.isHeld()).isTrue();
            handle.ensureHeld();
            assertThat(handle.name()).isEqualTo("job");
            assertThat(handle.fencingToken()).isPositive();
            assertThat(handle.previousHolderLost()).isFalse();
            assertThat(handle.remainingLease()).isBetween(Duration.ofSeconds(29), Duration.ofSeconds(30));
            assertThat(handle.owner()).startsWith(locks.clientId() + ":h");
            assertThat(server.hash(KEY)).containsEntry("owner", handle.owner());
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            assertThat(lock.getOwner()).isNull();
            assertThat(lock.toString()).contains("Locked by handle h");
            LockOwner shown = locks.inspect("job").holder().orElseThrow().owner();
            assertThat(shown.isHandle()).isTrue();
            assertThat(shown.threadId()).isEmpty();
            assertThat(shown).hasToString(handle.owner());
        }
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void handle_thatIsHeld_excludesThreadsAndHandles_hereAndElsewhere() throws InterruptedException {
        LockHandle handle = locks.reentrantLock("job").acquire();
        assertThat(lock.tryLock())
                .as("a thread, here, which acquired the handle")
                .isFalse();
        assertThat(other.tryLock()).as("a thread, elsewhere").isFalse();
        assertThat(locks.reentrantLock("job").tryAcquire(NO_WAIT))
                .as("a handle, here")
                .isEmpty();
        assertThat(others.reentrantLock("job").tryAcquire(NO_WAIT))
                .as("a handle, elsewhere")
                .isEmpty();
        handle.close();
        lock.lock();
        assertThat(locks.reentrantLock("job").tryAcquire(NO_WAIT))
                .as("a handle, beside the thread's own hold")
                .isEmpty();
        lock.unlock();
    }

    @Test
    void handle_usedAndReleasedByAnotherThread_isReleased() throws InterruptedException {
        LockHandle handle = acquire();
        onAnotherThread(() -> {
            handle.ensureHeld();
            handle.close();
        });
        assertThat(handle.isHeld()).isFalse();
        assertThat(handle.remainingLease()).isZero();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
        assertThatThrownBy(handle::ensureHeld)
                .isExactlyInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("released");
        assertThatThrownBy(handle::fencingToken).isExactlyInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void release_twice_isDoneOnce() {
        LockHandle handle = acquire();
        assertThat(handle.release()).isTrue();
        LockHandle next = acquire();
        assertThat(handle.release()).isFalse();
        handle.close();
        assertThat(next.isHeld())
                .as("the old handle cannot release the new hold")
                .isTrue();
        next.close();
    }

    @Test
    void tokens_ofHandlesAndThreads_growTogether() {
        LockHandle handle = acquire();
        long first = handle.fencingToken();
        handle.close();
        lock.lock();
        long second = lock.fencingToken();
        lock.unlock();
        LockHandle last = acquire();
        assertThat(first).isLessThan(second);
        assertThat(second).isLessThan(last.fencingToken());
        last.close();
    }

    @Test
    void handle_heldForLong_isRenewed_thoughItsThreadHasEnded() {
        AtomicReference<LockHandle> handle = new AtomicReference<>();
        onAnotherThread(() -> handle.set(acquire()));
        pass(120_000);
        handle.get().ensureHeld();
        assertThat(losses).isEmpty();
        handle.get().close();
    }

    @Test
    void waitingHandle_isGrantedTheLockByAnotherClient() throws InterruptedException {
        other.lock();
        AtomicReference<LockHandle> handle = new AtomicReference<>();
        Thread waiter = new Thread(() -> handle.set(acquire()));
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        assertThat(lock.getQueuedThreads()).containsExactly(waiter);
        other.unlock();
        waiter.join();
        assertThat(handle.get().isHeld()).isTrue();
        handle.get().close();
    }

    @Test
    void waitingHandle_behindAHandleOfItsClient_isNextByItsRelease() throws InterruptedException {
        LockHandle first = acquire();
        AtomicReference<LockHandle> second = new AtomicReference<>();
        Thread waiter = new Thread(() -> second.set(acquire()));
        waiter.start();
        await().until(() -> lock.hasQueuedThread(waiter));
        await().until(() -> clock.isParked(waiter));
        first.close();
        waiter.join();
        assertThat(second.get().isHeld()).isTrue();
        second.get().close();
    }

    @Test
    void waitingHandle_interrupted_leavesNothing() throws InterruptedException {
        other.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                locks.reentrantLock("job").acquire();
            } catch (InterruptedException e) {
                thrown.set(e);
            }
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        waiter.interrupt();
        whileTimePasses(() -> {
            try {
                waiter.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
        settle();
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        other.unlock();
    }

    @Test
    void tryAcquire_inItsTime_returnsTheHandle() throws InterruptedException {
        Optional<LockHandle> handle = locks.reentrantLock("job").tryAcquire(Duration.ofSeconds(1));
        assertThat(handle).isPresent();
        handle.get().close();
    }

    @Test
    void fixedLease_isNotRenewed_andToldBeforeItIsOver() throws InterruptedException {
        hearMessages();
        LockHandle handle = locks.reentrantLock("job", LockOptions.defaults().fixedLease(Duration.ofSeconds(3)))
                .acquire();
        List<LockLost> told = new CopyOnWriteArrayList<>();
        handle.lost().thenAccept(told::add);
        pass(2_975);
        await().until(() -> told.size() == 1);
        assertThat(server.hash(KEY)).as("Redis still has it").containsEntry("owner", handle.owner());
        assertThat(told.get(0).reason()).isEqualTo(LockLost.Reason.EXPIRED);
        assertThat(told.get(0).owner()).isEqualTo("handle " + handle.owner().replaceFirst(".*:", ""));
        assertThat(handle.isHeld()).isFalse();
        assertThatThrownBy(handle::ensureHeld).isInstanceOf(LockLostException.class);
        assertThatThrownBy(handle::close).isInstanceOf(LockLostException.class);
        handle.close();
        assertThat(handle.release()).isFalse();
    }

    /**
     * Waits until the client has subscribed and read a message. After it has subscribed, a client asks Redis about its
     * handles, which moves the deadline of a fixed lease.
     */
    private void hearMessages() {
        LockHandle first = acquire();
        CompletableFuture<LockLost> told = first.lost().toCompletableFuture();
        await().until(() -> inside.mailbox().isOpen());
        other.forceUnlock();
        whileTimePasses(told::join);
        assertThat(first.release()).isFalse();
    }

    @Test
    void lost_ofALockThatIsForced_isToldAtOnce() {
        LockHandle handle = acquire();
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        await().until(() -> inside.mailbox().isOpen());
        long forced = clock.nanoTime();
        other.forceUnlock();
        whileTimePasses(told::join);
        assertThat(clock.nanoTime() - forced).as("ns").isLessThan(1_000_000_000L);
        assertThat(told.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(handle.release()).isFalse();
    }

    @Test
    void unlock_byAThread_ofALockThatAHandleHas_namesHandles() {
        LockHandle handle = acquire();
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("acquire a LockHandle");
        handle.close();
    }

    @Test
    void loss_whileRedisRefusesRenewals_saysThatItMayHaveRefused() {
        LockHandle handle = acquire();
        redis.down(true);
        pass(30_000);
        assertThatThrownBy(handle::ensureHeld)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.UNCONFIRMED))
                .hasMessageContaining("refused");
    }

    /** The client subscribes with the first call of lost(), which takes a moment. */
    @Test
    void lost_ofALockThatWasForcedBeforeTheClientListened_isToldAtOnce() {
        LockHandle handle = acquire();
        long forced = clock.nanoTime();
        other.forceUnlock();
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        passUntil(told::isDone);
        assertThat(clock.nanoTime() - forced).as("ns").isLessThan(1_000_000_000L);
        assertThat(told.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    /** A message is a hint: it cannot take a lock away. */
    @Test
    void messageOfAForcedLock_thatIsNotTrue_changesNothing() {
        LockHandle handle = acquire();
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        await().until(() -> inside.mailbox().isOpen());
        String attempt = server.hash(KEY).get("attempt");
        server.publish(inside.mailbox().channel(), attempt + " 0 " + handle.fencingToken(), 1_000_000_000);
        server.publish(inside.mailbox().channel(), attempt + " 0 7", 1_000_000_000);
        pass(100);
        handle.ensureHeld();
        assertThat(told).isNotDone();
        handle.close();
    }

    @Test
    void fixedLease_thatIsForcedInItsLastMoment_isToldAtOnce() throws InterruptedException {
        LockHandle handle = locks.reentrantLock("job", LockOptions.defaults().fixedLease(Duration.ofSeconds(1)))
                .acquire();
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        await().until(() -> inside.mailbox().isOpen());
        clock.advanceMillis(950);
        other.forceUnlock();
        // The clock stands still from now on, so the lease does not end.
        await().until(told::isDone);
        assertThat(told.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void fixedLease_thatIsForced_isToldAtOnce() throws InterruptedException {
        LockHandle handle = locks.reentrantLock("job", LockOptions.defaults().fixedLease(Duration.ofSeconds(60)))
                .acquire();
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        await().until(() -> inside.mailbox().isOpen());
        long forced = clock.nanoTime();
        other.forceUnlock();
        whileTimePasses(told::join);
        assertThat(clock.nanoTime() - forced).as("ns").isLessThan(1_000_000_000L);
        assertThat(told.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(handle.release()).isFalse();
    }

    @Test
    void releaseAsync_ofAHeldLock_handsItOn() {
        LockHandle handle = acquire();
        CompletableFuture<Boolean> released = handle.releaseAsync().toCompletableFuture();
        assertThat(handle.isHeld()).isFalse();
        whileTimePasses(released::join);
        assertThat(released.join()).isTrue();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(handle.releaseAsync().toCompletableFuture().join()).isFalse();
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void releaseAsync_ofALostLock_saysSo() {
        LockHandle handle = acquire();
        other.forceUnlock();
        CompletableFuture<Boolean> released = handle.releaseAsync().toCompletableFuture();
        whileTimePasses(released::join);
        assertThat(released.join()).isFalse();
        CompletableFuture<LockLost> lost = handle.lost().toCompletableFuture();
        assertThat(lost.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void releaseAsync_ofALockWhoseLossIsKnown_leavesNoRecord() {
        LockHandle handle = acquire();
        other.forceUnlock();
        pass(11_000);
        assertThat(handle.isHeld()).isFalse();
        assertThat(inside.holds().all()).hasSize(1);
        assertThat(handle.releaseAsync().toCompletableFuture().join()).isFalse();
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void releaseAsync_whileRedisIsAway_endsBeforeTheDeadline() {
        LockHandle handle = acquire();
        redis.down(true);
        CompletableFuture<Boolean> released = handle.releaseAsync().toCompletableFuture();
        whileTimePasses(released::join);
        assertThat(released.join()).isTrue();
        assertThat(server.hash(KEY)).isNotEmpty();
        redis.down(false);
        passUntil(() -> server.hash(KEY).isEmpty());
    }

    @Test
    void releaseAsync_servesAWaitingThreadOfTheClient() throws InterruptedException {
        LockHandle first = acquire();
        AtomicReference<LockHandle> second = new AtomicReference<>();
        Thread waiter = new Thread(() -> second.set(acquire()));
        waiter.start();
        await().until(() -> lock.hasQueuedThread(waiter) && clock.isParked(waiter));
        CompletableFuture<Boolean> released = first.releaseAsync().toCompletableFuture();
        whileTimePasses(released::join);
        waiter.join();
        assertThat(second.get().isHeld()).isTrue();
        second.get().close();
    }

    /** As if the garbage collector had found that nobody has the handle any more. */
    @Test
    void handle_thatNobodyHas_isAbandonedAtItsNextRenewal() {
        LockHandle handle = acquire();
        HandleOwner owner = (HandleOwner) inside.holds().all().iterator().next().owner;
        assertThat(owner.isAlive()).isTrue();
        owner.forget();
        pass(10_100);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.ABANDONED);
        settle();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(handle.isHeld()).isFalse();
        pass(10_100);
        assertThat(inside.holds().all()).as("records of losses").isEmpty();
    }

    @Test
    void close_ofTheClient_isALossOfTheHandle() {
        LockHandle handle = acquire();
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        whileTimePasses(locks::close);
        assertThat(told.join().reason()).isEqualTo(LockLost.Reason.CLOSED);
        assertThat(handle.release()).isFalse();
    }

    @Test
    void toString_saysWhatItIs() {
        LockHandle handle = acquire();
        assertThat(handle.toString()).contains("job", "held", Long.toString(handle.fencingToken()));
        handle.close();
        assertThat(handle.toString()).contains("job", "released");
    }

    /** As when another thread releases it just after this one has looked whether it was. */
    @Test
    void ensureHeld_ofAHandleThatIsJustBeingReleased_isNoLoss() throws InterruptedException {
        LockHandle handle = acquire();
        MultiLockHandle both = locks.multiLock(List.of("a", "b")).acquire();
        inside.holds().all().forEach(hold -> hold.beginRelease(clock.nanoTime()));
        assertThatThrownBy(handle::ensureHeld)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class);
        assertThatThrownBy(both::ensureHeld)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class);
    }

    /** Each stage would stay until the handle goes. */
    @Test
    void lost_thatIsAskedForAgainAndAgain_isOneStage() throws InterruptedException {
        LockHandle handle = acquire();
        assertThat((Object) handle.lost()).isSameAs(handle.lost());
        handle.close();
        MultiLockHandle both = locks.multiLock(List.of("a", "b")).acquire();
        assertThat((Object) both.lost()).isSameAs(both.lost());
        both.close();
    }
}
