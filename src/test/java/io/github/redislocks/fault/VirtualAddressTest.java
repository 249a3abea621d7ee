package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** An address that leads to the promoted server, while the connections made before lead to the demoted one. */
@Timeout(60)
@Tag("server")
class VirtualAddressTest {

    private static final String KEY = "redis-locks:{job}";

    @Test
    void failover_holdIsRenewedOnThePromotedServer_andWaitersHearOfIt() throws InterruptedException {
        List<LockLost> losses = new CopyOnWriteArrayList<>();
        try (RedisServer before = RedisServer.start("--repl-diskless-sync-delay", "0");
                RedisServer promoted = RedisServer.start("--replicaof", "127.0.0.1", Integer.toString(before.port()));
                FaultyProxy address = FaultyProxy.to(before);
                Jedis old = before.client();
                Jedis now = promoted.client();
                RedisLocks locks = RedisLocks.builder()
                        .uri(address.uri())
                        .lease(Duration.ofSeconds(2))
                        .onLockLost(losses::add)
                        .build()) {
            await().until(() -> old.waitReplicas(1, 10) == 1);
            RedisReentrantLock lock = locks.reentrantLock("job");
            lock.lock();
            Thread waiter = new Thread(() -> {
                lock.lock();
                lock.unlock();
            });
            waiter.start();
            await().until(() -> old.exists(KEY) && old.waitReplicas(1, 10) == 1);
            address.retarget(promoted);
            now.replicaofNoOne();
            old.replicaof("127.0.0.1", promoted.port());
            await().pollInSameThread()
                    .during(Duration.ofSeconds(3))
                    .atMost(Duration.ofSeconds(6))
                    .until(() -> lock.isHeldByCurrentThread() && now.exists(KEY));
            lock.unlock();
            waiter.join();
            assertThat(losses).isEmpty();
            assertThat(now.exists(KEY)).isFalse();
        }
    }
}
