package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.JedisServers;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** Sentinels and nodes of a cluster that are far away: the time for a command says what is worth waiting for. */
@Tag("once")
@Timeout(60)
@Tag("server")
class FarTopologyTest {

    private final List<FaultyProxy> proxies = new ArrayList<>();

    @AfterEach
    void close() {
        proxies.forEach(FaultyProxy::close);
    }

    private FaultyProxy far(HostAndPort address, Duration roundTrip) {
        FaultyProxy proxy = FaultyProxy.to(address);
        proxies.add(proxy);
        proxy.roundTrip(roundTrip);
        return proxy;
    }

    private static void lockAndUnlock(RedisLocks locks) {
        RedisReentrantLock lock = locks.reentrantLock("far-" + UUID.randomUUID());
        lock.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 200})
    void cluster_roundTripsOfManyMillis_connectsAndLocks(int millis) {
        Map<HostAndPort, FaultyProxy> ways = new HashMap<>();
        List<HostAndPort> nodes = ClusterServers.shared().addresses();
        nodes.forEach(node -> ways.put(node, far(node, Duration.ofMillis(millis))));
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder()
                .hostAndPortMapper(node -> ways.get(node).address())
                .build();
        // Four round trips find out who has what; four more ask the node that has it.
        try (RedisLocks locks = RedisLocks.builder()
                .servers(JedisServers.cluster(nodes, config))
                .commandTimeout(Duration.ofMillis(8L * millis))
                .build()) {
            for (RedisServer master : ClusterServers.shared().masters()) {
                RedisReentrantLock lock =
                        locks.reentrantLock(ClusterServers.shared().nameOn(master, "far-"));
                lock.lock();
                lock.unlock();
            }
        }
    }

    @Test
    void sentinels_roundTripsOfHalfASecond_connectAndLock() {
        try (SentinelServers servers = SentinelServers.startSmall()) {
            String sentinels = servers.sentinels().stream()
                    .map(sentinel -> far(sentinel.address(), Duration.ofMillis(500)))
                    .map(proxy -> proxy.address().toString())
                    .collect(Collectors.joining(","));
            try (RedisLocks locks = RedisLocks.builder()
                    .uri("redis-sentinel://" + sentinels + "/" + SentinelServers.MASTER)
                    .commandTimeout(Duration.ofSeconds(5))
                    .build()) {
                lockAndUnlock(locks);
            }
        }
    }
}
