package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.cluster.ClusterMasters;
import io.github.redislocks.redis.cluster.ClusterNode;
import io.github.redislocks.redis.cluster.ClusterView;
import io.github.redislocks.redis.cluster.ClusterView.Claim;
import io.github.redislocks.redis.cluster.ClusterWatch;
import io.github.redislocks.redis.cluster.SlotMap;
import io.github.redislocks.redis.jedis.JedisConfigs;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.redis.sentinel.SentinelRedis;
import io.github.redislocks.redis.topology.Topology;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;

/** A client whose logger throws still follows its masters. */
@Timeout(30)
@Isolated("It looks at what all threads log")
class BrokenLoggerTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final Servers SERVERS =
            new JedisConfigs(DefaultJedisClientConfig.builder().build()).servers(1, Threads.DAEMONS);
    private static final Address OLD = new Address("127.0.0.1", 1);
    private static final Address NEW = new Address("127.0.0.1", 2);

    private final AtomicInteger moves = new AtomicInteger();
    private final AtomicInteger thrown = new AtomicInteger();
    private final PrintStream err = System.err;

    @BeforeEach
    void breakLogger() {
        System.setErr(new PrintStream(OutputStream.nullOutputStream()) {
            @Override
            public void println(@Nullable String line) {
                thrown.incrementAndGet();
                throw new IllegalStateException("in the logger");
            }
        });
    }

    @AfterEach
    void repairLogger() {
        System.setErr(err);
    }

    @Test
    void anotherMasterOfSentinels_isFollowed() {
        Topology.Sentinel topology = new Topology.Sentinel("locks", List.of(OLD));
        try (SentinelRedis redis = new SentinelRedis(topology, SERVERS, SERVERS, SECOND, Threads.DAEMONS)) {
            redis.onMoved(moves::incrementAndGet);
            redis.found(OLD);
            assertThatCode(() -> redis.found(NEW)).doesNotThrowAnyException();
            assertThat(redis.serverOf("key")).isEqualTo(NEW.toString());
        }
        assertThat(moves).hasValue(1);
        assertThat(thrown).hasPositiveValue();
    }

    @Test
    void anotherMasterOfACluster_isFollowed() {
        List<Consumer<SlotMap>> news = new ArrayList<>();
        try (ClusterMasters masters = new ClusterMasters(
                "the cluster",
                SERVERS,
                heard -> {
                    news.add(heard);
                    return new ClusterWatch(List.of(OLD), SERVERS, SECOND, heard, Threads.DAEMONS);
                },
                System::nanoTime)) {
            masters.onMoved(moves::incrementAndGet);
            SlotMap before = slots(SlotMap.UNKNOWN, new ClusterNode("a", OLD), 1);
            news.get(0).accept(before);
            assertThatCode(() -> news.get(0).accept(slots(before, new ClusterNode("b", NEW), 2)))
                    .doesNotThrowAnyException();
            SingleServer owner = masters.owner(0);
            assertThat(owner).isNotNull();
            assertThat(owner.address()).isEqualTo(NEW.toString());
        }
        assertThat(moves).hasValue(1);
        assertThat(thrown).hasPositiveValue();
    }

    @Test
    void connection_namesAreRefused_isMadeNevertheless() {
        try (RedisServer server = RedisServer.start();
                Jedis admin = server.client()) {
            admin.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all", "-client");
            JedisClientConfig clerk = DefaultJedisClientConfig.builder()
                    .user("clerk")
                    .password("secret")
                    .clientName("me")
                    .build();
            Call ping = new Call(new Script("ping", "return {'PONG'}", "0".repeat(40)), List.of(), List.of());
            Logged.infoBy(Loggers.CONNECTION, () -> {
                breakLogger();
                try (JedisRedis redis = new JedisRedis(server.address(), clerk, 2)) {
                    assertThat(redis.run(ping, SECOND).is("PONG")).isTrue();
                    assertThat(redis.run(ping, SECOND).is("PONG")).isTrue();
                }
            });
            assertThat(thrown).hasPositiveValue();
        }
    }

    private static SlotMap slots(SlotMap before, ClusterNode owner, long epoch) {
        return before.with(
                new ClusterView(List.of(new Claim(0, 16_383, owner, epoch)), Set.of(), Set.of()), node -> false);
    }
}
