package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Timing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Handles on a quorum. */
@Timeout(60)
class QuorumHandleTest {

    private final QuorumTwins quorum = new QuorumTwins(Duration.ofSeconds(30), Duration.ZERO);
    private final RedisLocks locks = quorum.connect().locks;
    private final RedisLocks others = quorum.connect().locks;

    @AfterEach
    void close() {
        quorum.close();
    }

    private static LockHandle get(CompletableFuture<LockHandle> future) throws Exception {
        return future.get(30, TimeUnit.SECONDS);
    }

    @Test
    void acquireAsync_ofAFreeLock_asksForVotesAtOnce() throws Exception {
        LockHandle handle = get(locks.reentrantLock("job").acquireAsync());
        assertThat(handle.isHeld()).isTrue();
        assertThat(Inside.of(locks.client()).holds().all())
                .as("no request of it was lost on the way")
                .noneMatch(hold -> hold.inDoubt);
        assertThat(handle.releaseAsync().toCompletableFuture().get(30, TimeUnit.SECONDS))
                .isTrue();
        await().until(() -> quorum.votes().isEmpty());
    }

    @Test
    void acquireAsync_behindAnotherClient_hasTheLockAfterIt() throws Exception {
        LockHandle first = others.reentrantLock("job").acquire();
        CompletableFuture<LockHandle> second = locks.reentrantLock("job").acquireAsync();
        await().until(() ->
                Inside.of(locks.client()).attempts().all().stream().anyMatch(attempt -> attempt.position() != null));
        assertThat(second).isNotDone();
        first.close();
        LockHandle handle = get(second);
        assertThat(handle.isHeld()).isTrue();
        handle.close();
    }

    @Test
    void acquisitions_ofManyNames_areAllServed() throws Exception {
        List<CompletableFuture<LockHandle>> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            all.add(locks.reentrantLock("job" + i).acquireAsync());
        }
        for (CompletableFuture<LockHandle> each : all) {
            LockHandle handle = get(each);
            assertThat(handle.isHeld()).isTrue();
            handle.close();
        }
    }

    @Test
    void releaseAfter_isRefused_andReleasesNothing() throws Exception {
        LockHandle handle = locks.reentrantLock("job").acquire();
        assertThatThrownBy(() -> handle.releaseAfter(Duration.ofSeconds(1)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("Release the handle when that time has come");
        assertThatThrownBy(() -> handle.releaseAfterAsync(Duration.ofSeconds(1)))
                .isInstanceOf(UnsupportedOperationException.class);
        assertThat(handle.isHeld()).isTrue();
        assertThat(handle.release()).isTrue();
    }

    @Test
    void maxHold_hasPassed_nextClientGetsTheLock() throws Exception {
        LockHandle hung = locks.reentrantLock("job", LockOptions.defaults().maxHold(Duration.ofSeconds(1)))
                .acquire();
        CompletableFuture<LockLost> lost = hung.lost().toCompletableFuture();
        LockHandle next = get(others.reentrantLock("job").acquireAsync());
        assertThat(lost.get(30, TimeUnit.SECONDS).reason()).isEqualTo(LockLost.Reason.HELD_TOO_LONG);
        assertThat(next.isHeld()).isTrue();
        assertThat(next.previousHolderLost()).isTrue();
        assertThat(hung.release()).isFalse();
        next.close();
    }

    /** The masters have clocks of their own, by which the votes do not expire here. */
    @Test
    void maxHold_limitsWhatEachMasterIsAskedFor() throws Exception {
        FakeClock clock = new FakeClock();
        QuorumTwins.Client client = quorum.connect(clock);
        LockHandle handle = client.locks
                .reentrantLock("job", LockOptions.defaults().maxHold(Duration.ofMinutes(1)))
                .acquire();
        Hold hold = Inside.of(client.locks.client()).holds().all().iterator().next();
        for (int i = 1; i <= 4; i++) {
            clock.advanceMillis(10_000);
            await().until(() -> hold.nextRenewalNanos() > clock.nanoTime() && !hold.isRenewing());
        }
        assertThat(hold.deadlineNanos()).isEqualTo(clock.nanoTime() + Timing.validityNanos(20_000));
        await().untilAsserted(() -> assertThat(client.nodes)
                .allSatisfy(node -> assertThat(node.log().calls().stream()
                                .filter(call -> call.script().equals("vote"))
                                .map(call -> call.args().get(3)))
                        .startsWith("30000")
                        .endsWith("20000")));
        handle.close();
    }

    @Test
    void severalLocks_areAcquiredAllOrNone() throws Exception {
        MultiLock several = others.multiLock(List.of("b", "a"));
        try (MultiLockHandle held = locks.multiLock(List.of("a", "b")).acquire()) {
            held.ensureHeld();
            assertThat(several.tryLock()).isFalse();
        }
        several.lock();
        assertThat(locks.multiLock(List.of("c", "b")).tryAcquire(Duration.ofMillis(50)))
                .isEmpty();
        several.unlock();
        await().until(() -> quorum.votes().isEmpty());
    }

    @Test
    void fairOptions_areRefused() {
        LockOptions fair = LockOptions.defaults().fair(true);
        assertThatThrownBy(() -> locks.reentrantLock("job", fair).acquireAsync())
                .isInstanceOf(UnsupportedOperationException.class);
    }
}
