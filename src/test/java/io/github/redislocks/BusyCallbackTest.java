package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Losses and locks that nobody wants any more, while code of the user keeps threads of the library busy. */
class BusyCallbackTest extends FakeTime {

    private static final LockOptions SHORT = LockOptions.defaults().fixedLease(Duration.ofSeconds(3));

    private final CountDownLatch go = new CountDownLatch(1);
    private final AtomicInteger blocked = new AtomicInteger();
    private final List<Thread> threads = new CopyOnWriteArrayList<>();

    /** Blocks the calling thread until the end of the test. */
    private void block() {
        blocked.incrementAndGet();
        Uninterruptibles.until(System.nanoTime() + 40_000_000_000L, nanos -> go.await(nanos, TimeUnit.NANOSECONDS));
    }

    private void awaitBlocked(int callbacks) {
        await().until(() -> blocked.get() == callbacks);
    }

    private void start(Runnable work) {
        Thread thread = new Thread(work);
        threads.add(thread);
        thread.start();
    }

    private LockHandle acquire(String name, LockOptions options) {
        try {
            return locks.reentrantLock(name, options).acquire();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Lets a callback block that runs on the thread of the library and not on this one. */
    private void blockHandles() {
        blockHandles(1);
    }

    private void blockHandles(int callbacks) {
        List<String> names =
                IntStream.range(0, callbacks).mapToObj(i -> "busy" + i).toList();
        for (String name : names) {
            others.reentrantLock(name).lock();
            CompletableFuture<?> unused =
                    locks.reentrantLock(name).acquireAsync().thenAccept(held -> block());
        }
        passUntil(() -> names.stream()
                .allMatch(
                        name -> server.zset("redis-locks:{" + name + "}:queue").size() == 1));
        names.forEach(name -> others.reentrantLock(name).unlock());
        awaitBlocked(callbacks);
    }

    @AfterEach
    void unblock() {
        go.countDown();
        threads.forEach(FakeTime::awaitEnd);
    }

    /** Work that is interrupted when its lock is lost. */
    private final class Interrupted {

        final CountDownLatch begun = new CountDownLatch(1);
        final AtomicBoolean interrupted = new AtomicBoolean();

        Interrupted(String name) {
            start(() -> {
                try {
                    locks.reentrantLock(name, SHORT).runWithHandle(held -> {
                        begun.countDown();
                        go.await();
                    });
                } catch (InterruptedException | LockLostException e) {
                    interrupted.set(go.getCount() > 0);
                }
            });
            await().until(() -> begun.getCount() == 0);
        }
    }

    /** A leader, whose work waits until it should end. */
    private final class Led implements LeaderWork, AutoCloseable {

        final Leadership leadership;
        final AtomicBoolean stopped = new AtomicBoolean();
        volatile LeaderTerm term;

        Led(boolean interrupts) {
            leadership = locks.leadership("led", this, LeaderOptions.defaults().interrupt(interrupts));
            await().until(() -> term != null);
        }

        @Override
        public void lead(LeaderTerm begun) throws Exception {
            term = begun;
            try {
                begun.awaitStopping(Duration.ofSeconds(25));
            } finally {
                stopped.set(true);
            }
        }

        @Override
        public void close() {
            go.countDown();
            whileTimePasses(leadership::close);
        }
    }

    private void lose(String name) {
        others.reentrantLock(name).forceUnlock();
    }

    @Test
    void election_whileACallbackOfAnAcquisitionBlocks_isHeld() {
        blockHandles();
        try (Led led = new Led(false)) {
            assertThat(led.leadership.isLeader()).isTrue();
        }
    }

    @Test
    void stagesOfHandles_whileCallbacksOfOthersBlock_complete() {
        blockHandles(5);
        CompletableFuture<LockHandle> acquired = locks.reentrantLock("job").acquireAsync();
        await().until(acquired::isDone);
        CompletableFuture<Boolean> released = acquired.join().releaseAsync().toCompletableFuture();
        await().until(released::isDone);
        LockHandle first = acquire("first", SHORT);
        LockHandle second = acquire("second", SHORT);
        CompletableFuture<?> unused = first.lost().thenAccept(loss -> block()).toCompletableFuture();
        CompletableFuture<LockLost> told = second.lost().toCompletableFuture();
        clock.advanceMillis(3_000);
        awaitBlocked(6);
        await().until(told::isDone);
    }

    @Test
    void loss_whileACallbackOfAnAcquisitionBlocks_isTold() {
        blockHandles();
        LockHandle handle = acquire("job", SHORT);
        CompletableFuture<LockLost> told = handle.lost().toCompletableFuture();
        Interrupted work = new Interrupted("worked");
        clock.advanceMillis(3_000);
        await().until(told::isDone);
        await().untilTrue(work.interrupted);
    }

    @Test
    void leader_whileACallbackOfAnAcquisitionBlocks_isToldOfItsLoss() {
        try (Led led = new Led(true)) {
            blockHandles();
            lose("led");
            await().untilTrue(led.stopped);
        }
    }

    @Test
    void leaderAndWork_whileACallbackOfALossBlocks_areToldOfTheirLosses() {
        try (Led led = new Led(true)) {
            CompletableFuture<?> unused =
                    acquire("job", SHORT).lost().thenAccept(loss -> block()).toCompletableFuture();
            Interrupted work = new Interrupted("worked");
            clock.advanceMillis(3_000);
            awaitBlocked(1);
            await().untilTrue(work.interrupted);
            lose("led");
            await().untilTrue(led.stopped);
        }
    }

    /** Callbacks of a stage run in no order, and so are threads woken that wait for it. */
    @Test
    void awaitStopping_whileACallbackOfTheTermBlocks_returns() {
        try (Led led = new Led(false)) {
            CompletableFuture<?> unused =
                    led.term.stopping().thenAccept(loss -> block()).toCompletableFuture();
            lose("led");
            await().untilTrue(led.stopped);
            awaitBlocked(1);
        }
    }

    @Test
    void loss_whileAListenerBlocksForSomethingElse_isTold() {
        List<LockLost> told = new CopyOnWriteArrayList<>();
        LockListener busy = new LockListener() {
            @Override
            public void renewed(LocksRenewed event) {
                block();
            }

            @Override
            public void lost(LockLost loss) {
                told.add(loss);
            }
        };
        try (RedisLocks observed = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(busy), clock)) {
            clients.add(observed);
            RedisReentrantLock renewed = observed.reentrantLock("renewed");
            renewed.lock();
            clock.advanceMillis(10_500);
            awaitBlocked(1);
            RedisReentrantLock lost = observed.reentrantLock("job");
            fixed(lost, Duration.ofSeconds(3)).lock();
            clock.advanceMillis(3_000);
            await().until(() -> told.size() == 1);
            renewed.unlock();
            go.countDown();
            clients.remove(observed);
        }
    }

    @Test
    void futureThatItsUserEnds_whileItsAcquisitionIsBeingTold_givesItsLockBack() {
        LockListener busy = new LockListener() {
            @Override
            public void acquired(LockAcquired event) {
                block();
            }
        };
        try (RedisLocks observed = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(busy), clock)) {
            CompletableFuture<LockHandle> cancelled =
                    observed.reentrantLock("job").acquireAsync();
            CompletableFuture<LockHandle> late = observed.reentrantLock("late").acquireAsync();
            awaitBlocked(2);
            assertThat(cancelled.cancel(false)).isTrue();
            late.orTimeout(1, TimeUnit.MILLISECONDS);
            await().until(late::isDone);
            assertThat(late).isCompletedExceptionally();
            go.countDown();
            await().until(() -> server.hash(KEY).isEmpty()
                    && server.hash("redis-locks:{late}").isEmpty());
            await().until(() -> inside(observed).holds().count() == 0);
        }
    }

    /** The callback of the user runs before what the library made depend on its future. */
    @Test
    void futureThatItsUserEnds_whileItsOwnCallbackBlocks_leavesTheLine() {
        other.lock();
        CompletableFuture<LockHandle> future = locks.reentrantLock("job").acquireAsync();
        CompletableFuture<Integer> work =
                locks.reentrantLock("job").callWithHandleAsync(held -> CompletableFuture.completedFuture(1));
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        CompletableFuture<?> unused = future.whenComplete((held, e) -> block());
        CompletableFuture<?> unused2 = work.whenComplete((one, e) -> block());
        start(() -> future.cancel(false));
        start(() -> work.completeExceptionally(new IllegalStateException("of the test")));
        awaitBlocked(2);
        passUntil(() -> server.zset(KEY + ":queue").isEmpty());
        other.unlock();
    }

    /** How a lock comes to be held for three seconds, or until the client is closed. */
    private enum Way {
        LOCK {
            @Override
            void acquire(RedisLocks by) {
                fixed(by.reentrantLock("job"), Duration.ofSeconds(3)).lock();
            }
        },
        TRY_LOCK {
            @Override
            void acquire(RedisLocks by) throws InterruptedException {
                assertThat(fixed(by.reentrantLock("job"), Duration.ofSeconds(3)).tryLock(Duration.ZERO))
                        .isTrue();
            }
        },
        FAIR_LOCK {
            @Override
            void acquire(RedisLocks by) {
                fixed(by.reentrantLock("job", LockOptions.defaults().fair(true)), Duration.ofSeconds(3))
                        .lock();
            }
        },
        HANDLE {
            @Override
            void acquire(RedisLocks by) throws InterruptedException {
                by.reentrantLock("job", SHORT).acquire();
            }
        },
        ASYNC {
            @Override
            void acquire(RedisLocks by) {
                CompletableFuture<?> unused = by.reentrantLock("job", SHORT).acquireAsync();
            }
        },
        SEVERAL {
            @Override
            void acquire(RedisLocks by) throws InterruptedException {
                by.multiLock(List.of("job", "other"), SHORT).tryAcquire(Duration.ZERO);
            }
        },
        RESIDENT {
            @Override
            void acquire(RedisLocks by) {
                RedisReentrantLock kept =
                        by.reentrantLock("job", LockOptions.defaults().residency(Duration.ofMinutes(1)));
                kept.lock();
                kept.unlock();
                kept.lock();
            }
        };

        abstract void acquire(RedisLocks by) throws InterruptedException;
    }

    /** The first listener is still busy with the acquisition, of which the second has not been told. */
    @ParameterizedTest
    @EnumSource(Way.class)
    void loss_whileTheAcquisitionIsBeingTold_isToldAfterIt(Way way) {
        int acquisitions = way == Way.RESIDENT ? 2 : 1;
        List<String> told = new CopyOnWriteArrayList<>();
        LockListener slow = new LockListener() {
            @Override
            public void acquired(LockAcquired event) {
                if (event.lockName().equals("job") && blocked.incrementAndGet() == acquisitions) {
                    block();
                }
            }
        };
        LockListener second = new LockListener() {
            @Override
            public void acquired(LockAcquired event) {
                if (event.lockName().equals("job")) {
                    told.add("acquired " + event.token());
                }
            }

            @Override
            public void released(LockReleased event) {
                told.remove("acquired " + event.token());
            }

            @Override
            public void lost(LockLost loss) {
                if (loss.lockName().equals("job")) {
                    told.add("lost " + loss.token());
                }
            }
        };
        RedisLocks observed = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(slow, second), clock);
        start(() -> {
            try {
                way.acquire(observed);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        awaitBlocked(acquisitions + 1);
        if (way == Way.RESIDENT) {
            lose("job");
            clock.advanceMillis(10_100);
        } else {
            clock.advanceMillis(3_000);
        }
        await().until(() -> observed.heldNames().isEmpty());
        assertThat(told).isEmpty();
        go.countDown();
        await().until(() -> told.size() == 2);
        String token = told.get(0).replace("acquired ", "");
        assertThat(told).containsExactly("acquired " + token, "lost " + token);
        observed.close();
        assertThat(told).hasSize(2);
    }
}
