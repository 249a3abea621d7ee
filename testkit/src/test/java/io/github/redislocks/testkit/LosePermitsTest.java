package io.github.redislocks.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Permits that a test has their owners lose. */
@Timeout(30)
class LosePermitsTest {

    private static final Duration LEASE = Duration.ofSeconds(30);

    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final InMemoryLocks memory = InMemoryLocks.start(builder -> builder.onLockLost(losses::add));
    private final RedisLocks locks = memory.client();
    private final RedisLocks others = memory.newClient();

    @AfterEach
    void close() {
        memory.close();
    }

    @Test
    void losePermits_tellsTheHolders_andOthersGetThem() throws Exception {
        Permits pool = locks.permits("encoder", 3);
        Permits remote = others.permits("encoder", 3);
        List<LockLost> told = new CopyOnWriteArrayList<>();
        PermitHandle two = pool.acquire(2);
        PermitHandle one = remote.acquire();
        two.lost().thenAccept(told::add);
        one.lost().thenAccept(told::add);
        CompletableFuture<PermitHandle> waiting = remote.acquireAsync(3);
        await().until(() -> remote.inspect().waiting().size() == 1);
        memory.losePermits("encoder");
        assertThat(told).extracting(LockLost::reason).containsOnly(LockLost.Reason.TAKEN);
        assertThat(told).hasSize(2);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(two::ensureHeld);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(one::close);
        try (PermitHandle next = waiting.get(10, TimeUnit.SECONDS)) {
            assertThat(next.previousHolderLost()).isTrue();
            memory.advance(LEASE);
            assertThat(next.isHeld()).as("renewed").isTrue();
        }
        assertThat(losses).hasSize(2);
    }

    @Test
    void losePermits_whileOthersWaitForOne_leavesThemWhatTheyGet() throws Exception {
        PermitHandle first = locks.permits("encoder", 2).acquire();
        PermitHandle second = others.permits("encoder", 2).acquire();
        CompletableFuture<PermitHandle> waiting = others.permits("encoder", 2).acquireAsync(1);
        await().until(() -> locks.permits("encoder", 2).inspect().waiting().size() == 1);
        memory.losePermits("encoder");
        try (PermitHandle next = waiting.get(10, TimeUnit.SECONDS)) {
            assertThat(next.isHeld()).isTrue();
        }
        assertThat(first.isHeld() || second.isHeld()).isFalse();
        assertThat(losses).hasSize(2);
    }

    @Test
    void losePermits_ofAPausedClient_areToldWhenItIsResumed() throws InterruptedException {
        PermitHandle permit = locks.permits("encoder", 1).acquire();
        memory.pause(locks);
        memory.losePermits("encoder");
        assertThat(losses).isEmpty();
        assertThat(others.permits("encoder", 1).tryAcquire(Duration.ZERO)).isPresent();
        memory.resume(locks);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
        assertThat(permit.isHeld()).isFalse();
    }

    @Test
    void losePermits_whenOnlyAPausedClientHasStalePermits_throws() throws InterruptedException {
        PermitHandle permit = locks.permits("encoder", 1).acquire();
        memory.pause(locks);
        memory.advance(LEASE.plusSeconds(1));
        assertThatIllegalStateException()
                .isThrownBy(() -> memory.losePermits("encoder"))
                .withMessageContaining("\"encoder\"")
                .withMessageContaining("First acquire some");
        memory.resume(locks);
        assertThat(permit.isHeld()).isFalse();
    }

    @Test
    void losePermits_andLose_areOfAPoolAndOfALockOfThatName() throws InterruptedException {
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        PermitHandle permit = locks.permits("job", 1).acquire();
        memory.losePermits("job");
        assertThat(permit.isHeld()).isFalse();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        PermitHandle next = locks.permits("job", 1).acquire();
        memory.lose("job");
        assertThat(next.isHeld()).isTrue();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }
}
