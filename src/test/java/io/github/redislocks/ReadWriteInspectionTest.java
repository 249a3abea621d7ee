package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A lock under which clients read, as operators see it. */
class ReadWriteInspectionTest extends FakeTime {

    private final RedisReadLock here = locks.readWriteLock("job").readLock();
    private final RedisReadLock there = others.readWriteLock("job").readLock();

    private long write() {
        other.lock();
        try {
            return other.fencingToken();
        } finally {
            other.unlock();
        }
    }

    private static LockInspection.Holder only(List<LockSummary> locks) {
        assertThat(locks).hasSize(1);
        return locks.get(0).holder().orElseThrow();
    }

    @Test
    void inspectAndList_whileClientsRead_showHowManyAndTheLastWriter() {
        long token = write();
        here.lock();
        there.lock();
        there.lock();
        LockInspection.Holder seen = locks.inspect("job").holder().orElseThrow();
        assertThat(seen.owner().isReaders()).isTrue();
        assertThat(seen.owner().isResidence()).isFalse();
        assertThat(seen.owner().threadId()).isEmpty();
        assertThat(seen.holds()).isEqualTo(2);
        assertThat(seen.token()).isEqualTo(token);
        assertThat(locks.inspect("job").toString())
                .startsWith("Lock \"job\" read by 2 clients, token of the last writer " + token);
        try (Stream<LockSummary> listed = locks.list("*")) {
            LockInspection.Holder inList = only(listed.toList());
            assertThat(inList.owner()).isEqualTo(LockOwner.parse("readers"));
            assertThat(inList.holds()).isEqualTo(2);
            assertThat(inList.token()).isEqualTo(token);
        }
        there.unlock();
        there.unlock();
        here.unlock();
        settle();
    }

    @Test
    void inspect_whileAWriterWaits_showsItInTheQueue() throws InterruptedException {
        here.lock();
        Thread writer = new Thread(() -> {
            other.lock();
            other.unlock();
        });
        writer.start();
        passUntil(() -> locks.inspect("job").queueLength() == 1);
        assertThat(locks.inspect("job").holder().orElseThrow().owner().isReaders())
                .isTrue();
        here.unlock();
        whileTimePasses(() -> true, () -> awaitEnd(writer));
        assertThat(locks.inspect("job").queueLength()).isZero();
    }

    @Test
    void inspect_theShareOfADeadClient_isNotCounted() {
        there.lock();
        here.lock();
        redis.down(true);
        pass(30_000);
        assertThat(others.inspect("job").holder().orElseThrow().holds()).isEqualTo(1);
        redis.heal();
        there.unlock();
    }

    @Test
    void forceUnlock_whileClientsRead_endsAllShares() {
        here.lock();
        there.lock();
        assertThat(CompletableFuture.supplyAsync(lock::forceUnlock).join()).isTrue();
        assertThat(locks.inspect("job").holder()).isEmpty();
        assertThat(CompletableFuture.supplyAsync(lock::forceUnlock).join()).isFalse();
        pass(1_500);
        assertThat(here.isHeldByCurrentThread()).isFalse();
        assertThat(there.isHeldByCurrentThread()).isFalse();
    }
}
