package io.github.redislocks.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LeaderOptions;
import io.github.redislocks.Leadership;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.ReadHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisOutage;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.client.ClientAccess;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.fixture.Busy;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The actions of a test on the locks of the test kit. */
@Timeout(30)
class InMemoryLocksTest {

    private static final Duration LEASE = Duration.ofSeconds(30);

    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final InMemoryLocks memory = InMemoryLocks.start(builder -> builder.onLockLost(losses::add));
    private final RedisLocks locks = memory.client();
    private final RedisLocks others = memory.newClient();
    private final RedisReentrantLock lock = locks.reentrantLock("job");
    private final RedisReentrantLock tenSeconds =
            locks.reentrantLock("job", LockOptions.defaults().fixedLease(Duration.ofSeconds(10)));
    private final RedisReentrantLock other = others.reentrantLock("job");

    @AfterEach
    void close() {
        memory.close();
    }

    private void assertLost(LockLost.Reason reason) {
        assertThat(losses).extracting(LockLost::reason).containsExactly(reason);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lock::unlock);
    }

    @Test
    void client_isTheFirst() {
        assertThat(memory.client()).isSameAs(locks).isNotSameAs(others);
        assertThat(locks.clientId()).isNotEqualTo(others.clientId());
    }

    @Test
    void clients_excludeEachOther() {
        lock.lock();
        long token = lock.fencingToken();
        assertThat(other.tryLock()).isFalse();
        lock.unlock();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.fencingToken()).isGreaterThan(token);
    }

    @Test
    void clients_handOn_toWhoWaits() throws Exception {
        lock.lock();
        CompletableFuture<LockHandle> waiting = others.reentrantLock("job").acquireAsync();
        await().until(() -> locks.inspect("job").queueLength() == 1);
        lock.unlock();
        try (LockHandle held = waiting.get(10, TimeUnit.SECONDS)) {
            assertThat(lock.tryLock()).isFalse();
            assertThat(held.isHeld()).isTrue();
        }
        assertThat(losses).isEmpty();
    }

    @Test
    void advance_holdThatIsRenewed_lasts() {
        lock.lock();
        memory.advance(Duration.ofMinutes(10));
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(other.tryLock()).isFalse();
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void advance_beyondAFixedLease_losesTheLock() {
        tenSeconds.lock();
        memory.advance(Duration.ofSeconds(9));
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        memory.advance(Duration.ofMillis(1_001));
        assertLost(LockLost.Reason.EXPIRED);
        assertThat(other.tryLock()).isTrue();
    }

    /** By all of the time, or so that half a second is left. */
    @ParameterizedTest
    @ValueSource(longs = {120_000, 119_500})
    void advance_wakesWhoWaitsForThatTime_andLeavesHimTheRestOfALongerOne(long millis) throws Exception {
        other.lock();
        CompletableFuture<Boolean> tried = OwnThread.call(() -> lock.tryLock(2, TimeUnit.MINUTES));
        await().until(() -> locks.inspect("job").queueLength() == 1);
        memory.advance(Duration.ofMillis(millis));
        assertThat(tried.get(10, TimeUnit.SECONDS)).isFalse();
        other.unlock();
    }

    @Test
    void lose_held_tellsListenersAndOwner() {
        lock.lock();
        memory.lose("job");
        assertLost(LockLost.Reason.TAKEN);
        assertThat(other.tryLock()).isTrue();
    }

    @Test
    void lose_ofAHandle_completesItsStage() throws InterruptedException {
        LockHandle held = locks.reentrantLock("job").acquire();
        AtomicReference<LockLost> told = new AtomicReference<>();
        held.lost().thenAccept(told::set);
        memory.lose("job");
        assertThat(told.get()).isNotNull();
        assertThat(held.isHeld()).isFalse();
    }

    @Test
    void lose_whileOthersWait_letsOneHaveIt() throws Exception {
        lock.lock();
        CompletableFuture<LockHandle> waiting = others.reentrantLock("job").acquireAsync();
        await().until(() -> locks.inspect("job").queueLength() == 1);
        memory.lose("job");
        assertLost(LockLost.Reason.TAKEN);
        try (LockHandle held = waiting.get(10, TimeUnit.SECONDS)) {
            assertThat(held.previousHolderLost()).isTrue();
        }
    }

    @Test
    void lose_withAnotherPrefix_isOfThatLock() {
        RedisReentrantLock prefixed =
                memory.newClient(builder -> builder.keyPrefix("shop")).reentrantLock("job");
        prefixed.lock();
        memory.lose("job");
        assertThat(prefixed.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void lose_whileAPausedClientHasAStaleHold_endsTheHoldOfTheOther() {
        lock.lock();
        memory.pause(locks);
        memory.advance(LEASE.plusSeconds(1));
        other.lock();
        memory.lose("job");
        assertThat(other.isHeldByCurrentThread()).isFalse();
        memory.resume(locks);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN, LockLost.Reason.EXPIRED);
    }

    @Test
    void lose_whenOnlyAPausedClientHasAStaleHold_throws() {
        lock.lock();
        memory.pause(locks);
        memory.advance(LEASE.plusSeconds(1));
        assertThatIllegalStateException().isThrownBy(() -> memory.lose("job")).withMessageContaining("\"job\"");
        memory.resume(locks);
    }

    @Test
    void advance_whileALeaderAwaitsItsEnd_endsThePause() throws InterruptedException {
        memory.stopClock();
        Semaphore steps = new Semaphore(0);
        try (Leadership leadership = locks.leadership("leader", term -> {
            do {
                steps.release();
            } while (!term.awaitStopping(Duration.ofHours(1)));
        })) {
            steps.acquire();
            for (int i = 0; i < 3; i++) {
                await().until(() -> {
                    memory.advance(Duration.ofHours(1));
                    return steps.tryAcquire();
                });
            }
            assertThat(leadership.isLeader()).isTrue();
        }
    }

    @Test
    void lose_ofALeaderThatAwaitsItsEnd_endsItsWait() throws InterruptedException {
        memory.stopClock();
        BlockingQueue<Boolean> answers = new LinkedBlockingQueue<>();
        CountDownLatch leads = new CountDownLatch(1);
        LeaderOptions quiet = LeaderOptions.defaults().interrupt(false);
        Leadership leadership = locks.leadership(
                "leader",
                term -> {
                    leads.countDown();
                    answers.add(term.awaitStopping(Duration.ofHours(1)));
                },
                quiet);
        leads.await();
        memory.lose("leader");
        assertThat(answers.poll(10, TimeUnit.SECONDS)).isTrue();
        leadership.close();
    }

    @Test
    void lose_free_throws() {
        assertThatIllegalStateException()
                .isThrownBy(() -> memory.lose("job"))
                .withMessageContaining("\"job\"")
                .withMessageContaining("First lock it");
    }

    @Test
    void lose_whileHandlesRead_completesTheStageOfEach() throws InterruptedException {
        List<LockLost> told = new CopyOnWriteArrayList<>();
        ReadHandle here = locks.readWriteLock("job").readLock().acquire();
        ReadHandle there = others.readWriteLock("job").readLock().acquire();
        here.lost().thenAccept(told::add);
        there.lost().thenAccept(told::add);
        memory.lose("job");
        assertThat(told).extracting(LockLost::reason).containsOnly(LockLost.Reason.TAKEN);
        assertThat(told).hasSize(2);
        assertThat(here.isHeld() || there.isHeld()).isFalse();
        assertThat(other.tryLock()).as("to write").isTrue();
    }

    @Test
    void pause_longerThanTheLease_losesTheLockToAnother() {
        lock.lock();
        memory.pause(locks);
        memory.advance(LEASE.plusSeconds(1));
        assertThat(losses).as("a JVM that stands still notices nothing").isEmpty();
        assertThat(other.tryLock()).isTrue();
        memory.resume(locks);
        assertLost(LockLost.Reason.EXPIRED);
    }

    @Test
    void pause_shorterThanTheLease_losesNothing() {
        lock.lock();
        memory.pause(locks);
        memory.advance(LEASE.minusSeconds(5));
        assertThat(other.tryLock()).isFalse();
        memory.resume(locks);
        memory.advance(LEASE.minusSeconds(5));
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void pause_grantOnItsWay_arrivesAfterwards() throws Exception {
        other.lock();
        CompletableFuture<LockHandle> waiting = locks.reentrantLock("job").acquireAsync();
        await().until(() -> others.inspect("job").queueLength() == 1);
        memory.pause(locks);
        other.unlock();
        assertThat(others.inspect("job").holder()).isPresent();
        assertThat(waiting).isNotDone();
        memory.resume(locks);
        waiting.get(10, TimeUnit.SECONDS).close();
    }

    @Test
    void unavailable_try_isUnknown() {
        memory.unavailable();
        assertThatExceptionOfType(LockUnavailableException.class).isThrownBy(lock::tryLock);
        assertThatExceptionOfType(LockUnavailableException.class).isThrownBy(memory::newClient);
        memory.available();
        assertThat(lock.tryLock()).isTrue();
    }

    @Test
    void unavailable_hold_lastsUntilItsDeadline() {
        lock.lock();
        memory.unavailable();
        memory.advance(LEASE.minusSeconds(12));
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        memory.advance(Duration.ofSeconds(12));
        assertLost(LockLost.Reason.UNCONFIRMED);
    }

    @Test
    void available_inTime_goesOn() {
        lock.lock();
        memory.unavailable();
        memory.advance(Duration.ofSeconds(15));
        memory.available();
        memory.advance(LEASE);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(losses).isEmpty();
    }

    @Test
    void unavailable_isToldToListeners() {
        List<String> told = new CopyOnWriteArrayList<>();
        RedisLocks watched = memory.newClient(builder -> builder.listener(new LockListener() {
            @Override
            public void lost(LockLost loss) {
                told.add("lost");
            }

            @Override
            public void outageBegan(RedisOutage outage) {
                told.add("away");
            }
        }));
        assertThat(watched.reentrantLock("report").tryLock()).isTrue();
        memory.unavailable();
        memory.advance(LEASE);
        assertThat(told).contains("away", "lost");
    }

    @Test
    void stopClock_timeStandsStill_untilItIsMoved() {
        memory.stopClock();
        tenSeconds.lock();
        Duration left = lock.remainingLease();
        assertThat(lock.remainingLease()).isEqualTo(left);
        memory.advance(Duration.ofSeconds(3));
        assertThat(lock.remainingLease()).isEqualTo(left.minusSeconds(3));
    }

    @Test
    void stopClock_tryOfALockThatAPausedClientKeeps_waitsForTheTimeOfAnAnswer() throws Exception {
        FencedLock kept = locks.reentrantLock(
                "job", LockOptions.defaults().lease(Duration.ofHours(1)).residency(Duration.ofMinutes(1)));
        // A lock is kept only after its client has subscribed, so that others can ask for the lock.
        await().until(() -> {
            kept.lock();
            kept.unlock();
            return locks.countResident() == 1;
        });
        memory.stopClock();
        memory.pause(locks);
        CompletableFuture<Boolean> tried = OwnThread.call(other::tryLock);
        await().until(() -> others.countWaitingCalls() == 1);
        memory.advance(Duration.ofMillis(999));
        assertThat(tried).isNotDone();
        memory.advance(Duration.ofMillis(1));
        assertThat(tried.get(10, TimeUnit.SECONDS)).isFalse();
        memory.resume(locks);
    }

    @Test
    void stopClock_thousandsAreHeld_areRenewedAndToldOf() {
        memory.stopClock();
        int many = 1_500;
        for (int i = 0; i < many; i++) {
            locks.reentrantLock("many-" + i).lock();
        }
        memory.advance(Duration.ofSeconds(65));
        for (int i = 0; i < many; i++) {
            assertThat(locks.reentrantLock("many-" + i).isHeldByCurrentThread()).isTrue();
        }
        memory.lose("many-7");
        assertThat(losses).extracting(LockLost::lockName).containsExactly("many-7");
    }

    /** A thread that gets no processor for a while must not find that its lease has ended. */
    @Test
    void advance_waitsForAThreadWhoseCallGoesOn() throws Exception {
        memory.stopClock();
        LockClient client = ClientAccess.get().engine(locks);
        Busy taking = new Busy(client.clock::nanoTime);
        ((InMemoryRedis) client.redis).hold(call -> {
            taking.onceOf(call.script().name().equals("take"));
            return false;
        });
        long began = client.clock.nanoTime();
        Thread thread = new Thread(lock::lock);
        thread.start();
        taking.awaitBegin();
        memory.advance(Duration.ofMinutes(5));
        assertThat(taking.seen()).isEqualTo(began);
        thread.join();
    }

    @Test
    void close_closesAllClients() {
        memory.close();
        assertThat(locks.isClosed()).isTrue();
        assertThat(others.isClosed()).isTrue();
    }

    @Test
    void close_withAStoppedClock_whileThreadsWait_ends() throws InterruptedException {
        other.lock();
        List<Thread> waiting = new ArrayList<>();
        List<Throwable> thrown = new CopyOnWriteArrayList<>();
        for (int i = 0; i < 20; i++) {
            waiting.add(new Thread(() -> thrown.add(catchThrowable(lock::lock))));
        }
        waiting.forEach(Thread::start);
        await().until(() -> waiting.stream().allMatch(lock::hasQueuedThread));
        memory.stopClock();
        memory.close();
        for (Thread thread : waiting) {
            thread.join();
        }
        assertThat(thrown).hasSize(20).allMatch(IllegalStateException.class::isInstance);
    }

    @Test
    void memoryClose_ofPausedClient_whileRedisIsAway_closesClient() {
        lock.lock();
        memory.pause(locks);
        memory.unavailable();
        memory.close();
        assertThat(locks.isClosed()).isTrue();
    }

    @Test
    void badUse_namesTheRemedy() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.advance(Duration.ofSeconds(-1)))
                .withMessageContaining("-1 s")
                .withMessageContaining("do not go back");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.newClient(builder -> builder.uri("redis://localhost:6379")))
                .withMessageContaining("leave uri");
        assertThatIllegalStateException()
                .isThrownBy(() -> memory.resume(locks))
                .withMessageContaining("pause(client) first");
        memory.pause(locks);
        assertThatIllegalStateException().isThrownBy(() -> memory.pause(locks)).withMessageContaining("paused already");
        memory.resume(locks);
        try (InMemoryLocks another = InMemoryLocks.start()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> another.pause(locks))
                    .withMessageContaining("is no client of this InMemoryLocks");
        }
    }

    /** The quickest of some, so that a machine that stalls does not count. */
    @Test
    void start_withALock_isReadyIn50Ms() {
        long quickest = Long.MAX_VALUE;
        for (int i = 0; i < 10; i++) {
            long began = System.nanoTime();
            try (InMemoryLocks another = InMemoryLocks.start()) {
                another.client().reentrantLock("job").lock();
                quickest = Math.min(quickest, System.nanoTime() - began);
            }
        }
        assertThat(Duration.ofNanos(quickest)).isLessThan(Duration.ofMillis(50));
    }
}
