package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockOptions;
import io.github.redislocks.MultiLock;
import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReadLock;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.RedisReentrantReadWriteLock;
import io.github.redislocks.fixture.RedisServers;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Locking and unlocking at the end of the stack: whatever is thrown, the lock is soon had by others. */
@Timeout(120)
@Tag("server")
class NoStackTest {

    private static final int DEPTHS = 100;
    private static final long STACK_BYTES = 512 * 1024;

    private final RedisLocks locks = RedisLocks.connect(RedisServers.shared().uri());
    private final RedisLocks others = RedisLocks.connect(RedisServers.shared().uri());

    @AfterEach
    void close() {
        locks.close();
        others.close();
    }

    /** Goes as deep as it can, or to a depth, and does something there. */
    private static final class Diver {

        private final Runnable action;
        private int depth;

        Diver(Runnable action) {
            this.action = action;
        }

        void diveTo(int wanted) {
            depth++;
            if (depth < wanted) {
                diveTo(wanted);
            } else {
                action.run();
            }
        }

        int bottom() {
            try {
                diveTo(Integer.MAX_VALUE);
            } catch (StackOverflowError e) {
                return depth;
            }
            throw new AssertionError("There is no end of the stack");
        }
    }

    private static void onAThreadOfItsOwn(Runnable work) throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread thread = new Thread(null, work, "diver", STACK_BYTES);
        thread.setUncaughtExceptionHandler((diver, e) -> thrown.set(e));
        thread.start();
        thread.join();
        if (thrown.get() != null) {
            throw new AssertionError(thrown.get());
        }
    }

    /** An action at the bottom of the stack with a lock that is locked above it. */
    private interface Deed {
        void on(RedisReentrantLock lock);
    }

    private void atEachDepth(boolean lockedAbove, Deed deed) throws InterruptedException {
        int[] overflows = {0};
        for (int i = 0; i < DEPTHS; i++) {
            int above = i;
            String name = "stack-" + UUID.randomUUID();
            RedisReentrantLock lock = locks.reentrantLock(name);
            onAThreadOfItsOwn(() -> {
                lock.lock();
                if (!lockedAbove) {
                    lock.unlock();
                }
                // Compiled or not, the first dive finds the bottom for those that follow.
                int bottom = new Diver(() -> {}).bottom();
                try {
                    new Diver(() -> deed.on(lock)).diveTo(bottom - 2 * above);
                } catch (StackOverflowError e) {
                    overflows[0]++;
                }
                while (lock.isHeldByCurrentThread()) {
                    lock.unlock();
                }
                assertThat(isHadByAnother(name))
                        .as("%d frames above the bottom", 2 * above)
                        .isTrue();
                assertThat(lock.tryLock()).as("the local queue is free").isTrue();
                lock.unlock();
            });
        }
        assertThat(overflows[0]).as("the end was met").isBetween(10, DEPTHS);
    }

    /** An action at the bottom of the stack with a read lock that its client keeps. */
    private void asAReaderAtEachDepth(boolean lockedAbove, Consumer<RedisReadLock> deed) throws InterruptedException {
        int[] overflows = {0};
        for (int i = 0; i < DEPTHS; i++) {
            int above = i;
            String name = "stack-" + UUID.randomUUID();
            RedisReentrantReadWriteLock lock =
                    locks.readWriteLock(name, LockOptions.defaults().residency(Duration.ofMinutes(1)));
            onAThreadOfItsOwn(() -> {
                lock.readLock().lock();
                if (!lockedAbove) {
                    lock.readLock().unlock();
                }
                int bottom = new Diver(() -> {}).bottom();
                try {
                    new Diver(() -> deed.accept(lock.readLock())).diveTo(bottom - 2 * above);
                } catch (StackOverflowError e) {
                    overflows[0]++;
                    assertThat(lockedAbove || !lock.readLock().isHeldByCurrentThread())
                            .as("outside after an error in lock()")
                            .isTrue();
                }
                while (lock.readLock().isHeldByCurrentThread()) {
                    lock.readLock().unlock();
                }
                assertThat(isHadByAnother(name))
                        .as("%d frames above the bottom", 2 * above)
                        .isTrue();
            });
        }
        assertThat(overflows[0]).as("the end was met").isBetween(3, DEPTHS);
    }

    @Test
    void readUnlock_atTheEndOfTheStack_letsAWriterIn() throws InterruptedException {
        asAReaderAtEachDepth(true, RedisReadLock::unlock);
    }

    @Test
    void readLock_atTheEndOfTheStack_leavesNothing() throws InterruptedException {
        asAReaderAtEachDepth(false, RedisReadLock::lock);
    }

    private boolean isHadByAnother(String name) {
        RedisReentrantLock other = others.reentrantLock(name);
        try {
            if (other.tryLock(5, TimeUnit.SECONDS)) {
                other.unlock();
                return true;
            }
            return false;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void unlock_atTheEndOfTheStack_freesTheLock() throws InterruptedException {
        atEachDepth(true, RedisReentrantLock::unlock);
    }

    @Test
    void lock_atTheEndOfTheStack_leavesNothing() throws InterruptedException {
        atEachDepth(false, RedisReentrantLock::lock);
    }

    /** A handle that ends at the end of the stack is held no longer; it is free, or kept as was wanted. */
    @ParameterizedTest
    @EnumSource(End.class)
    void handle_endedAtTheEndOfTheStack_isNotHeldForEver(End end) throws InterruptedException {
        int[] overflows = {0};
        for (int i = 0; i < DEPTHS; i++) {
            int above = i;
            String name = "stack-" + UUID.randomUUID();
            LockHandle handle = locks.reentrantLock(name).acquire();
            onAThreadOfItsOwn(() -> {
                int bottom = new Diver(() -> {}).bottom();
                try {
                    new Diver(() -> end.of(handle)).diveTo(bottom - 2 * above);
                } catch (StackOverflowError e) {
                    overflows[0]++;
                }
            });
            if (handle.isHeld()) {
                // The call had not begun.
                end.of(handle);
            }
            await().atMost(5, TimeUnit.SECONDS)
                    .until(() -> others.inspect(name).holder().isEmpty());
            assertThat(others.inspect(name).keptFor().isPresent()).isEqualTo(end.keeps());
            others.reentrantLock(name).forceUnlock();
        }
        assertThat(overflows[0]).as("the end was met").isBetween(10, DEPTHS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void handleOfSeveral_endedAtTheEndOfTheStack_isNotHeldForEver(boolean later) throws InterruptedException {
        int[] overflows = {0};
        for (int i = 0; i < DEPTHS; i++) {
            int above = i;
            String name = "stack-" + UUID.randomUUID();
            MultiLockHandle handle =
                    locks.multiLock(List.of(name + "a", name + "b")).acquire();
            Runnable end = () -> {
                if (later) {
                    CompletionStage<Boolean> unused = handle.releaseAsync();
                } else {
                    handle.close();
                }
            };
            onAThreadOfItsOwn(() -> {
                int bottom = new Diver(() -> {}).bottom();
                try {
                    new Diver(end).diveTo(bottom - 2 * above);
                } catch (StackOverflowError e) {
                    overflows[0]++;
                }
            });
            if (handle.isHeld()) {
                // The call had not begun.
                end.run();
            }
            assertThat(isHadByAnother(name + "a") && isHadByAnother(name + "b"))
                    .as("%d frames above the bottom", 2 * above)
                    .isTrue();
        }
        assertThat(overflows[0]).as("the end was met").isBetween(10, DEPTHS);
    }

    /** Ways to end a handle. */
    enum End {
        CLOSE,
        RELEASE_ASYNC,
        RELEASE_AFTER,
        RELEASE_AFTER_ASYNC;

        boolean keeps() {
            return this == RELEASE_AFTER || this == RELEASE_AFTER_ASYNC;
        }

        void of(LockHandle handle) {
            Duration kept = Duration.ofMinutes(1);
            if (this == CLOSE) {
                handle.close();
            } else if (this == RELEASE_ASYNC) {
                CompletionStage<Boolean> unused = handle.releaseAsync();
            } else if (this == RELEASE_AFTER) {
                boolean unused = handle.releaseAfter(kept);
            } else {
                CompletionStage<Boolean> unused = handle.releaseAfterAsync(kept);
            }
        }
    }

    @Test
    void severalLocks_atTheEndOfTheStack_areHadAllOrNone() throws InterruptedException {
        int[] overflows = {0};
        for (int i = 0; i < DEPTHS; i++) {
            int above = i;
            String name = "stack-" + UUID.randomUUID();
            MultiLock several = locks.multiLock(List.of(name + "a", name + "b"));
            onAThreadOfItsOwn(() -> {
                several.lock();
                several.unlock();
                int bottom = new Diver(() -> {}).bottom();
                try {
                    new Diver(() -> {
                                several.lock();
                                several.unlock();
                            })
                            .diveTo(bottom - 2 * above);
                } catch (StackOverflowError e) {
                    overflows[0]++;
                }
                while (several.isHeldByCurrentThread()) {
                    several.unlock();
                }
                assertThat(isHadByAnother(name + "a") && isHadByAnother(name + "b"))
                        .as("%d frames above the bottom", 2 * above)
                        .isTrue();
                assertThat(several.tryLock()).as("the local queues are free").isTrue();
                several.unlock();
            });
        }
        assertThat(overflows[0]).as("the end was met").isBetween(10, DEPTHS);
    }

    @Test
    void innerLockAndUnlock_atTheEndOfTheStack_leaveTheHoldAsItWas() throws InterruptedException {
        atEachDepth(true, lock -> {
            lock.lock();
            lock.unlock();
        });
    }
}
