package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call that meets errors at any point of its way leaves nothing. */
@Timeout(60)
class ErrorAnywhereTest extends ErrorsAnywhere {

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void lockAndUnlock(int count) {
        withErrorsAnywhere(count, () -> {
            locks();
            lock.unlock();
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void timedTry(int count) {
        triesInVain(count);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void await(int count) {
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

    private static boolean acquires(Thread thread) {
        return thread.getName().startsWith("redis-locks-async");
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
