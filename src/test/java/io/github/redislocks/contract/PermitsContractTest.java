package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.RedisLocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The contract of permits, on every topology. Two clients stand for two JVMs. */
@Timeout(60)
public abstract class PermitsContractTest {

    private static final Duration LONG = Duration.ofSeconds(30);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final String name = "permits:" + UUID.randomUUID();
    private RedisLocks here;
    private RedisLocks there;
    private Permits permits;
    private Permits remote;

    /** A client of the Redis under test. */
    protected abstract RedisLocks connect();

    @BeforeEach
    void connectTwice() {
        here = connect();
        there = connect();
        permits = here.permits(name, 3);
        remote = there.permits(name, 3);
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        here.close();
        there.close();
    }

    private static PermitHandle one(Permits of, int count) throws InterruptedException {
        return of.tryAcquire(count, Duration.ZERO).orElseThrow();
    }

    /** Begins to acquire on a thread of its own, and returns once Redis shows the caller among the waiters. */
    private Future<PermitHandle> queued(Permits of, int count) {
        int before = permits.inspect().waiting().size();
        Future<PermitHandle> waiting = threads.submit(() -> of.acquire(count));
        await().until(() -> permits.inspect().waiting().size() == before + 1);
        return waiting;
    }

    private static PermitHandle got(Future<PermitHandle> waiting) throws InterruptedException {
        try {
            return waiting.get(30, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void acquire_asManyAsThereAre_givesEachNumberOnce() throws InterruptedException {
        PermitHandle first = permits.acquire();
        PermitHandle second = remote.acquire();
        PermitHandle third = permits.acquire();
        assertThat(List.of(first.number(), second.number(), third.number())).containsExactly(0, 1, 2);
        assertThat(first.fencingToken()).isLessThan(second.fencingToken());
        assertThat(second.fencingToken()).isLessThan(third.fencingToken());
        assertThat(permits.available()).isZero();
        assertThat(permits.tryAcquire(Duration.ZERO)).isEmpty();
        assertThat(remote.tryAcquire(Duration.ofMillis(20))).isEmpty();
        second.close();
        assertThat(permits.available()).isOne();
        PermitHandle again = one(permits, 1);
        assertThat(again.number()).isOne();
        assertThat(again.fencingToken()).isGreaterThan(third.fencingToken());
        assertThat(again.previousHolderLost()).isFalse();
        again.close();
        first.close();
        third.close();
        assertThat(permits.available()).isEqualTo(3);
    }

    @Test
    void acquire_ofSeveral_takesAllOrNone() throws InterruptedException {
        try (PermitHandle two = permits.acquire(2)) {
            assertThat(two.numbers()).containsExactly(0, 1);
            assertThat(two.name()).isEqualTo(name);
            assertThat(remote.tryAcquire(2, Duration.ZERO)).isEmpty();
            try (PermitHandle rest = one(remote, 1)) {
                assertThat(rest.number()).isEqualTo(2);
            }
        }
        PermitHandle all = one(remote, 3);
        assertThat(all.numbers()).containsExactly(0, 1, 2);
        all.close();
    }

    @Test
    void acquire_whileNoneIsFree_waitsUntilOneIsGivenBack() throws InterruptedException {
        PermitHandle all = one(remote, 3);
        Future<PermitHandle> waiting = queued(permits, 1);
        assertThat(waiting).isNotDone();
        all.close();
        PermitHandle mine = got(waiting);
        mine.ensureHeld();
        assertThat(mine.isHeld()).isTrue();
        mine.close();
    }

    @Test
    void release_withSeveralWaiters_servesAllThatFit() throws InterruptedException {
        PermitHandle all = one(remote, 3);
        Future<PermitHandle> first = queued(permits, 1);
        Future<PermitHandle> second = queued(remote, 2);
        Future<PermitHandle> third = queued(permits, 1);
        all.close();
        assertThat(got(first).numbers()).containsExactly(0);
        PermitHandle two = got(second);
        assertThat(two.numbers()).containsExactly(1, 2);
        assertThat(third).isNotDone();
        two.close();
        got(third).close();
        got(first).close();
    }

    @Test
    void callerThatWantsMany_isNotOvertakenByOneThatWantsFew() throws InterruptedException {
        PermitHandle two = one(remote, 2);
        Future<PermitHandle> many = queued(permits, 3);
        assertThat(remote.tryAcquire(1, Duration.ZERO))
                .as("one is free, and somebody waits")
                .isEmpty();
        Future<PermitHandle> few = queued(remote, 1);
        two.close();
        PermitHandle all = got(many);
        assertThat(all.numbers()).hasSize(3);
        assertThat(few).isNotDone();
        all.close();
        got(few).close();
    }

    @Test
    void waiterThatGivesUp_letsThoseBehindItIn() throws InterruptedException {
        PermitHandle two = one(remote, 2);
        Thread[] waiter = new Thread[1];
        CountDownLatch interrupted = new CountDownLatch(1);
        waiter[0] = new Thread(() -> {
            try {
                permits.acquire(3).close();
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
        });
        waiter[0].start();
        await().until(() -> permits.inspect().waiting().size() == 1);
        Future<PermitHandle> few = queued(remote, 1);
        waiter[0].interrupt();
        assertThat(interrupted.await(30, TimeUnit.SECONDS)).isTrue();
        got(few).close();
        await().until(() -> permits.inspect().waiting().isEmpty());
        two.close();
    }

    @Test
    void listPermits_hasThePoolsInUse_whichListLeavesOut() throws InterruptedException {
        one(remote, 1).close();
        assertThat(here.listPermits(permits.name())).isEmpty();
        try (PermitHandle two = one(remote, 2)) {
            assertThat(here.listPermits(permits.name())).singleElement().satisfies(pool -> {
                assertThat(pool.name()).isEqualTo(permits.name());
                assertThat(pool.size()).isEqualTo(3);
                assertThat(pool.held())
                        .singleElement()
                        .satisfies(held -> assertThat(held.numbers()).isEqualTo(two.numbers()));
            });
            assertThat(here.list(permits.name())).isEmpty();
        }
    }

    @Test
    void tryAcquire_withTime_endsWhenTheTimeIsOver() throws InterruptedException {
        PermitHandle all = one(remote, 3);
        assertThat(permits.tryAcquire(2, Duration.ofMillis(50))).isEmpty();
        await().until(() -> permits.inspect().waiting().isEmpty());
        all.close();
        try (PermitHandle got = permits.tryAcquire(2, LONG).orElseThrow()) {
            assertThat(got.numbers()).hasSize(2);
        }
    }

    @Test
    void acquireAsync_whileNoneIsFree_completesLater_andCancelLeavesNothing() throws Exception {
        PermitHandle all = one(remote, 3);
        CompletableFuture<PermitHandle> future = permits.acquireAsync(1);
        CompletableFuture<PermitHandle> cancelled = permits.acquireAsync(2);
        CompletableFuture<Optional<PermitHandle>> tried = permits.tryAcquireAsync(1, Duration.ofMillis(20));
        await().until(() -> permits.inspect().waiting().size() >= 2);
        assertThat(tried.get(30, TimeUnit.SECONDS)).isEmpty();
        cancelled.cancel(false);
        await().until(() -> permits.inspect().waiting().size() == 1);
        all.close();
        PermitHandle mine = future.get(30, TimeUnit.SECONDS);
        assertThat(mine.releaseAsync().toCompletableFuture().get(30, TimeUnit.SECONDS))
                .isTrue();
        await().until(() -> permits.available() == 3);
    }

    @Test
    void permits_ofAnotherSize_areRefused() throws InterruptedException {
        permits.acquire().close();
        Permits other = there.permits(name, 4);
        assertThatIllegalStateException()
                .isThrownBy(other::acquire)
                .withMessageContaining(name)
                .withMessageContaining("are 3 in Redis")
                .withMessageContaining("made for 4")
                .withMessageContaining("resize(4)");
        assertThatIllegalStateException().isThrownBy(() -> other.tryAcquire(Duration.ZERO));
        assertThatThrownBy(() -> other.acquireAsync(1).get(30, TimeUnit.SECONDS))
                .hasCauseInstanceOf(IllegalStateException.class);
        assertThat(permits.inspect().held()).isEmpty();
        assertThat(permits.inspect().waiting()).isEmpty();
    }

    @Test
    void resize_toMore_servesThoseWhoWait_andToFewer_takesNobodysPermits() throws InterruptedException {
        PermitHandle all = one(remote, 3);
        Future<PermitHandle> waiting = queued(permits, 1);
        assertThat(permits.resize(4)).isEqualTo(3);
        PermitHandle fourth = got(waiting);
        assertThat(fourth.number()).isEqualTo(3);
        assertThat(remote.resize(1)).isEqualTo(4);
        assertThat(permits.size()).isOne();
        assertThat(permits.available()).isZero();
        fourth.ensureHeld();
        all.ensureHeld();
        fourth.close();
        assertThat(permits.tryAcquire(Duration.ZERO)).isEmpty();
        all.close();
        assertThat(one(permits, 1).release()).isTrue();
        assertThatIllegalStateException()
                .isThrownBy(() -> permits.acquire(2))
                .withMessageContaining("2 permits")
                .withMessageContaining("there are 1");
    }

    @Test
    void handle_ofAClientThatIsClosed_givesItsPermitsBack() throws InterruptedException {
        PermitHandle all = one(remote, 3);
        Future<PermitHandle> waiting = queued(permits, 3);
        there.close();
        assertThat(all.isHeld()).isFalse();
        got(waiting).close();
    }

    @Test
    void inspect_showsWhoHasPermitsAndWhoWaits() throws InterruptedException {
        PermitHandle two = one(permits, 2);
        Future<PermitHandle> waiting = queued(remote, 2);
        PermitsInspection shown = permits.inspect();
        assertThat(shown.held()).hasSize(1);
        assertThat(shown.held().get(0).owner()).hasToString(two.owner());
        assertThat(shown.held().get(0).numbers()).containsExactly(0, 1);
        assertThat(shown.held().get(0).fencingToken()).isEqualTo(two.fencingToken());
        assertThat(shown.held().get(0).remainingLease()).isPositive();
        assertThat(shown.waiting().get(0).wanted()).isEqualTo(2);
        assertThat(shown).hasToString(name + ": 3 permits, 1 available, 1 waiting");
        two.close();
        got(waiting).close();
    }

    @Test
    void permits_andALockOfThatName_haveNothingToDoWithEachOther() throws InterruptedException {
        here.reentrantLock(name).lock();
        try (PermitHandle all = permits.acquire(3)) {
            assertThat(all.isHeld()).isTrue();
            assertThat(there.reentrantLock(name).tryLock()).isFalse();
        }
        here.reentrantLock(name).unlock();
        assertThat(here.inspect(name).holder()).isEmpty();
    }

    @Test
    void acquire_withABadCount_isRefusedBeforeAnythingIsSent() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> permits.acquire(4))
                .withMessageContaining("The count is 4")
                .withMessageContaining("between 1 and 3");
        assertThatIllegalArgumentException().isThrownBy(() -> permits.acquire(0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> here.permits(name, 0))
                .withMessageContaining("between 1 and 1000");
        assertThatIllegalArgumentException().isThrownBy(() -> here.permits(name, 1_001));
        assertThatIllegalArgumentException().isThrownBy(() -> here.permits("", 1));
        assertThatIllegalArgumentException().isThrownBy(() -> permits.resize(0));
    }

    @Test
    void manyThreadsOfTwoClients_neverShareANumber() throws Exception {
        AtomicIntegerArray users = new AtomicIntegerArray(3);
        AtomicInteger shared = new AtomicInteger();
        AtomicInteger turns = new AtomicInteger();
        List<Future<?>> workers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Permits own = i % 2 == 0 ? permits : remote;
            int count = i % 4 == 3 ? 2 : 1;
            workers.add(threads.submit(() -> {
                for (int j = 0; j < 15; j++) {
                    try (PermitHandle held = own.acquire(count)) {
                        for (int number : held.numbers()) {
                            shared.addAndGet(users.incrementAndGet(number) - 1);
                        }
                        for (int number : held.numbers()) {
                            users.decrementAndGet(number);
                        }
                        turns.incrementAndGet();
                    }
                }
                return null;
            }));
        }
        for (Future<?> worker : workers) {
            worker.get(50, TimeUnit.SECONDS);
        }
        assertThat(shared).hasValue(0);
        assertThat(turns).hasValue(120);
        assertThat(permits.available()).isEqualTo(3);
    }
}
