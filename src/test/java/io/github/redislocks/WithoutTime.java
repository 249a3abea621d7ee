package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** All ways to take a free lock and not to wait for a busy one. Each is for one lock and for several. */
enum WithoutTime {
    TRY_LOCK,
    TRY_LOCK_ZERO,
    TRY_LOCK_NEGATIVE,
    TRY_LOCK_DURATION,
    TRY_LOCK_MOST_NEGATIVE,
    TRY_CALL_WITH_LOCK,
    TRY_RUN_WITH_LOCK,
    TRY_ACQUIRE,
    TRY_CALL_WITH_HANDLE,
    TRY_RUN_WITH_HANDLE,
    TRY_ACQUIRE_ASYNC,
    TRY_CALL_WITH_HANDLE_ASYNC;

    static final String ONE = "job";
    static final List<String> SEVERAL = List.of("free", ONE, "job2");

    /** Whether the way takes a fair lock although others stand in line, as that of the JDK's lock. */
    boolean barges() {
        return this == TRY_LOCK;
    }

    /** Tries to take one lock and one of several, and releases what it has taken. Returns whether it had. */
    boolean takes(RedisLocks client, boolean several, LockOptions options) throws InterruptedException {
        return several ? takes(client.multiLock(SEVERAL, options)) : takes(client.reentrantLock(ONE, options));
    }

    private <H extends Handle> boolean takes(LeasedLock<H> lock) throws InterruptedException {
        return switch (this) {
            case TRY_LOCK -> unlocks(lock, lock.tryLock());
            case TRY_LOCK_ZERO -> unlocks(lock, lock.tryLock(0, TimeUnit.SECONDS));
            case TRY_LOCK_NEGATIVE -> unlocks(lock, lock.tryLock(-1, TimeUnit.DAYS));
            case TRY_LOCK_DURATION -> unlocks(lock, lock.tryLock(Duration.ZERO));
            case TRY_LOCK_MOST_NEGATIVE -> unlocks(lock, lock.tryLock(Duration.ofSeconds(Long.MIN_VALUE)));
            case TRY_CALL_WITH_LOCK ->
                lock.tryCallWithLock(Duration.ZERO, () -> true).ran();
            case TRY_RUN_WITH_LOCK -> lock.tryRunWithLock(Duration.ZERO, lock::ensureHeld);
            case TRY_ACQUIRE -> closes(lock.tryAcquire(Duration.ZERO));
            case TRY_CALL_WITH_HANDLE ->
                lock.tryCallWithHandle(Duration.ZERO, Handle::isHeld).ran();
            case TRY_RUN_WITH_HANDLE -> lock.tryRunWithHandle(Duration.ZERO, Handle::ensureHeld);
            case TRY_ACQUIRE_ASYNC -> closes(join(lock.tryAcquireAsync(Duration.ofSeconds(Long.MIN_VALUE))));
            case TRY_CALL_WITH_HANDLE_ASYNC ->
                join(lock.tryCallWithHandleAsync(
                                Duration.ZERO, held -> CompletableFuture.completedFuture(held.isHeld())))
                        .ran();
        };
    }

    private static boolean unlocks(LeasedLock<?> lock, boolean taken) {
        if (taken) {
            lock.unlock();
        }
        return taken;
    }

    private static boolean closes(Optional<? extends Handle> taken) {
        taken.ifPresent(Handle::close);
        return taken.isPresent();
    }

    /** Throws the failure itself, as the ways that have a thread do. */
    private static <T> T join(CompletableFuture<T> future) {
        try {
            return future.join();
        } catch (CompletionException e) {
            throw (RuntimeException) e.getCause();
        }
    }
}
