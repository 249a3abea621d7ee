package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.engine.Sync;
import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.handles.AcquireFuture;
import io.github.redislocks.handles.RedisLockHandle;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Acquisitions for which no thread waits. */
class AsyncHandleTest extends FakeTime {

    /** The start of the name of the thread that goes on with acquisitions. */
    private static final String ASYNC = "redis-locks-async";

    private CompletableFuture<LockHandle> acquire() {
        return locks.reentrantLock("job").acquireAsync();
    }

    private LockHandle held(CompletableFuture<LockHandle> future) {
        whileTimePasses(() -> await().until(future::isDone));
        return future.join();
    }

    /** Nothing of the client's is left but last tokens. */
    private void assertNothingLeft() {
        await().pollInterval(Duration.ofMillis(1)).until(() -> inside.attempts().isEmpty());
        passUntil(
                () -> server.zset(KEY + ":queue").isEmpty() && server.hash(KEY).isEmpty());
        assertThat(server.hash(KEY + ":waiters")).isEmpty();
        assertThat(inside.localQueue().size()).isZero();
        assertThat(inside.holds().all()).isEmpty();
    }

    /** As with a full heap. */
    @Test
    void acquireAsync_whoseResultCannotBeMade_throwsAndLeavesNothing() {
        Sync sync = locks.client().lock("job", false);
        OutOfMemoryError full = new OutOfMemoryError("of the test");
        AcquireFuture<LockHandle, LockHandle> failing = new AcquireFuture<>(
                handle -> {
                    throw full;
                },
                null);
        RedisLockHandle handle = new RedisLockHandle(locks.client(), sync);
        assertThatThrownBy(() -> handle.acquireAsync(WaitLimit.endless(), failing))
                .isSameAs(full);
        assertNothingLeft();
    }

    /** A thread factory of the user leaves the interrupt flag of the thread that goes on with acquisitions. */
    @Test
    void timedTry_ofAnInterruptedThread_endsByItsTime() {
        RedisLocks interrupting = RedisLocks.builder()
                .threadFactory(work -> {
                    if (Thread.currentThread().getName().startsWith(ASYNC)) {
                        Thread.currentThread().interrupt();
                    }
                    return new Thread(work);
                })
                .build(server.another(), clock);
        clients.add(interrupting);
        CompletableFuture<LockHandle> first = interrupting.reentrantLock("free").acquireAsync();
        other.lock();
        CompletableFuture<Optional<LockHandle>> second =
                interrupting.reentrantLock("job").tryAcquireAsync(Duration.ofSeconds(2));
        passUntilDone(first);
        passUntilDone(second);
        assertThat(second.join()).isEmpty();
        other.unlock();
        clients.remove(interrupting);
        whileTimePasses(() -> true, interrupting::close);
    }

    @Test
    void acquireAsync_ofAFreeLock_hasIt() {
        LockHandle handle = held(acquire());
        assertThat(handle.isHeld()).isTrue();
        assertThat(server.hash(KEY)).containsEntry("owner", handle.owner());
        pass(60_000);
        handle.ensureHeld();
        handle.close();
        assertNothingLeft();
    }

    @Test
    void acquireAsync_behindAnotherClient_isGrantedByItsRelease() {
        other.lock();
        CompletableFuture<LockHandle> future = acquire();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        assertThat(future).isNotDone();
        pass(20_000);
        other.unlock();
        LockHandle handle = held(future);
        handle.ensureHeld();
        pass(60_000);
        handle.ensureHeld();
        handle.close();
        assertNothingLeft();
    }

    @Test
    void acquisitions_ofOneClient_areServedInOrder_byOnePlaceInRedis() {
        other.lock();
        List<Integer> served = new CopyOnWriteArrayList<>();
        List<CompletableFuture<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int number = i;
            all.add(acquire().thenCompose(handle -> {
                served.add(number);
                return handle.releaseAsync();
            }));
        }
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        other.unlock();
        whileTimePasses(() -> await().until(() -> all.stream().allMatch(CompletableFuture::isDone)));
        assertThat(served).isSorted().hasSize(20);
        assertThat(all).allMatch(CompletableFuture::join);
        assertNothingLeft();
    }

    @Test
    void acquireAsync_behindAThreadOfItsClient_isNext() {
        lock.lock();
        CompletableFuture<LockHandle> future = acquire();
        assertThat(lock.hasQueuedThreads()).as("no thread waits").isFalse();
        lock.unlock();
        held(future).close();
        assertNothingLeft();
    }

    @Test
    void thread_behindAHandleThatIsReleasedLater_isNext() throws InterruptedException {
        LockHandle handle = held(acquire());
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> lock.hasQueuedThread(waiter) && clock.isParked(waiter));
        CompletableFuture<Boolean> released = handle.releaseAsync().toCompletableFuture();
        passUntil(waiter::holds);
        assertThat(released.join()).isTrue();
        waiter.end();
        assertNothingLeft();
    }

    @Test
    void fairAcquisitions_areServedInTheOrderOfAllClients() {
        other.lock();
        LockOptions fair = LockOptions.defaults().fair(true);
        List<String> served = new CopyOnWriteArrayList<>();
        List<CompletableFuture<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            String name = "n" + i;
            RedisLocks client = i % 2 == 0 ? locks : others;
            all.add(client.reentrantLock("job", fair).acquireAsync().thenCompose(handle -> {
                served.add(name);
                return handle.releaseAsync();
            }));
            int places = i + 1;
            passUntil(() -> server.zset(KEY + ":queue").size() == places);
        }
        other.unlock();
        whileTimePasses(() -> await().until(() -> all.stream().allMatch(CompletableFuture::isDone)));
        assertThat(served).containsExactly("n0", "n1", "n2", "n3", "n4", "n5");
    }

    @Test
    void cancel_inLine_leavesNothing() {
        other.lock();
        CompletableFuture<LockHandle> future = acquire();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        assertThat(future.cancel(true)).isTrue();
        passUntil(() -> server.zset(KEY + ":queue").isEmpty());
        other.unlock();
        assertNothingLeft();
    }

    @Test
    void cancel_ofTheFirstOfSeveral_passesItsPlaceOn() {
        other.lock();
        CompletableFuture<LockHandle> first = acquire();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        CompletableFuture<LockHandle> second = acquire();
        CompletableFuture<LockHandle> third = acquire();
        second.cancel(true);
        first.cancel(true);
        pass(100);
        other.unlock();
        held(third).close();
        assertNothingLeft();
    }

    @Test
    void orTimeout_isACancel() {
        other.lock();
        CompletableFuture<LockHandle> future = acquire().orTimeout(1, TimeUnit.MILLISECONDS);
        assertThatThrownBy(future::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(TimeoutException.class);
        passUntil(() -> server.zset(KEY + ":queue").isEmpty());
        other.unlock();
        assertNothingLeft();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void completeAsync_isACancel(boolean succeeds) {
        other.lock();
        CompletableFuture<LockHandle> future = acquire();
        CompletableFuture<Integer> work =
                locks.reentrantLock("job").callWithHandleAsync(held -> CompletableFuture.completedFuture(1));
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        future.completeAsync(() -> end(succeeds, null));
        work.completeAsync(() -> end(succeeds, 2));
        passUntil(() -> server.zset(KEY + ":queue").isEmpty());
        assertThat(future.isCompletedExceptionally()).isEqualTo(!succeeds);
        other.unlock();
        assertNothingLeft();
    }

    /** The call throws, so the future goes on. */
    @Test
    void completeExceptionally_withNothing_endsNothing() {
        other.lock();
        CompletableFuture<LockHandle> future = acquire();
        assertThatThrownBy(() -> future.completeExceptionally(null)).isInstanceOf(NullPointerException.class);
        other.unlock();
        passUntilDone(future);
        future.join().close();
        assertNothingLeft();
    }

    private static <T> T end(boolean succeeds, T value) {
        if (succeeds) {
            return value;
        }
        throw new IllegalStateException("of the test");
    }

    @Test
    void completeOnTimeout_isACancel() {
        other.lock();
        CompletableFuture<LockHandle> future = acquire();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        assertThat(future.complete(null)).isTrue();
        passUntil(() -> server.zset(KEY + ":queue").isEmpty());
        other.unlock();
        assertNothingLeft();
    }

    /** As all that users are told: not by the threads that send renewals. */
    @Test
    void listener_thatBlocks_delaysNoRenewal() throws InterruptedException {
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch blocked = new CountDownLatch(1);
        LockListener slow = new LockListener() {
            @Override
            public void released(LockReleased event) {
                blocked.countDown();
                try {
                    go.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        };
        InMemoryRedis port = server.another();
        RedisLocks client = RedisLocks.on(port, options(), List.of(slow), clock);
        clients.add(client);
        try {
            RedisReentrantLock kept = client.reentrantLock("kept");
            kept.lock();
            CompletableFuture<LockHandle> future = client.reentrantLock("job").acquireAsync();
            LockHandle handle = held(future);
            CompletableFuture<Boolean> released = handle.releaseAsync().toCompletableFuture();
            whileTimePasses(() -> await().until(() -> blocked.getCount() == 0));
            // Not pass(), which waits for the thread that is blocked.
            for (int i = 1; i <= 4; i++) {
                int renewals = i;
                clock.advanceMillis(10_100);
                await().until(() -> port.log().count("renew", "renew_all") >= renewals);
            }
            kept.ensureHeld();
            assertThat(released).isNotDone();
            go.countDown();
            whileTimePasses(() -> await().until(released::isDone));
            whileTimePasses(kept::unlock);
        } finally {
            go.countDown();
            whileTimePasses(client::close);
        }
    }

    /** The library cannot tell when it is cancelled: with the grant, before or behind it. */
    @Test
    void cancel_thatRacesTheGrant_leavesNothing() {
        for (int i = 0; i < 100; i++) {
            other.lock();
            CompletableFuture<LockHandle> future = acquire();
            passUntil(() -> server.zset(KEY + ":queue").size() == 1);
            Thread canceller = new Thread(() -> future.cancel(true));
            canceller.start();
            other.unlock();
            whileTimePasses(() -> {
                try {
                    canceller.join();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            if (!future.isCancelled()) {
                future.join().close();
            }
            assertNothingLeft();
        }
    }

    @Test
    void close_ofTheClient_failsWhatWaits() {
        other.lock();
        CompletableFuture<LockHandle> inLine = acquire();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        CompletableFuture<LockHandle> behind = acquire();
        whileTimePasses(locks::close);
        for (CompletableFuture<LockHandle> each : List.of(inLine, behind)) {
            assertThatThrownBy(each::join).hasCauseInstanceOf(IllegalStateException.class);
        }
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        assertThatThrownBy(this::acquire).isInstanceOf(IllegalStateException.class);
        other.unlock();
    }

    @Test
    void redisAway_forLong_failsAsLockDoes() {
        redis.down(true);
        CompletableFuture<LockHandle> future = acquire();
        pass(5_000);
        assertThat(future).isNotDone();
        pass(4_900);
        passUntilDone(future);
        assertThatThrownBy(future::join).hasCauseInstanceOf(LockUnavailableException.class);
        redis.down(false);
        assertNothingLeft();
    }

    @Test
    void redisAway_forAWhile_isWaitedFor() {
        redis.down(true);
        CompletableFuture<LockHandle> future = acquire();
        pass(3_000);
        redis.down(false);
        passUntilDone(future);
        future.join().close();
        assertNothingLeft();
    }

    @Test
    void manyPending_needFewThreads() {
        other.lock();
        List<CompletableFuture<LockHandle>> all = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            all.add(acquire());
        }
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        String client = locks.clientId().replaceFirst(".*:", "");
        Set<String> threads = Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("redis-locks-") && name.endsWith(client))
                .collect(Collectors.toSet());
        assertThat(threads).hasSizeBetween(1, 4);
        all.forEach(each -> each.cancel(true));
        passUntil(() -> server.zset(KEY + ":queue").isEmpty());
        other.unlock();
        assertNothingLeft();
    }

    @Test
    void cancelled_saysSo() {
        other.lock();
        CompletableFuture<LockHandle> future = acquire();
        future.cancel(true);
        assertThatThrownBy(future::join).isInstanceOf(CancellationException.class);
        pass(Duration.ofSeconds(1).toMillis());
        other.unlock();
        assertNothingLeft();
    }

    /** A cancelled acquisition is not kept until the time of its next request. */
    @Test
    void acquisition_thatIsCancelledInAGrace_isNotKeptInMemory() {
        inside.epoch().next(clock.nanoTime() + TimeUnit.HOURS.toNanos(1));
        WeakReference<CompletableFuture<LockHandle>> cancelled = cancelled();
        await().until(() -> {
            System.gc();
            return cancelled.refersTo(null);
        });
    }

    private WeakReference<CompletableFuture<LockHandle>> cancelled() {
        CompletableFuture<LockHandle> future = acquire();
        Thread async = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("redis-locks-async")
                        && thread.getName()
                                .endsWith(locks.clientId()
                                        .substring(locks.clientId().lastIndexOf(':') + 1)))
                .findFirst()
                .orElseThrow();
        await().until(() -> clock.isParked(async) && clock.wakeOf(async) != Long.MAX_VALUE);
        future.cancel(true);
        await().until(() -> inside.async().count() == 0);
        return new WeakReference<>(future);
    }

    @Test
    void acquireAsync_refused_fails() {
        redis.failNext(1, verb("take"), Fault.refused("NOPERM of the test"));
        CompletableFuture<LockHandle> future = acquire();
        passUntilDone(future);
        assertThatThrownBy(future::join)
                .cause()
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.REFUSED);
        assertNothingLeft();
    }

    @Test
    void acquireAsync_answeredAfterItsLeaseHasEnded_asksAgain() {
        AtomicBoolean stalls = new AtomicBoolean(true);
        ForwardingRedis stalling = new ForwardingRedis(server.another()) {
            @Override
            public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
                List<Outcome> outcomes = super.runAll(calls, timeoutNanos);
                if (calls.stream().anyMatch(verb("take")) && stalls.getAndSet(false)) {
                    clock.advanceMillis(30_001);
                }
                return outcomes;
            }
        };
        RedisLocks third = RedisLocks.on(stalling, Settings.DEFAULTS, LossListener.to(losses::add), clock);
        clients.add(third);
        CompletableFuture<LockHandle> future = third.reentrantLock("job").acquireAsync();
        passUntilDone(future);
        LockHandle handle = future.join();
        assertThat(stalls).isFalse();
        assertThat(handle.isHeld()).isTrue();
        assertThat(server.hash(KEY)).containsEntry("token", Long.toString(handle.fencingToken()));
        handle.close();
        assertThat(losses).isEmpty();
        whileTimePasses(() -> true, third::close);
        clients.remove(third);
    }

    @Test
    void cancel_whileItsRequestIsUnderWay_leavesNothing() {
        HeldCalls held = redis.hold(verb("take")).whateverTheirTimeouts();
        CompletableFuture<LockHandle> future = acquire();
        held.awaitParked(1, Duration.ofSeconds(20));
        assertThat(future.cancel(true)).isTrue();
        held.release();
        assertNothingLeft();
    }

    @Test
    void cancel_withTheGrantUnheard_leavesNothing() {
        other.lock();
        CompletableFuture<LockHandle> future = acquire();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        redis.holdMessages();
        other.unlock();
        assertThat(server.hash(KEY)).as("the waiter is granted the lock").isNotEmpty();
        assertThat(future.cancel(true)).isTrue();
        redis.deliverMessages();
        assertNothingLeft();
    }

    /** The clock stands still: there is no pause. */
    @Test
    void acquireAsync_ofABusyLock_takesItsPlaceAtOnce_ifTheClientIsSubscribed() {
        inside.mailbox().open(TimeUnit.SECONDS.toNanos(20));
        other.lock();
        CompletableFuture<LockHandle> future = acquire();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        other.unlock();
        await().until(future::isDone);
        future.join().close();
    }

    @Test
    void acquireAsync_afterOneWithoutAThread_hasTheLock() {
        AtomicInteger starts = new AtomicInteger();
        RedisLocks scarce = RedisLocks.builder()
                .threadFactory(work -> new Thread(work) {
                    @Override
                    public synchronized void start() {
                        if (getName().startsWith(ASYNC) && starts.getAndIncrement() == 0) {
                            throw new OutOfMemoryError("of the test");
                        }
                        super.start();
                    }
                })
                .build(server.another(), clock);
        clients.add(scarce);
        assertThatThrownBy(() -> scarce.reentrantLock("job").acquireAsync()).isInstanceOf(OutOfMemoryError.class);
        CompletableFuture<LockHandle> next = scarce.reentrantLock("job").acquireAsync();
        passUntilDone(next);
        assertThat(next.join().isHeld()).isTrue();
        next.join().close();
        clients.remove(scarce);
        whileTimePasses(() -> true, scarce::close);
    }

    /** A cancellation is news as well, and comes before the thread of acquisitions has seen the first. */
    @Test
    void releaseAsync_sentTwice_isNoLoss() throws Exception {
        LockHandle handle = locks.reentrantLock("job").acquire();
        redis.failNext(1, verb("release"), Fault.SENT_TWICE);
        CompletableFuture<Boolean> released = handle.releaseAsync().toCompletableFuture();
        assertThat(released.get(20, TimeUnit.SECONDS)).isTrue();
        assertThat(losses).isEmpty();
    }

    @Test
    void releaseAsync_unansweredBeyondTheDeadline_isALossThatIsReportedOnce() throws Exception {
        LockHandle handle = locks.reentrantLock("job", LockOptions.defaults().fixedLease(Duration.ofSeconds(3)))
                .acquire();
        pass(2_950);
        redis.failNext(1, verb("release"), Fault.REQUEST_LOST);
        HeldCalls held = redis.hold(verb("release"));
        CompletableFuture<Boolean> released = handle.releaseAsync().toCompletableFuture();
        held.awaitParked(1, Duration.ofSeconds(20));
        clock.advanceMillis(30);
        held.release();
        passUntilDone(released);
        assertThat(released.join()).isFalse();
        pass(3_000);
        assertThat(losses).hasSize(1);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void cancel_beforeItsThreadRuns_leavesTheNextInLine() {
        CountDownLatch mayRun = new CountDownLatch(1);
        RedisLocks slow = RedisLocks.builder()
                .threadFactory(work -> new Thread(work) {
                    @Override
                    public void run() {
                        if (getName().startsWith(ASYNC)) {
                            awaitUninterruptibly(mayRun);
                        }
                        super.run();
                    }
                })
                .build(server.another(), clock);
        CompletableFuture<LockHandle> first = slow.reentrantLock("job").acquireAsync();
        CompletableFuture<LockHandle> next = slow.reentrantLock("job").acquireAsync();
        first.cancel(true);
        mayRun.countDown();
        clients.add(slow);
        passUntilDone(next);
        assertThat(next.join().isHeld()).isTrue();
        next.join().close();
        clients.remove(slow);
        whileTimePasses(() -> true, slow::close);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
