package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** A mailbox that is still open at the server that was the master before. */
@Timeout(60)
@Tag("server")
class DemotedMailboxTest {

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    @Test
    void subscriptionLeftAtADemotedServer_isNoProofOfAGrant() throws Exception {
        try (RedisServer before = RedisServer.start();
                RedisServer promoted = RedisServer.start("--repl-diskless-sync-delay", "0");
                FaultyProxy address = FaultyProxy.to(before);
                Jedis one = before.client();
                RedisLocks x = RedisLocks.connect(address.uri())) {
            try (RedisLocks first = RedisLocks.connect("redis://" + before.address())) {
                RedisReentrantLock held = first.reentrantLock("other");
                held.lock();
                Future<?> waits = threads.submit(() -> {
                    x.reentrantLock("other").lock();
                    x.reentrantLock("other").unlock();
                });
                await().until(() -> first.inspect("other").queueLength() == 1);
                held.unlock();
                waits.get();
            }
            one.replicaof("127.0.0.1", promoted.port());
            address.retarget(promoted);
            await().until(() -> one.info("replication").contains("master_link_status:up"));
            // As "timeout" in its configuration does: it spares subscriptions.
            one.clientKill(new ClientKillParams().type(ClientType.NORMAL).skipMe(ClientKillParams.SkipMe.YES));
            try (RedisLocks y = RedisLocks.connect("redis://" + promoted.address());
                    RedisLocks z = RedisLocks.connect("redis://" + promoted.address())) {
                for (int i = 0; i < 5; i++) {
                    String name = "job" + i;
                    RedisReentrantLock held = y.reentrantLock(name);
                    held.lock();
                    Future<?> a = threads.submit(() -> use(x.reentrantLock(name), promoted));
                    await().until(() -> y.inspect(name).queueLength() == 1);
                    Future<?> b = threads.submit(() -> use(z.reentrantLock(name), promoted));
                    await().until(() -> y.inspect(name).queueLength() == 2);
                    held.unlock();
                    a.get();
                    b.get();
                }
            }
        }
    }

    /** Locks, and looks whether Redis says the same of the owner. */
    private static void use(RedisReentrantLock lock, RedisServer server) {
        lock.lock();
        try (Jedis jedis = server.client()) {
            String key = "redis-locks:{" + lock.getName() + "}";
            assertThat(jedis.hget(key, "owner"))
                    .as("the owner in Redis")
                    .endsWith(":" + Thread.currentThread().getId());
            assertThat(jedis.hget(key, "token")).isEqualTo(Long.toString(lock.fencingToken()));
        } finally {
            lock.unlock();
        }
    }
}
