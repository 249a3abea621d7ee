package io.github.redislocks.contract;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServer;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Holds that may last for a time only, on a real server. */
@Timeout(60)
@Tag("server")
class MaxHoldServerTest {

    private static final LockOptions BRIEF = LockOptions.defaults().maxHold(Duration.ofSeconds(1));

    private final RedisServer server = RedisServer.start();
    private final RedisLocks locks = RedisLocks.connect(server.uri());
    private final RedisLocks others = RedisLocks.connect(server.uri());
    private final Jedis redis = new Jedis(URI.create(server.uri()));

    @AfterEach
    void close() {
        locks.close();
        others.close();
        redis.close();
        server.close();
    }

    @Test
    void handlesThatHang_giveTheirLocksToThoseThatWait_andAreTold() throws Exception {
        List<LockHandle> hung = new ArrayList<>();
        List<CompletableFuture<LockLost>> told = new ArrayList<>();
        List<CompletableFuture<Boolean>> heldBesides = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            LockHandle handle = locks.reentrantLock("n" + i, BRIEF).acquire();
            hung.add(handle);
            told.add(handle.lost().toCompletableFuture());
        }
        for (int i = 0; i < hung.size(); i++) {
            LockHandle before = hung.get(i);
            heldBesides.add(others.reentrantLock("n" + i).acquireAsync().thenApply(handle -> before.isHeld()));
        }
        for (int i = 0; i < hung.size(); i++) {
            assertThat(heldBesides.get(i).get(30, TimeUnit.SECONDS))
                    .as("held by two")
                    .isFalse();
            assertThat(told.get(i).get(30, TimeUnit.SECONDS).reason()).isEqualTo(LockLost.Reason.HELD_TOO_LONG);
            assertThat(hung.get(i).release()).isFalse();
        }
    }

    @Test
    void lease_ofALockThatIsReentered_isCutToTheRest() {
        RedisReentrantLock lock = locks.reentrantLock("job", BRIEF);
        lock.lock();
        fixed(lock, Duration.ofHours(2)).lock();
        lock.lock();
        assertThat(redis.pttl("redis-locks:{job}")).isLessThanOrEqualTo(1_000);
        RedisReentrantLock next = others.reentrantLock("job");
        next.lock();
        assertThat(next.previousHolderLost()).isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("HELD_TOO_LONG");
        next.unlock();
    }
}
