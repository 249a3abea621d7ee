package io.github.redislocks.readwrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLostException;
import io.github.redislocks.ReadHandle;
import io.github.redislocks.RedisReadLock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The sentences of the documentation about handles of a read lock, across two clients. */
@ParameterizedClass
@EnumSource
class ReadHandleContractTest extends ReadWriteTest {

    private static final Duration LONG = Duration.ofSeconds(20);

    /** A way to acquire a handle. */
    private enum Form {
        ACQUIRE,
        TRY_ACQUIRE,
        ACQUIRE_ASYNC,
        TRY_ACQUIRE_ASYNC;

        ReadHandle acquire(RedisReadLock lock) throws Exception {
            return switch (this) {
                case ACQUIRE -> lock.acquire();
                case TRY_ACQUIRE -> lock.tryAcquire(LONG).orElseThrow();
                case ACQUIRE_ASYNC -> lock.acquireAsync().get(20, TimeUnit.SECONDS);
                case TRY_ACQUIRE_ASYNC ->
                    lock.tryAcquireAsync(LONG).get(20, TimeUnit.SECONDS).orElseThrow();
            };
        }
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    void writer_waitsForTheHandlesOfAllClients(Form form) throws Exception {
        ReadHandle first = form.acquire(lock.readLock());
        ReadHandle second = form.acquire(lock.readLock());
        ReadHandle there = form.acquire(remote.readLock());
        Holder reader = reading(lock);
        Holder writer = waitingWriter(remote);
        elsewhere(() -> {
            first.close();
            return null;
        });
        there.close();
        reader.end();
        assertThat(writer.has()).isFalse();
        assertThat(second.isHeld()).isTrue();
        second.close();
        writer.awaitHas().end();
        assertFree();
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    void handle_waitsForTheWriter_andReadsItsVersion(Form form) throws Exception {
        LockHandle writer = remote.writeLock().acquire();
        Actor<ReadHandle> reader = new Actor<>(() -> form.acquire(lock.readLock()));
        assertThat(lock.readLock().tryAcquire(Duration.ZERO)).isEmpty();
        assertThat(lock.readLock().tryAcquireAsync(Duration.ZERO).get(20, TimeUnit.SECONDS))
                .isEmpty();
        assertThat(reader.isDone()).isFalse();
        long version = writer.fencingToken();
        writer.close();
        ReadHandle handle = reader.result();
        assertThat(handle.version()).isEqualTo(version);
        assertThat(handle.releaseAsync().toCompletableFuture().get(20, TimeUnit.SECONDS))
                .isTrue();
        assertFree();
    }

    @Test
    void tryAcquire_whileAWriterWaits_isEmpty() throws Exception {
        ReadHandle handle = lock.readLock().acquire();
        Holder writer = waitingWriter(remote);
        // The recall may still be under way.
        awaitThat().until(() -> {
            Optional<ReadHandle> tried = lock.readLock().tryAcquire(Duration.ZERO);
            tried.ifPresent(ReadHandle::close);
            return tried.isEmpty();
        });
        assertThat(remote.readLock().tryAcquire(Duration.ZERO)).isEmpty();
        assertThat(lock.readLock().tryAcquireAsync(Duration.ZERO).get(20, TimeUnit.SECONDS))
                .isEmpty();
        CompletableFuture<Optional<ReadHandle>> timed = remote.readLock().tryAcquireAsync(Duration.ofMillis(50));
        assertThat(timed.get(20, TimeUnit.SECONDS)).isEmpty();
        handle.close();
        writer.awaitHas().end();
        assertFree();
    }

    @Test
    void cancel_whileAWriterHasTheLock_leavesNothing() throws Exception {
        LockHandle writer = remote.writeLock().acquire();
        CompletableFuture<ReadHandle> first = lock.readLock().acquireAsync();
        CompletableFuture<ReadHandle> second = lock.readLock().acquireAsync();
        first.cancel(true);
        second.cancel(true);
        writer.close();
        assertFree();
    }

    @Test
    void forceUnlock_isTheLossOfEveryHandle() throws Exception {
        ReadHandle first = lock.readLock().acquire();
        ReadHandle second = lock.readLock().acquire();
        CompletableFuture<?> told = first.lost().toCompletableFuture();
        assertThat(lock.writeLock().forceUnlock()).isTrue();
        assertThat(told).succeedsWithin(LONG);
        assertThatThrownBy(first::close).isInstanceOf(LockLostException.class);
        assertThatThrownBy(second::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(second.release()).isFalse();
        assertFree();
    }
}
