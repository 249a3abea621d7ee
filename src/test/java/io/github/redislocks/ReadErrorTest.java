package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A reader that meets errors at any point of its way leaves nothing, and takes nothing from others. */
@Timeout(60)
class ReadErrorTest extends ErrorsAnywhere {

    private final RedisReentrantReadWriteLock shared = locks.readWriteLock("job");
    private final RedisReadLock reads = shared.readLock();

    /** How many handles read while others meet errors. */
    private int open;

    private static boolean acquires(Thread thread) {
        return thread.getName().startsWith("redis-locks-async");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void lockAndUnlock_withErrors_leaveNothing(int count) {
        withErrorsAnywhere(count, () -> {
            locksForReading();
            reads.unlock();
        });
    }

    private void locksForReading() {
        reads.lock();
        locked = true;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void lockUnderAnOpenShare_withErrors_leavesNothing(int count) {
        CompletableFuture<ReadHandle> future = reads.acquireAsync();
        passUntilDone(future);
        open = 1;
        withErrorsAnywhere(count, () -> {
            locksForReading();
            reads.unlock();
        });
        withErrorsAnywhere(count, () -> reads.acquire().close());
        future.join().close();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void acquire_withErrors_leavesNothing(int count) {
        withErrorsAnywhere(count, () -> reads.acquire().close());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void acquireAsync_errorsInTheCaller(int count) {
        withErrorsAnywhere(count, () -> {
            CompletableFuture<ReadHandle> future = reads.acquireAsync();
            int unused = clock.heal();
            ended(future);
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void acquireAsync_errorsInTheThreadOfAcquisitions(int count) {
        withErrorsAnywhere(ReadErrorTest::acquires, count, () -> ended(reads.acquireAsync()));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void share_ofAnAskerThatMeetsAnError_isKeptForTheOthers(int count) {
        Predicate<Thread> in = ReadErrorTest::acquires;
        withErrorsAnywhere(in, count, () -> {
            LockHandle writer = other.acquire();
            CompletableFuture<ReadHandle> asker = reads.acquireAsync();
            settle();
            CompletableFuture<ReadHandle> behind = reads.acquireAsync();
            settle();
            CompletableFuture<Boolean> next = new CompletableFuture<>();
            Thread thread = new Thread(() -> {
                other.lock();
                next.complete(isHeld(behind));
                other.unlock();
            });
            thread.start();
            await().until(() -> other.hasQueuedThread(thread));
            settle();
            writer.close();
            passUntilDone(asker, behind);
            pass(100);
            assertThat(behind.isCompletedExceptionally() || isHeld(behind))
                    .as("a reader keeps its lock when another one meets an error")
                    .isTrue();
            ended(asker);
            ended(behind);
            passUntil(() -> !thread.isAlive());
            assertThat(next.join()).as("reads while another writes").isFalse();
        });
    }

    private static boolean isHeld(CompletableFuture<ReadHandle> future) {
        return future.isDone()
                && !future.isCompletedExceptionally()
                && future.join().isHeld();
    }

    /** Every acquisition ends, with the lock or with the error. */
    private void ended(CompletableFuture<ReadHandle> future) {
        passUntilDone(future);
        int unused = clock.heal();
        if (future.isCompletedExceptionally()) {
            assertThatThrownBy(future::join).hasCauseInstanceOf(InternalError.class);
        } else {
            future.join().close();
        }
    }

    @Override
    void assertNothingIsLeft(int firstReading) {
        if (reads.isHeldByCurrentThread()) {
            assertThat(locked)
                    .as("held, though lock() met error %d", firstReading)
                    .isTrue();
            reads.unlock();
            pass(3_000);
        }
        assertThat(shared.getReadLockCount())
                .as("error at reading %d", firstReading)
                .isEqualTo(open);
        assertThat(server.hash(KEY + ":shares")).isEmpty();
        if (open > 0) {
            return;
        }
        super.assertNothingIsLeft(firstReading);
        assertThat(inside.holds().all()).isEmpty();
    }
}
