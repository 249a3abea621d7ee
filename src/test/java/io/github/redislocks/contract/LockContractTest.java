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
import java.io.ByteArrayOutputStream;
import java.io.NotSerializableException;
import java.io.ObjectOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of every kind of lock, on every topology. Two clients stand for two JVMs. A subclass says how clients
 * and locks are made.
 */
@Timeout(60)
public abstract class LockContractTest {

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final String name = "contract:" + UUID.randomUUID();
    private RedisLocks here;
    private RedisLocks there;
    private RedisReentrantLock lock;
    private RedisReentrantLock remote;

    /** A client of the Redis under test. */
    protected abstract RedisLocks connect();

    /** The kind of lock under test. */
    protected abstract RedisReentrantLock lock(RedisLocks locks, String lockName);

    /** Whether clients keep locks that no thread holds. */
    protected boolean keeps() {
        return false;
    }

    /** Whether nobody holds the lock, as far as its client can know; one of another client may be kept there. */
    private void assertFree(RedisReentrantLock one) {
        if (keeps()) {
            assertThat(one.tryLock()).isTrue();
            one.unlock();
        }
        assertThat(one.isLocked()).isFalse();
    }

    @BeforeEach
    void connectTwice() {
        here = connect();
        there = connect();
        lock = lock(here, name);
        remote = lock(there, name);
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        here.close();
        there.close();
    }

    private <T> T elsewhere(Callable<T> action) throws InterruptedException {
        try {
            return threads.submit(action).get(30, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new AssertionError(e.getCause());
        } catch (java.util.concurrent.TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    private boolean askElsewhere(Callable<Boolean> question) throws InterruptedException {
        return elsewhere(question);
    }

    private static Callable<Void> unit(Runnable action) {
        return () -> {
            action.run();
            return null;
        };
    }

    @Test
    void lock_free_isHeldByItsThreadAlone() throws InterruptedException {
        lock.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(lock.isLocked()).isTrue();
        assertThat(remote.isLocked()).isTrue();
        assertThat(remote.isHeldByCurrentThread()).isFalse();
        assertThat(askElsewhere(lock::isHeldByCurrentThread)).isFalse();
        lock.unlock();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void tryLock_heldByAnother_isFalse() throws InterruptedException {
        lock.lock();
        assertThat(remote.tryLock()).isFalse();
        assertThat(askElsewhere(lock::tryLock)).isFalse();
        lock.unlock();
        assertThat(remote.tryLock()).isTrue();
        remote.unlock();
    }

    @Test
    void lock_twoObjectsOfOneName_areOneHold() {
        lock.lock();
        RedisReentrantLock same = lock(here, name);
        same.lock();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        lock.unlock();
        same.unlock();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void lock_twoClientsOfOneThread_areTwoOwners() {
        lock.lock();
        assertThat(remote.tryLock()).isFalse();
        lock.unlock();
    }

    @Test
    void reentry_isFreedByAsManyUnlocks() throws InterruptedException {
        lock.lock();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
        lock.lockInterruptibly();
        long token = lock.fencingToken();
        for (int count = 4; count > 0; count--) {
            assertThat(lock.getHoldCount()).isEqualTo(count);
            assertThat(lock.fencingToken()).isEqualTo(token);
            assertThat(remote.tryLock()).isFalse();
            lock.unlock();
        }
        assertThat(lock.getHoldCount()).isZero();
        assertThat(remote.tryLock()).isTrue();
        remote.unlock();
    }

    @Test
    void unlock_byAStranger_throwsAndChangesNothing() throws InterruptedException {
        lock.lock();
        assertThatThrownBy(remote::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class)
                .hasMessageContaining(name);
        assertThat(askElsewhere(() -> {
                    try {
                        lock.unlock();
                        return false;
                    } catch (IllegalMonitorStateException e) {
                        return true;
                    }
                }))
                .isTrue();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void lock_waiting_hasItAfterUnlock() throws Exception {
        lock.lock();
        Future<Long> waiter = threads.submit(() -> {
            remote.lock();
            long token = remote.fencingToken();
            remote.unlock();
            return token;
        });
        Future<Long> neighbour = threads.submit(() -> {
            lock.lock();
            long token = lock.fencingToken();
            lock.unlock();
            return token;
        });
        long token = lock.fencingToken();
        assertThat(waiter.isDone() || neighbour.isDone()).isFalse();
        lock.unlock();
        assertThat(waiter.get(10, TimeUnit.SECONDS)).isGreaterThan(token);
        assertThat(neighbour.get(10, TimeUnit.SECONDS)).isGreaterThan(token);
    }

    @Test
    void tryLock_timedOut_isFalseAndNeverEarly() throws Exception {
        lock.lock();
        for (RedisReentrantLock waiting : List.of(lock, remote)) {
            elsewhere(() -> {
                long began = System.nanoTime();
                assertThat(waiting.tryLock(120, TimeUnit.MILLISECONDS)).isFalse();
                assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(120_000_000);
                return null;
            });
        }
        lock.unlock();
        // The thread that gave up has left, or does so now: a grant that lapses would count as a loss.
        assertThat(remote.tryLock(20, TimeUnit.SECONDS)).isTrue();
        assertThat(remote.previousHolderLost()).isFalse();
        remote.unlock();
    }

    @Test
    void tryLock_freedInTime_isTrue() throws Exception {
        lock.lock();
        Future<Boolean> waiter = threads.submit(() -> {
            boolean got = remote.tryLock(20, TimeUnit.SECONDS);
            remote.unlock();
            return got;
        });
        lock.unlock();
        assertThat(waiter.get(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void lockInterruptibly_interruptedOnEntry_throws() throws Exception {
        elsewhere(() -> {
            Thread.currentThread().interrupt();
            assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
            return null;
        });
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void lockInterruptibly_interruptedWhileWaiting_throwsAndLeavesNothing() throws Exception {
        lock.lock();
        for (RedisReentrantLock waiting : List.of(lock, remote)) {
            AtomicBoolean interrupted = new AtomicBoolean();
            Thread waiter = new Thread(() -> {
                try {
                    waiting.lockInterruptibly();
                } catch (InterruptedException e) {
                    interrupted.set(true);
                }
            });
            waiter.start();
            await().until(() ->
                    waiter.getState() == Thread.State.WAITING || waiter.getState() == Thread.State.TIMED_WAITING);
            waiter.interrupt();
            waiter.join(10_000);
            assertThat(interrupted).isTrue();
        }
        // A leave that a stalled server has not answered in time goes on in the background.
        await().until(() -> here.inspect(name).queueLength() == 0);
        lock.unlock();
        assertThat(remote.tryLock()).isTrue();
        remote.unlock();
    }

    @Test
    void lock_interrupted_waitsOnAndKeepsTheFlag() throws Exception {
        lock.lock();
        AtomicBoolean flag = new AtomicBoolean();
        Thread waiter = new Thread(() -> {
            Thread.currentThread().interrupt();
            remote.lock();
            flag.set(Thread.currentThread().isInterrupted());
            remote.unlock();
        });
        waiter.start();
        await().until(() ->
                waiter.getState() == Thread.State.WAITING || waiter.getState() == Thread.State.TIMED_WAITING);
        waiter.interrupt();
        assertThat(waiter.isAlive()).isTrue();
        lock.unlock();
        waiter.join(10_000);
        assertThat(flag).isTrue();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void lock_contended_excludesAndServesAll() throws Exception {
        int perThread = 50;
        int[] unsafe = new int[1];
        AtomicInteger inside = new AtomicInteger();
        List<Long> tokens = new ArrayList<>();
        CountDownLatch go = new CountDownLatch(1);
        List<Future<Void>> done = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            RedisReentrantLock mine = i % 2 == 0 ? lock : remote;
            done.add(threads.submit(() -> {
                go.await();
                for (int n = 0; n < perThread; n++) {
                    mine.lock();
                    try {
                        assertThat(inside.incrementAndGet()).isEqualTo(1);
                        unsafe[0]++;
                        tokens.add(mine.fencingToken());
                        inside.decrementAndGet();
                    } finally {
                        mine.unlock();
                    }
                }
                return null;
            }));
        }
        go.countDown();
        for (Future<Void> one : done) {
            one.get(50, TimeUnit.SECONDS);
        }
        assertThat(unsafe[0]).isEqualTo(8 * perThread);
        assertThat(tokens).hasSize(8 * perThread).isSorted().doesNotHaveDuplicates();
        assertFree(lock);
    }

    @Test
    void lease_fixed_endsTheHold() {
        fixed(lock, Duration.ofMillis(200)).lock();
        assertThat(lock.remainingLease()).isBetween(Duration.ofMillis(1), Duration.ofMillis(200));
        assertThat(remote.tryLock()).isFalse();
        await().pollInSameThread().until(() -> !lock.isHeldByCurrentThread());
        assertThat(lock.getHoldCount()).isZero();
        assertThat(lock.remainingLease()).isZero();
        await().pollInSameThread().until(remote::tryLock);
        assertThatThrownBy(lock::ensureHeld).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.lockName()).isEqualTo(name));
        assertThat(remote.isHeldByCurrentThread()).isTrue();
        assertThat(remote.previousHolderLost()).isTrue();
        remote.unlock();
        lock.lock();
        assertThat(lock.previousHolderLost()).isFalse();
        lock.unlock();
    }

    @Test
    void lease_outOfRange_isRefusedWithTheRule() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixed(lock, Duration.ofMillis(99)).lock())
                .withMessageContaining("99 ms")
                .withMessageContaining("100 ms");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixed(lock, Duration.ofDays(2)).tryLock(Duration.ZERO));
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void forceUnlock_held_freesIt() throws InterruptedException {
        lock.lock();
        assertThat(remote.forceUnlock()).isTrue();
        assertThat(remote.tryLock()).isTrue();
        if (keeps()) {
            // The unlock sends no request.
            await().pollInSameThread().until(() -> !lock.isHeldByCurrentThread());
        }
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        remote.unlock();
        assertThat(remote.forceUnlock()).isFalse();
    }

    @Test
    void close_withHoldsAndWaiters_endsBoth() throws Exception {
        lock.lock();
        Future<Void> waiter = threads.submit(unit(lock::lock));
        await().until(() -> !waiter.isDone());
        here.close();
        assertThatThrownBy(() -> waiter.get(10, TimeUnit.SECONDS)).hasCauseInstanceOf(IllegalStateException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("CLOSED");
        assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class);
        assertThat(remote.tryLock()).isTrue();
        remote.unlock();
    }

    @Test
    void queries_ofWaiters_countThisJvmsThreads() throws Exception {
        assertThat(lock.hasQueuedThreads()).isFalse();
        assertThat(lock.getOwner()).isNull();
        lock.lock();
        assertThat(lock.getOwner()).isSameAs(Thread.currentThread());
        assertThat(remote.getOwner()).isNull();
        assertThat(lock.getQueueLength()).as("the holder does not wait").isZero();
        Thread first = new Thread(unlocked(lock));
        Thread second = new Thread(unlocked(lock));
        second.start();
        await().until(() -> lock.getQueueLength() == 1);
        assertThat(lock.hasQueuedThread(second)).isTrue();
        assertThat(lock.hasQueuedThread(first)).isFalse();
        assertThat(lock.getQueuedThreads()).containsExactly(second);
        assertThat(remote.hasQueuedThreads()).as("another client's").isFalse();
        assertThatThrownBy(() -> lock.hasQueuedThread(null)).isInstanceOf(NullPointerException.class);
        lock.unlock();
        second.join(10_000);
        assertThat(lock.hasQueuedThreads()).isFalse();
    }

    private static Runnable unlocked(RedisReentrantLock lock) {
        return () -> {
            lock.lock();
            lock.unlock();
        };
    }

    @Test
    void inspect_showsHolderAndWaitersOfAllClients() throws Exception {
        assertThat(there.inspect(name).holder()).isEmpty();
        lock.lock();
        lock.lock();
        Thread waiter = new Thread(unlocked(remote));
        waiter.start();
        await().until(() -> here.inspect(name).queueLength() == 1);
        LockInspection seen = there.inspect(name);
        assertThat(seen.lockName()).isEqualTo(name);
        LockInspection.Holder holder = seen.holder().orElseThrow();
        assertThat(holder.holds()).isEqualTo(keeps() ? 1 : 2);
        assertThat(holder.token()).isEqualTo(lock.fencingToken());
        assertThat(holder.owner().isResidence()).isEqualTo(keeps());
        assertThat(holder.remainingLease()).isBetween(Duration.ofSeconds(1), Duration.ofSeconds(30));
        assertThat(holder.owner().pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(here.inspect(name).holder().orElseThrow().owner().threadId())
                .as("asked of its own client")
                .hasValue(Thread.currentThread().getId());
        if (!keeps()) {
            assertThat(holder.owner().threadId())
                    .hasValue(Thread.currentThread().getId());
        }
        assertThat(holder.owner().host()).isNotEmpty();
        assertThat(seen.queue()).singleElement().satisfies(place -> {
            assertThat(place.owner().threadId())
                    .isEqualTo(keeps() ? OptionalLong.empty() : OptionalLong.of(waiter.getId()));
            assertThat(place.owner().clientId()).isNotEqualTo(holder.owner().clientId());
            assertThat(place.age()).isBetween(Duration.ZERO, Duration.ofSeconds(30));
        });
        lock.unlock();
        lock.unlock();
        waiter.join(10_000);
    }

    @Test
    void inspect_namesTheThreadsOfItsOwnClient_andCountsThoseThatShareAPlace() throws Exception {
        lock.lock();
        Thread first = new Thread(unlocked(remote), "first waiter");
        Thread second = new Thread(unlocked(remote), "second waiter");
        first.start();
        await().until(() -> there.inspect(name).queueLength() == 1);
        second.start();
        await().until(() -> remote.getQueueLength() == 2);
        RedisReentrantLock elsewhere = this.there.reentrantLock(name + ":2");
        elsewhere.lock();
        Thread third = new Thread(unlocked(elsewhere), "waiter elsewhere");
        third.start();
        await().until(() -> elsewhere.getQueueLength() == 1);
        LockInspection here = this.here.inspect(name);
        LockInspection there = this.there.inspect(name);
        String holder = Thread.currentThread().getName();
        assertThat(here.holder().orElseThrow().owner().threadName()).hasValue(holder);
        assertThat(here.toString()).contains("(\"" + holder + "\"), once").doesNotContain("behind it");
        assertThat(here.queue()).isNotEmpty().allSatisfy(place -> {
            assertThat(place.owner().threadName()).isEmpty();
            assertThat(place.threads()).isEmpty();
        });
        assertThat(there.holder().orElseThrow().owner().threadName()).isEmpty();
        assertThat(there.queue().get(0).owner().threadName()).hasValue("first waiter");
        assertThat(there.queue().stream()
                        .map(place -> place.threads().orElseThrow())
                        .toList())
                .as("both in one place, or each in its own")
                .isIn(List.of(2), List.of(1, 1));
        assertThat(there.toString()).contains("(\"first waiter\"), for");
        assertThat(there.toString().contains("and 1 more behind it"))
                .isEqualTo(there.queue().size() == 1);
        if (!keeps()) {
            assertThat(there.holder().orElseThrow().owner())
                    .isEqualTo(here.holder().orElseThrow().owner());
        }
        lock.unlock();
        elsewhere.unlock();
        first.join(10_000);
        second.join(10_000);
        third.join(10_000);
    }

    @Test
    void serialization_isRefused() {
        assertThatThrownBy(() -> new ObjectOutputStream(new ByteArrayOutputStream()).writeObject(lock))
                .isInstanceOf(NotSerializableException.class);
    }

    @Test
    void toString_tellsTheLocalOwner() {
        assertThat(lock.toString()).contains(name).endsWith("[Unlocked]");
        lock.lock();
        assertThat(lock.toString())
                .endsWith("[Locked by thread " + Thread.currentThread().getName() + "]");
        assertThat(remote.toString()).endsWith("[Unlocked]");
        lock.unlock();
    }
}
