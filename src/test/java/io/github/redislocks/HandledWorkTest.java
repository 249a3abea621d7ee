package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.actions.HandledWork;
import io.github.redislocks.fixture.Moment;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Work that is given its handle, and whose end releases the lock. */
@Timeout(60)
class HandledWorkTest extends FakeTime {

    /** The caller may restore the interrupt and go on, so the exception has to say that the lock was lost. */
    @Test
    void work_thatThrowsAnInterruptAfterALoss_hasTheLossAsSuppressed() {
        // The release finds the loss. If the client found the loss before, the loss itself would interrupt the work.
        redis.hold(verb("renew"));
        Throwable thrown = catchThrowable(() -> locks.reentrantLock("job").runWithHandle(held -> {
            other.forceUnlock();
            throw new InterruptedException("of the work");
        }));
        assertThat(thrown).isInstanceOf(InterruptedException.class);
        assertThat(thrown.getSuppressed()).singleElement().isInstanceOf(LockLostException.class);
    }

    /** A failure that came through another stage has a wrapper, which get() strips. */
    @Test
    void stage_thatFailsInAWrapperAfterALoss_hasTheLossAsSuppressedOfItsCause() {
        CompletableFuture<Integer> work = locks.reentrantLock("job").callWithHandleAsync(held -> {
            other.forceUnlock();
            return CompletableFuture.<Integer>failedFuture(new IOException("of the work"))
                    .thenApply(value -> value);
        });
        whileTimePasses(() -> await().until(work::isDone));
        Throwable cause = catchThrowable(work::get).getCause();
        assertThat(cause).isInstanceOf(IOException.class);
        assertThat(cause.getSuppressed()).singleElement().isInstanceOf(LockLostException.class);
    }

    /** A thread that works under the lock until it is let go, interrupted or not. */
    private final class Worker extends Thread {

        private final HandleRun<LockHandle, InterruptedException> work;
        final AtomicReference<@Nullable LockHandle> handle = new AtomicReference<>();
        final AtomicReference<@Nullable Throwable> outcome = new AtomicReference<>();
        final AtomicBoolean interruptedAfter = new AtomicBoolean();

        Worker(HandleRun<LockHandle, InterruptedException> work) {
            this.work = work;
        }

        @Override
        public void run() {
            try {
                locks.reentrantLock("job").runWithHandle(held -> {
                    handle.set(held);
                    work.run(held);
                });
            } catch (Throwable e) {
                outcome.set(e);
            }
            interruptedAfter.set(Thread.interrupted());
        }

        Worker begun() {
            start();
            await().until(() -> handle.get() != null);
            return this;
        }

        void ended() {
            whileTimePasses(() -> await().until(() -> !isAlive()));
        }
    }

    /** Waits without noticing interrupts, for a bounded time. */
    private static void awaitUnnoticing(BooleanSupplier condition) {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("the time is over").isLessThan(until);
            Moment.pass();
        }
    }

    /** Waits for what never comes. */
    private static void sleepForEver(LockHandle held) throws InterruptedException {
        new CountDownLatch(1).await();
    }

    private void assertFree() {
        passUntil(() -> server.hash(KEY).isEmpty());
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void callWithHandle_returnsWhatTheActionReturns_andReleases() throws InterruptedException {
        long token = locks.reentrantLock("job").callWithHandle(held -> {
            assertThat(held.name()).isEqualTo("job");
            assertThat(server.hash(KEY)).containsEntry("owner", held.owner());
            return held.fencingToken();
        });
        assertThat(token).isPositive();
        assertFree();
    }

    @Test
    void callWithHandle_ofAnActionThatThrows_throwsThat_andReleases() {
        HandleCall<LockHandle, String, IOException> action = held -> {
            throw new IOException("disk");
        };
        assertThatThrownBy(() -> locks.reentrantLock("job").callWithHandle(action))
                .isInstanceOf(IOException.class)
                .hasMessage("disk")
                .hasNoSuppressedExceptions();
        assertFree();
    }

    @Test
    void runWithHandle_whoseLockIsLost_throwsTheLoss() {
        assertThatThrownBy(() -> locks.reentrantLock("job").runWithHandle(held -> other.forceUnlock()))
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.TAKEN));
    }

    @Test
    void runWithHandle_whoseActionThrowsAfterALoss_throwsBoth() {
        HandleRun<LockHandle, IOException> action = held -> {
            other.forceUnlock();
            throw new IOException("disk");
        };
        assertThatThrownBy(() -> locks.reentrantLock("job").runWithHandle(action))
                .isInstanceOf(IOException.class)
                .satisfies(e -> assertThat(e.getSuppressed()).hasExactlyElementsOfTypes(LockLostException.class));
    }

    @Test
    void loss_interruptsTheAction_andIsThrown() {
        Worker worker = new Worker(HandledWorkTest::sleepForEver).begun();
        redis.down(true);
        pass(31_000);
        worker.ended();
        assertThat(worker.outcome.get()).isInstanceOfSatisfying(LockLostException.class, e -> {
            assertThat(e.reason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
            assertThat(e.getSuppressed()).hasExactlyElementsOfTypes(InterruptedException.class);
        });
        assertThat(worker.interruptedAfter).isFalse();
    }

    @Test
    void loss_whoseInterruptTheActionIgnores_leavesNoInterrupt() {
        CountDownLatch seen = new CountDownLatch(1);
        Worker worker = new Worker(held -> {
                    awaitUnnoticing(() -> Thread.currentThread().isInterrupted());
                    seen.countDown();
                })
                .begun();
        await().until(() -> inside.mailbox().isOpen());
        other.forceUnlock();
        passUntil(() -> seen.getCount() == 0);
        worker.ended();
        assertThat(worker.outcome.get()).isInstanceOf(LockLostException.class).hasNoSuppressedExceptions();
        assertThat(worker.interruptedAfter).isFalse();
    }

    @Test
    void interruptByAnother_beforeALoss_isKept() {
        CountDownLatch go = new CountDownLatch(1);
        Worker worker = new Worker(held -> awaitUnnoticing(() -> go.getCount() == 0)).begun();
        worker.interrupt();
        redis.down(true);
        LockHandle held = worker.handle.get();
        assertThat(held).isNotNull();
        pass(31_000);
        await().until(() -> held.lost().toCompletableFuture().isDone());
        go.countDown();
        worker.ended();
        assertThat(worker.interruptedAfter).isTrue();
    }

    @Test
    void interruptByAnother_ofTheAction_isThrownAsSuch() {
        Worker worker = new Worker(HandledWorkTest::sleepForEver).begun();
        worker.interrupt();
        worker.ended();
        assertThat(worker.outcome.get()).isInstanceOf(InterruptedException.class);
        assertFree();
    }

    @Test
    void callWithHandleAsync_releasesWhenTheStageEnds() {
        CompletableFuture<String> stage = new CompletableFuture<>();
        AtomicReference<@Nullable LockHandle> handle = new AtomicReference<>();
        CompletableFuture<String> result = locks.reentrantLock("job").callWithHandleAsync(held -> {
            handle.set(held);
            return stage;
        });
        passUntil(() -> handle.get() != null);
        pass(60_000);
        LockHandle held = handle.get();
        assertThat(held).isNotNull();
        held.ensureHeld();
        assertThat(result).isNotDone();
        stage.complete("done");
        whileTimePasses(() -> assertThat(result.join()).isEqualTo("done"));
        assertThat(server.hash(KEY)).as("before the result completes").isEmpty();
        assertFree();
    }

    @Test
    void callWithHandleAsync_ofAStageThatFails_failsAndReleases() {
        CompletableFuture<String> result = locks.reentrantLock("job")
                .callWithHandleAsync(held -> CompletableFuture.failedFuture(new IOException("disk")));
        whileTimePasses(() -> assertThatThrownBy(result::join).hasCauseInstanceOf(IOException.class));
        assertFree();
    }

    @Test
    void callWithHandleAsync_ofAnActionThatThrows_failsAndReleases() {
        CompletableFuture<String> result = locks.reentrantLock("job").callWithHandleAsync(held -> {
            throw new IllegalStateException("no report today");
        });
        whileTimePasses(() -> assertThatThrownBy(result::join).hasRootCauseMessage("no report today"));
        assertFree();
    }

    @Test
    @SuppressWarnings("NullAway") // A caller may err.
    void callWithHandleAsync_ofAnActionWithoutAStage_failsAndReleases() {
        CompletableFuture<String> result = locks.reentrantLock("job").callWithHandleAsync(held -> null);
        whileTimePasses(() -> assertThatThrownBy(result::join)
                .hasRootCauseMessage("The action under the lock returned no" + " stage: null"));
        assertFree();
    }

    @Test
    void callWithHandleAsync_whoseLockIsLost_failsWithTheLoss() {
        CompletableFuture<String> result = locks.reentrantLock("job").callWithHandleAsync(held -> {
            other.forceUnlock();
            return CompletableFuture.completedFuture("done");
        });
        whileTimePasses(() -> assertThatThrownBy(result::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(LockLostException.class));
    }

    @Test
    void callWithHandleAsync_whoseLockIsLostWhileItsStageFails_failsWithBoth() {
        CompletableFuture<String> result = locks.reentrantLock("job").callWithHandleAsync(held -> {
            other.forceUnlock();
            return CompletableFuture.failedFuture(new IOException("disk"));
        });
        whileTimePasses(() -> assertThatThrownBy(result::join)
                .cause()
                .isInstanceOf(IOException.class)
                .satisfies(e -> assertThat(e.getSuppressed()).hasExactlyElementsOfTypes(LockLostException.class)));
    }

    @Test
    void callWithHandleAsync_whoseActionReleasesTheLock_isNoLoss() {
        CompletableFuture<Boolean> result = locks.reentrantLock("job").callWithHandleAsync(LockHandle::releaseAsync);
        whileTimePasses(() -> assertThat(result.join()).isTrue());
        assertFree();
    }

    @Test
    void callWithHandleAsync_cancelledWhileItWaits_leavesNothing_andDoesNotRun() {
        other.lock();
        AtomicBoolean ran = new AtomicBoolean();
        CompletableFuture<String> result = locks.reentrantLock("job").callWithHandleAsync(held -> {
            ran.set(true);
            return CompletableFuture.completedFuture("done");
        });
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        result.cancel(true);
        passUntil(() -> server.zset(KEY + ":queue").isEmpty());
        other.unlock();
        assertFree();
        assertThatThrownBy(result::join).isInstanceOf(CancellationException.class);
        assertThat(ran).isFalse();
    }

    @Test
    void callWithHandleAsync_timedOutWhileItWorks_releasesWhenTheWorkEnds() {
        CompletableFuture<String> stage = new CompletableFuture<>();
        AtomicReference<@Nullable LockHandle> handle = new AtomicReference<>();
        CompletableFuture<String> result = locks.reentrantLock("job")
                .callWithHandleAsync(held -> {
                    handle.set(held);
                    return stage;
                })
                .orTimeout(1, TimeUnit.MILLISECONDS);
        passUntil(() -> handle.get() != null || result.isDone());
        await().until(result::isDone);
        LockHandle held = handle.get();
        if (held != null) {
            assertThat(held.isHeld()).isTrue();
        }
        stage.complete("late");
        assertFree();
    }

    @Test
    void callWithHandleAsync_behindAnother_runsInItsTurn() throws InterruptedException {
        LockHandle first = locks.reentrantLock("job").acquire();
        CompletableFuture<Long> result = locks.reentrantLock("job")
                .callWithHandleAsync(held -> CompletableFuture.completedFuture(held.fencingToken()));
        pass(Duration.ofSeconds(5).toMillis());
        assertThat(result).isNotDone();
        long token = first.fencingToken();
        first.close();
        whileTimePasses(() -> assertThat(result.join()).isGreaterThan(token));
        assertFree();
    }

    @Test
    void loss_interruptingAnActionThatClosesItsHandle_isThrown() {
        Worker worker = new Worker(held -> {
                    try (held) {
                        sleepForEver(held);
                    }
                })
                .begun();
        redis.down(true);
        pass(31_000);
        worker.ended();
        assertThat(worker.outcome.get())
                .isInstanceOfSatisfying(
                        LockLostException.class,
                        e -> assertThat(e.getSuppressed()).hasExactlyElementsOfTypes(InterruptedException.class));
        assertThat(worker.interruptedAfter).isFalse();
    }

    @Test
    void callWithHandle_ofAnActionThatReleasesALostLock_throwsTheLoss() {
        assertThatThrownBy(() -> locks.reentrantLock("job").callWithHandle(held -> {
                    other.forceUnlock();
                    pass(10_000);
                    return held.release();
                }))
                .isInstanceOf(LockLostException.class);
    }

    /** A handle of the lock whose method throws an error at its first call. */
    private LockHandle failingAt(String method, LockHandle real) {
        AtomicBoolean failed = new AtomicBoolean();
        return (LockHandle) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockHandle.class}, (proxy, called, args) -> {
                    if (called.getName().equals(method) && failed.compareAndSet(false, true)) {
                        throw new StackOverflowError("of the test");
                    }
                    return called.invoke(real, args);
                });
    }

    /** As one that completes its stage where its stack has no room. */
    @Test
    void callWithHandleAsync_whoseReleaseMeetsAnError_releasesAllTheSame() throws InterruptedException {
        LockHandle handle = failingAt("releaseAsync", locks.reentrantLock("job").acquire());
        CompletableFuture<String> result = HandledWork.start(
                CompletableFuture.completedFuture(handle), held -> CompletableFuture.completedFuture("done"));
        whileTimePasses(() -> await().until(result::isDone));
        assertThat(result.join()).isEqualTo("done");
        assertFree();
    }

    @Test
    void callWithHandleAsync_whoseResultMeetsAnError_failsAndReleases() throws InterruptedException {
        LockHandle handle = failingAt("ensureHeld", locks.reentrantLock("job").acquire());
        CompletableFuture<Boolean> result = HandledWork.start(
                // The work releases the lock, so that the end of the work asks how the lock was lost.
                CompletableFuture.completedFuture(handle), LockHandle::releaseAsync);
        whileTimePasses(() -> await().until(result::isDone));
        assertThatThrownBy(result::join).hasCauseInstanceOf(StackOverflowError.class);
        assertFree();
    }

    @Test
    void callWithHandleAsync_cancelledAtItsGrant_whoseReleaseMeetsAnError_releasesAllTheSame()
            throws InterruptedException {
        LockHandle handle = failingAt("releaseAsync", locks.reentrantLock("job").acquire());
        CompletableFuture<LockHandle> acquired = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterruptIfRunning) {
                return false; // The lock was granted just before.
            }
        };
        CompletableFuture<String> result =
                HandledWork.start(acquired, held -> CompletableFuture.completedFuture("done"));
        result.cancel(false);
        acquired.complete(handle);
        assertFree();
        assertThat(result).isCancelled();
    }

    /** Nobody would release the lock. */
    @Test
    void callWithHandleAsync_thatCannotFollowItsAcquisition_cancelsIt() {
        CompletableFuture<LockHandle> deaf = new CompletableFuture<>() {
            @Override
            public CompletableFuture<LockHandle> whenComplete(
                    BiConsumer<? super LockHandle, ? super Throwable> action) {
                throw new OutOfMemoryError("of the test");
            }
        };
        assertThatThrownBy(() -> HandledWork.start(deaf, held -> CompletableFuture.completedFuture("done")))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(deaf).isCancelled();
    }

    @Test
    void callWithHandleAsync_ofAStageThatTakesNoDependents_failsAndReleases() {
        CompletionStage<String> deaf = new CompletableFuture<>() {
            @Override
            public CompletableFuture<String> whenComplete(BiConsumer<? super String, ? super Throwable> action) {
                throw new UnsupportedOperationException("of the test");
            }
        };
        CompletableFuture<String> result = locks.reentrantLock("job").callWithHandleAsync(held -> deaf);
        whileTimePasses(() -> await().until(result::isDone));
        assertThatThrownBy(result::join).hasCauseInstanceOf(UnsupportedOperationException.class);
        assertFree();
    }
}
