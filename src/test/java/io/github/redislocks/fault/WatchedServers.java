package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import redis.clients.jedis.Jedis;

/** Helpers for tests of clients with {@code watchDeletions(true)} and several servers. */
abstract class WatchedServers {

    /** Of which a third is the time to the next renewal. */
    static final Duration LEASE = Duration.ofSeconds(9);

    /** Less than the time to the next renewal, by more than a stall. */
    private static final Duration LONG_BEFORE = Duration.ofMillis(1_500);

    private final List<RedisLocks> clients = new ArrayList<>();
    /** So that none is abandoned. */
    private final List<LockHandle> handles = new ArrayList<>();

    @AfterEach
    void closeClients() {
        clients.forEach(RedisLocks::close);
    }

    final RedisLocks watching(String uri) {
        return watching(uri, LEASE);
    }

    final RedisLocks watching(String uri, Duration lease) {
        RedisLocks locks =
                RedisLocks.builder().uri(uri).lease(lease).watchDeletions(true).build();
        clients.add(locks);
        return locks;
    }

    /** Holds a lock, and returns its loss to come. */
    final CompletableFuture<LockLost> held(RedisLocks locks, String name) {
        try {
            LockHandle handle = locks.reentrantLock(name).acquire();
            handles.add(handle);
            return handle.lost().toCompletableFuture();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static ConditionFactory soon() {
        return await().pollInterval(Duration.ofMillis(5));
    }

    /** Waits until a server remembers that somebody has read this lock and is to be told. */
    static void awaitTracked(RedisServer server, int keys) {
        soon().untilAsserted(() -> assertThat(tracked(server)).isEqualTo(keys));
    }

    /** Waits until a replica has what was written so far: after a failover before that a lock would be lost. */
    static void awaitReplicated(RedisServer master, String name) {
        try (Jedis jedis = master.client()) {
            // In the slot of the lock. A connection waits for the replicas of its own writes and all before.
            jedis.set("of-the-test:{" + name + "}", "");
            soon().until(() -> jedis.waitReplicas(1, 100) == 1);
        }
    }

    private static long tracked(RedisServer server) {
        try (Jedis jedis = server.client()) {
            return jedis.info("stats")
                    .lines()
                    .filter(line -> line.startsWith("tracking_total_keys:"))
                    .mapToLong(line ->
                            Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
                    .sum();
        }
    }

    static void delete(RedisServer server, String name) {
        try (Jedis jedis = server.client()) {
            assertThat(jedis.del("redis-locks:{" + name + "}")).isEqualTo(1);
        }
    }

    /** Just after a renewal, so that it is not the next one that tells. */
    static void isToldAtOnce(CompletableFuture<LockLost> news) {
        soon().atMost(LONG_BEFORE).until(news::isDone);
        assertThat(news.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
    }
}
