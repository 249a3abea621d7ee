package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A call that meets errors at any point of its way leaves nothing. */
@Timeout(60)
class ErrorAnywhereTest extends ErrorsAnywhere {

    private static final List<String> NAMES = List.of("job", "job2", "job3");

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void lockAndUnlock_withErrors_leaveNothing(int count) {
        withErrorsAnywhere(count, () -> {
            locks();
            lock.unlock();
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void timedTry_withErrors_leavesNothing(int count) {
        triesInVain(count);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void await_withErrors_leavesNothing(int count) {
        awaitsInVain(count);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void acquireAsync_errorsInTheCaller(int count) {
        withErrorsAnywhere(count, () -> {
            CompletableFuture<LockHandle> future = locks.reentrantLock("job").acquireAsync();
            int unused = clock.heal();
            closed(future);
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void acquireAsync_errorsInTheThreadOfAcquisitions(int count) {
        withErrorsAnywhere(
                ErrorAnywhereTest::acquires,
                count,
                () -> closed(locks.reentrantLock("job").acquireAsync()));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void acquireAsyncOfABusyLock_errorsInTheThreadOfAcquisitions(int count) {
        withErrorsAnywhere(ErrorAnywhereTest::acquires, count, () -> {
            other.lock();
            CompletableFuture<LockHandle> future = locks.reentrantLock("job").acquireAsync();
            passUntil(() -> future.isDone() || server.zset(KEY + ":queue").size() == 1);
            other.unlock();
            closed(future);
        });
    }

    /** A way to acquire locks for which no thread waits. */
    enum Way {
        TRY,
        SEVERAL,
        SEVERAL_FIXED,
        TRY_SEVERAL,
        TRY_SEVERAL_FREE
    }

    private CompletableFuture<?> start(Way way) {
        LockOptions fixed = LockOptions.defaults().fixedLease(Duration.ofMinutes(1));
        return switch (way) {
            case TRY -> locks.reentrantLock("job").tryAcquireAsync(Duration.ofSeconds(1));
            case SEVERAL -> locks.multiLock(NAMES).acquireAsync();
            case SEVERAL_FIXED -> locks.multiLock(NAMES, fixed).acquireAsync();
            case TRY_SEVERAL -> locks.multiLock(NAMES).tryAcquireAsync(Duration.ofSeconds(1));
            case TRY_SEVERAL_FREE -> locks.multiLock(NAMES).tryAcquireAsync(Duration.ZERO);
        };
    }

    @ParameterizedTest
    @EnumSource
    void way_errorsInTheCaller(Way way) {
        for (int count : new int[] {1, 20}) {
            withErrorsAnywhere(count, () -> {
                CompletableFuture<?> future = start(way);
                int unused = clock.heal();
                ended(future);
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void way_errorsInTheThreadOfAcquisitions(Way way) {
        for (int count : new int[] {1, 20}) {
            withErrorsAnywhere(ErrorAnywhereTest::acquires, count, () -> ended(start(way)));
        }
    }

    @ParameterizedTest
    @EnumSource
    void way_errorsInTheThreadsOfHandles(Way way) {
        for (int count : new int[] {1, 20}) {
            withErrorsAnywhere(
                    thread -> thread.getName().startsWith("redis-locks-handles"), count, () -> ended(start(way)));
        }
    }

    private static boolean acquires(Thread thread) {
        return thread.getName().startsWith("redis-locks-async");
    }

    /** Every acquisition ends, with the locks, without them, or with the error. */
    private void ended(CompletableFuture<?> future) {
        passUntil(future::isDone);
        int unused = clock.heal();
        if (future.isCompletedExceptionally()) {
            assertThatThrownBy(future::join).hasCauseInstanceOf(InternalError.class);
            return;
        }
        Object result = future.join();
        Object handle = result instanceof Optional<?> maybe ? maybe.orElse(null) : result;
        if (handle != null) {
            ((Handle) handle).close();
        }
    }

    @Override
    void assertNothingIsLeft(int firstReading) {
        super.assertNothingIsLeft(firstReading);
        assertThat(others.multiLock(NAMES).tryLock())
                .as("error at reading %d", firstReading)
                .isTrue();
        others.multiLock(NAMES).unlock();
        assertThat(inside.holds().all()).isEmpty();
    }

    /** Every acquisition ends, with the lock or with the error. */
    private void closed(CompletableFuture<LockHandle> future) {
        passUntil(future::isDone);
        if (future.isCompletedExceptionally()) {
            assertThatThrownBy(future::join).hasCauseInstanceOf(InternalError.class);
        } else {
            future.join().close();
        }
    }
}
