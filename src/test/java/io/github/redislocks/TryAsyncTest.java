package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tries for which no thread waits, and tries whose action has a handle. */
class TryAsyncTest extends FakeTime {

    private <T> T await(CompletableFuture<T> future) {
        passUntilDone(future);
        return future.join();
    }

    private void assertNothingLeft() {
        passUntil(() -> server.hash(KEY).isEmpty()
                && server.zset(KEY + ":queue").isEmpty()
                && inside.attempts().isEmpty());
    }

    @Test
    void tryAcquireAsync_ofAFreeLock_hasIt() {
        for (Duration wait : new Duration[] {Duration.ZERO, Duration.ofSeconds(2)}) {
            await(lock.tryAcquireAsync(wait)).orElseThrow().close();
        }
        assertNothingLeft();
    }

    @Test
    void tryAcquireAsync_ofABusyLock_isEmptyInTime() {
        other.lock();
        assertThat(await(lock.tryAcquireAsync(Duration.ZERO))).isEmpty();
        long began = clock.nanoTime();
        assertThat(await(lock.tryAcquireAsync(Duration.ofSeconds(2)))).isEmpty();
        assertThat(Duration.ofNanos(clock.nanoTime() - began)).isBetween(Duration.ofSeconds(2), Duration.ofSeconds(3));
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        other.unlock();
        assertNothingLeft();
    }

    @Test
    void tryAcquireAsync_ofALockThatIsReleasedInTime_hasIt() {
        other.lock();
        CompletableFuture<Optional<LockHandle>> future = lock.tryAcquireAsync(Duration.ofMinutes(1));
        pass(30_000);
        assertThat(future).isNotDone();
        other.unlock();
        await(future).orElseThrow().close();
        assertNothingLeft();
    }

    @Test
    void tryAcquireAsync_withoutRedis_failsACommandTimeoutAfterItsTime() {
        redis.down(true);
        long began = clock.nanoTime();
        CompletableFuture<Optional<LockHandle>> future = lock.tryAcquireAsync(Duration.ofSeconds(2));
        passUntilDone(future);
        assertThatThrownBy(future::join).hasCauseInstanceOf(LockUnavailableException.class);
        assertThat(Duration.ofNanos(clock.nanoTime() - began))
                .isBetween(Duration.ofSeconds(2), Duration.ofMillis(3_200));
        redis.down(false);
        assertNothingLeft();
    }

    @Test
    void tryCallWithHandleAsync_runsIfTheLockIsFree() {
        CompletableFuture<LockedResult<String>> ran = lock.tryCallWithHandleAsync(
                Duration.ZERO, held -> CompletableFuture.completedFuture("token " + held.isHeld()));
        assertThat(await(ran).get()).isEqualTo("token true");
        other.lock();
        CompletableFuture<LockedResult<String>> busy = lock.tryCallWithHandleAsync(
                Duration.ofSeconds(1), held -> CompletableFuture.completedFuture("ran beside the holder"));
        assertThat(await(busy).ran()).isFalse();
        other.unlock();
        assertNothingLeft();
    }

    @Test
    void tryCallWithHandle_runsIfTheLockIsFree() throws InterruptedException {
        assertThat(lock.tryCallWithHandle(Duration.ZERO, LockHandle::name).get())
                .isEqualTo("job");
        assertThat(lock.tryRunWithHandle(Duration.ZERO, LockHandle::ensureHeld)).isTrue();
        other.lock();
        assertThat(lock.tryCallWithHandle(Duration.ZERO, LockHandle::name).ran())
                .isFalse();
        assertThat(lock.tryRunWithHandle(Duration.ZERO, held -> held.releaseAsync()))
                .isFalse();
        other.unlock();
        assertNothingLeft();
    }
}
