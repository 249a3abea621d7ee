package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A client that keeps the lock for its readers, and optimistic reads, which need no request then. */
class ReadResidencyTest extends FakeTime {

    private static final int HEARTBEAT = 1_500;
    private static final int IDLE = 4 * HEARTBEAT;
    private static final int KEPT = 60_000;
    private static final int MOST = 40;

    private final RedisReentrantReadWriteLock shared = locks.readWriteLock("job");
    private final RedisReentrantReadWriteLock theirs = others.readWriteLock("job");

    @Override
    Settings options() {
        return Settings.DEFAULTS.withResidency(Duration.ofMillis(KEPT)).withMaxResident(MOST);
    }

    private void readOnce(String name) {
        RedisReentrantReadWriteLock one = locks.readWriteLock(name);
        one.readLock().lock();
        one.readLock().unlock();
    }

    @Test
    void aReadOfAKeptLock_needsNoRequest() {
        readOnce("job");
        pass(KEPT / 2);
        assertThat(locks.countResident()).isEqualTo(1);
        assertThat(locks.countHeld()).isZero();
        long before = redis.log().requests();
        readOnce("job");
        shared.readLock().lock();
        assertThat(shared.validate(shared.tryOptimisticRead())).isTrue();
        shared.readLock().unlock();
        assertThat(redis.log().requests()).isEqualTo(before);
        assertThat(losses).isEmpty();
    }

    @Test
    void aKeptLock_thatNobodyReadsForItsTime_isGivenUp() {
        readOnce("job");
        pass(KEPT / 2);
        readOnce("job");
        pass(KEPT / 2 + 2 * HEARTBEAT);
        assertThat(locks.countResident()).isEqualTo(1);
        pass(KEPT / 2);
        assertThat(locks.countResident()).isZero();
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void aKeptLock_isGivenUpForAWriterOfAnotherClient() {
        readOnce("job");
        await().until(() -> inside.mailbox().isOpen());
        whileTimePasses(other::lock);
        assertThat(locks.countResident()).isZero();
        other.unlock();
    }

    @Test
    void aKeptLock_isGivenUpForATryOfAnotherClient() {
        readOnce("job");
        await().until(() -> inside.mailbox().isOpen());
        assertThat(other.tryLock()).isTrue();
        other.unlock();
        readOnce("job");
        shared.readLock().lock();
        othersFindReaders();
        shared.readLock().unlock();
    }

    /** An earlier answer might reach the writer before the share has ended in Redis. */
    @Test
    void aTryOfAnotherClient_isAnsweredOnceTheKeptShareHasEnded() {
        readOnce("job");
        await().until(() -> inside.mailbox().isOpen());
        HeldCalls held = redis.hold(verb("unshare")).whateverTheirTimeouts();
        CompletableFuture<Boolean> tried = new CompletableFuture<>();
        Thread writer = new Thread(() -> {
            tried.complete(other.tryLock());
            other.unlock();
        });
        writer.start();
        held.awaitParked(1, Duration.ofSeconds(10));
        // Until the mailbox has dealt with the question, and waits for the next message.
        await().until(() -> inside.mailbox().reader().getState() != Thread.State.RUNNABLE);
        assertThat(inside.watchdog().commands()).hasSize(1);
        held.release();
        assertThat(tried).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(true);
        awaitEnd(writer);
    }

    @Test
    void aKeptLock_isGivenUpForAWriterOfTheClient() {
        readOnce("job");
        pass(IDLE);
        assertThat(shared.writeLock().tryLock()).isTrue();
        shared.writeLock().unlock();
        readOnce("job");
        pass(IDLE);
        whileTimePasses(shared.writeLock()::lock);
        shared.writeLock().unlock();
    }

    /** Some way to have the whole lock, and to give it back. */
    private interface Use {
        void of(RedisLocks client) throws Exception;
    }

    private enum Whole {
        TRIED(client -> {
            assertThat(client.reentrantLock("job").tryLock()).isTrue();
            client.reentrantLock("job").unlock();
        }),
        FAIR(client ->
                client.reentrantLock("job", LockOptions.defaults().fair(true)).runWithLock(() -> {})),
        KEPT(client -> client.reentrantLock("job", LockOptions.defaults().residency(Duration.ofSeconds(1)))
                .runWithLock(() -> {})),
        HANDLE(client -> client.reentrantLock("job").acquire().close()),
        TRIED_HANDLE(client -> client.reentrantLock("job")
                .tryAcquire(Duration.ZERO)
                .orElseThrow()
                .close()),
        LATER(client -> client.reentrantLock("job").acquireAsync().get().close()),
        SEVERAL(client -> client.multiLock(List.of("job", "other")).runWithLock(() -> {})),
        TRIED_SEVERAL(client -> {
            assertThat(client.multiLock(List.of("job", "other")).tryLock()).isTrue();
            client.multiLock(List.of("job", "other")).unlock();
        }),
        SEVERAL_LATER(client ->
                client.multiLock(List.of("job", "other")).acquireAsync().get().close()),
        DOWNGRADE(client -> {
            RedisReentrantReadWriteLock lock = client.readWriteLock("job");
            lock.writeLock().lock();
            lock.readLock().lock();
            lock.writeLock().unlock();
            lock.readLock().unlock();
        });

        @SuppressWarnings("ImmutableEnumChecker") // The code keeps no state.
        private final Use use;

        Whole(Use use) {
            this.use = use;
        }
    }

    /** A thread that wants the whole lock has it by messages alone, since nobody reads: the clock stands still. */
    @ParameterizedTest
    @EnumSource
    void aKeptLock_isNobodysObstacle(Whole whole) throws InterruptedException {
        for (RedisLocks client : List.of(others, locks)) {
            readOnce("job");
            await().until(() -> inside.mailbox().isOpen());
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Thread thread = new Thread(() -> thrown.set(catchThrowable(() -> whole.use.of(client))));
            thread.start();
            await(client == locks ? "its own" : "another").until(() -> !thread.isAlive());
            assertThat(thrown.get()).as(client == locks ? "its own" : "another").isNull();
        }
    }

    /** The write lock is not kept, so that readers of other clients need no message. */
    @Test
    void aWrittenLock_isNotKept() {
        shared.writeLock().lock();
        shared.writeLock().unlock();
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void theKeptLockOfAKilledClient_delaysAWriterByItsShortLease() {
        readOnce("job");
        pass(KEPT / 2);
        redis.down(true);
        long began = clock.nanoTime();
        whileTimePasses(other::lock);
        assertThat((clock.nanoTime() - began) / 1_000_000).isLessThanOrEqualTo(IDLE);
        other.unlock();
        redis.heal();
    }

    @Test
    void aThreadThatEndsInsideAKeptLock_keepsNoWriterOut() throws InterruptedException {
        readOnce("job");
        pass(IDLE);
        Thread reader = new Thread(shared.readLock()::lock);
        reader.start();
        reader.join();
        pass(2 * HEARTBEAT);
        assertThat(losses).singleElement().extracting(LockLost::reason).isEqualTo(LockLost.Reason.ABANDONED);
        whileTimePasses(other::lock);
        other.unlock();
    }

    @Test
    void keptLocks_areRenewedManyToARequest() {
        for (int i = 0; i < MOST; i++) {
            readOnce("many-" + i);
        }
        pass(IDLE);
        assertThat(locks.countResident()).isEqualTo(MOST);
        int before = redis.log().count("renew_shares");
        pass(10L * HEARTBEAT);
        assertThat(redis.log().count("renew_shares") - before).isBetween(10, 40);
        assertThat(locks.countResident()).isEqualTo(MOST);
    }

    @Test
    void tooManyKeptLocks_areGivenUp() {
        for (int i = 0; i < 2 * MOST; i++) {
            readOnce("many-" + i);
        }
        pass(IDLE);
        assertThat(locks.countResident()).isEqualTo(MOST);
    }

    /** While the client has the lock for readers, nobody can write, whether Redis answers or not. */
    @Test
    void anOptimisticRead_underAKeptLock_isValidWithoutRedis_untilTheLeaseEnds() {
        readOnce("job");
        pass(IDLE);
        long stamp = shared.tryOptimisticRead();
        redis.down(true);
        assertThat(shared.validate(stamp)).isTrue();
        pass(IDLE);
        assertThatThrownBy(() -> shared.validate(stamp)).isInstanceOf(LockUnavailableException.class);
        redis.heal();
    }

    /** As after a pause of the process, before the watchdog runs again. */
    @Test
    void anOptimisticRead_underALeaseThatHasEndedInAPause_asksRedis() {
        readOnce("job");
        long stamp = shared.tryOptimisticRead();
        redis.down(true);
        clock.advanceMillis(IDLE);
        assertThatThrownBy(() -> shared.validate(stamp)).isInstanceOf(LockUnavailableException.class);
        redis.heal();
    }

    @Test
    void anOptimisticRead_isInvalidOnceAWriterCameIn_withAndWithoutAKeptLock() {
        readOnce("job");
        long kept = shared.tryOptimisticRead();
        long asked = theirs.tryOptimisticRead();
        assertThat(kept).isEqualTo(asked).isNotZero();
        await().until(() -> inside.mailbox().isOpen());
        assertThat(other.tryLock()).isTrue();
        assertThat(shared.tryOptimisticRead()).isZero();
        assertThat(shared.validate(kept)).isFalse();
        other.unlock();
        assertThat(shared.validate(kept)).isFalse();
        assertThat(theirs.validate(asked)).isFalse();
        readOnce("job");
        assertThat(shared.validate(kept)).isFalse();
        assertThat(shared.validate(theirs.tryOptimisticRead())).isTrue();
    }

    @Test
    void anOptimisticRead_isInvalidOnceRedisHasLostItsData() {
        readOnce("job");
        long stamp = shared.tryOptimisticRead();
        pass(1);
        server.flushAll();
        assertThat(theirs.validate(stamp)).isFalse();
        pass(2 * HEARTBEAT);
        assertThat(shared.validate(stamp)).isFalse();
    }

    @Test
    void anOptimisticRead_ofAClosedClient_throws() {
        readOnce("job");
        long stamp = shared.tryOptimisticRead();
        whileTimePasses(locks::close);
        assertThatThrownBy(() -> shared.validate(stamp)).isInstanceOf(IllegalStateException.class);
    }
}
