package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.JedisServers;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServer;
import io.github.redislocks.fixture.SentinelServers;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/** A way to Redis that delivers each answer byte by byte: a try ends in its time, though every byte comes in time. */
@Timeout(60)
@Tag("server")
class DrippingWayTest {

    private static final Duration PAUSE = Duration.ofMillis(150);
    private static final long TRY_MILLIS = 300;

    /** The promised bound and a second for a busy machine: less than the bytes of a short answer take. */
    private static final Duration BOUND = Duration.ofMillis(TRY_MILLIS + 200 + 1_000);

    private final Map<HostAndPort, FaultyProxy> ways = new HashMap<>();

    @AfterEach
    void close() {
        ways.values().forEach(FaultyProxy::close);
    }

    private JedisClientConfig throughWaysTo(List<HostAndPort> servers) {
        servers.forEach(server -> ways.put(server, FaultyProxy.to(server)));
        return DefaultJedisClientConfig.builder()
                .hostAndPortMapper(server -> ways.get(server).address())
                .build();
    }

    /** Tries a lock often enough that some tries meet connections that were used before, and others fresh ones. */
    private void assertTriesEndInTime(RedisLocksBuilder client) {
        try (RedisLocks locks = client.build()) {
            RedisReentrantLock lock = locks.reentrantLock("dripping-" + UUID.randomUUID());
            lock.lock();
            lock.unlock();
            ways.values().forEach(way -> way.dripReplies(PAUSE));
            for (int i = 0; i < 3; i++) {
                long begin = System.nanoTime();
                assertThat(isAcquired(lock)).isFalse();
                assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(BOUND);
            }
            ways.values().forEach(FaultyProxy::pass);
        }
    }

    private static boolean isAcquired(RedisReentrantLock lock) {
        try {
            return lock.tryLock(TRY_MILLIS, TimeUnit.MILLISECONDS);
        } catch (LockUnavailableException unanswered) {
            return false;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void tryLock_singleServer_endsInTime() {
        try (RedisServer server = RedisServer.start()) {
            assertTriesEndInTime(RedisLocks.builder()
                    .servers(JedisServers.single(server.address(), throughWaysTo(List.of(server.address())))));
        }
    }

    @Test
    void tryLock_cluster_endsInTime() {
        List<HostAndPort> nodes = ClusterServers.shared().addresses();
        assertTriesEndInTime(RedisLocks.builder().servers(JedisServers.cluster(nodes, throughWaysTo(nodes))));
    }

    @Test
    void tryLock_quorum_endsInTime() {
        List<HostAndPort> masters = IntStream.range(0, 3)
                .mapToObj(i -> QuorumServers.shared().get(i).address())
                .toList();
        assertTriesEndInTime(RedisLocks.builder()
                .servers(JedisServers.quorum(masters, throughWaysTo(masters)))
                .restartDelay(Duration.ZERO));
    }

    @Test
    void tryLock_masterOfSentinels_endsInTime() {
        SentinelServers servers = SentinelServers.shared();
        List<HostAndPort> sentinels =
                servers.sentinels().stream().map(SentinelServer::address).toList();
        assertTriesEndInTime(RedisLocks.builder()
                .servers(JedisServers.sentinel(
                        SentinelServers.MASTER,
                        sentinels,
                        throughWaysTo(List.of(servers.master().address())),
                        DefaultJedisClientConfig.builder().build())));
    }
}
