package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class OneThreadExecutorTest {

    private static final int MOST = 1_000;

    private final OneThreadExecutor executor =
            new OneThreadExecutor(MOST, 60, work -> Threads.daemon("test-one", work));
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private final CountDownLatch gate = new CountDownLatch(1);
    private final AtomicInteger done = new AtomicInteger();

    @AfterEach
    void close() {
        gate.countDown();
        executor.shutdownNow();
    }

    private void note() {
        threads.add(Thread.currentThread());
        done.incrementAndGet();
    }

    private void waitAndNote() {
        Uninterruptibles.until(
                System.nanoTime() + TimeUnit.SECONDS.toNanos(30), nanos -> gate.await(nanos, TimeUnit.NANOSECONDS));
        note();
    }

    @Test
    void execute_oneAfterTheOther_usesOneThread() {
        for (int i = 1; i <= 20; i++) {
            int number = i;
            executor.execute(this::note);
            await().until(() -> done.get() == number);
        }
        assertThat(threads).hasSize(1);
    }

    @Test
    void execute_ofManyAtOnce_usesOneThread() {
        for (int i = 0; i < 10; i++) {
            executor.execute(this::waitAndNote);
        }
        assertThat(done).hasValue(0);
        gate.countDown();
        await().until(() -> done.get() == 10);
        assertThat(threads).hasSize(1);
    }

    /** The ways in which a factory of the user gives no thread. */
    enum Scarcity implements ThreadFactory {
        ERROR {
            @Override
            public Thread newThread(Runnable task) {
                throw new OutOfMemoryError("of the test");
            }
        },
        EXCEPTION {
            @Override
            public Thread newThread(Runnable task) {
                throw new IllegalStateException("of the test");
            }
        },
        NO_THREAD {
            @Override
            public Thread newThread(Runnable task) {
                return null;
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void revive_afterTheThreadDied_runsTheWaitingTasks(Scarcity scarcity) {
        AtomicBoolean scarce = new AtomicBoolean();
        ThreadFactory daemons = work -> Threads.daemon("test-one", work);
        ThreadFactory users = task -> (scarce.get() ? scarcity : daemons).newThread(task);
        OneThreadExecutor one =
                new OneThreadExecutor(MOST, 60, Threads.of(users, "test").factory("one"));
        one.execute(this::waitAndNote);
        // Added to the queue itself, since the thread survives the errors of tasks.
        one.getQueue().add(() -> {
            throw new OutOfMemoryError("of the test");
        });
        one.execute(this::note);
        scarce.set(true);
        gate.countDown();
        await().until(() -> one.getPoolSize() == 0);
        one.revive();
        assertThat(done).hasValue(1);
        scarce.set(false);
        one.revive();
        await().until(() -> done.get() == 2);
        one.shutdownNow();
    }

    @Test
    void execute_ofATaskThatThrows_leavesTheThreadForTheNext() {
        executor.execute(() -> {
            note();
            throw new OutOfMemoryError("of the test");
        });
        executor.execute(this::note);
        await().until(() -> done.get() == 2);
        assertThat(threads).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource
    void execute_whileNoThreadCanBeStarted_isRefusedWithTheCause(Scarcity scarcity) {
        OneThreadExecutor one =
                new OneThreadExecutor(MOST, 60, Threads.of(scarcity, "test").factory("one"));
        assertThatThrownBy(() -> one.execute(this::note))
                .isInstanceOf(RejectedExecutionException.class)
                .hasCauseInstanceOf(scarcity == Scarcity.ERROR ? OutOfMemoryError.class : IllegalStateException.class);
        one.shutdownNow();
    }

    @Test
    void execute_beyondTheBound_isRefused_andWorksAgainLater() {
        executor.execute(this::waitAndNote);
        await().until(() -> executor.getQueue().isEmpty());
        for (int i = 0; i < MOST; i++) {
            executor.execute(this::note);
        }
        assertThatThrownBy(() -> executor.execute(this::note))
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("too many calls wait");
        gate.countDown();
        await().until(() -> done.get() == MOST + 1);
        executor.execute(this::note);
        await().until(() -> done.get() == MOST + 2);
    }

    @Test
    void shutdown_withWaitingTasks_runsThem_andRefusesFurtherTasks() {
        for (int i = 0; i < 10; i++) {
            executor.execute(this::waitAndNote);
        }
        executor.shutdown();
        assertThatThrownBy(() -> executor.execute(this::note))
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("closed");
        gate.countDown();
        await().until(() -> done.get() == 10);
    }

    @Test
    void execute_afterTheThreadHasStopped_runsTheTask() {
        executor.setKeepAliveTime(1, TimeUnit.MILLISECONDS);
        for (int i = 1; i <= 50; i++) {
            int number = i;
            executor.execute(this::note);
            await().until(() -> done.get() == number && executor.getPoolSize() == 0);
        }
    }
}
