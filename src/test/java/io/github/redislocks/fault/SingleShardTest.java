package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** A single address whose server keeps to the slots of a cluster: all of them, as managed services have it, or some. */
@Tag("once")
@Timeout(60)
@Tag("server")
class SingleShardTest {

    private static final int SLOTS = 16_384;
    private static final int HOLDS = 5;
    /** Long enough that no stall of the machine costs a hold between two renewals. */
    private static final Duration LEASE = Duration.ofSeconds(6);

    private final List<LockLost> losses = new CopyOnWriteArrayList<>();

    private static RedisServer shard(RedisServer.Version version) {
        RedisServer server = RedisServer.start(version, "--cluster-enabled", "yes");
        try (Jedis jedis = server.client()) {
            jedis.clusterAddSlots(IntStream.range(0, SLOTS).toArray());
            await().until(() -> jedis.clusterInfo().contains("cluster_state:ok"));
            jedis.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all", "-info");
        }
        return server;
    }

    private RedisLocks connect(String uri) {
        return RedisLocks.builder()
                .uri(uri)
                .lease(LEASE)
                .onLockLost(losses::add)
                .build();
    }

    /**
     * Takes a few locks, and returns when each has been renewed or one is lost. The server stands still until all
     * renewals are due, so that several are sent together however slowly the locks were taken.
     */
    private void holdUntilRenewed(RedisLocks locks, RedisServer server) {
        List<RedisReentrantLock> held = new ArrayList<>();
        for (int i = 0; i < HOLDS; i++) {
            RedisReentrantLock lock = locks.reentrantLock("job-" + i);
            lock.lock();
            held.add(lock);
        }
        List<RedisReentrantLock> due = new ArrayList<>(held);
        Duration interval = LEASE.dividedBy(3);
        server.pause();
        Duration dueBelow = LEASE.minus(interval.plusMillis(100));
        await().pollInSameThread()
                .until(() ->
                        held.stream().allMatch(lock -> lock.remainingLease().compareTo(dueBelow) < 0));
        server.resume();
        await().pollInSameThread().atMost(LEASE.plus(LEASE)).until(() -> {
            due.removeIf(lock -> lock.remainingLease().compareTo(LEASE.minus(interval.dividedBy(2))) > 0);
            return due.isEmpty() || !losses.isEmpty();
        });
        assertThat(losses).isEmpty();
        assertThat(held).allMatch(RedisReentrantLock::isHeldByCurrentThread);
        held.forEach(RedisReentrantLock::unlock);
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void shardThatHasAllSlots_holdsOfManySlots_areRenewed(RedisServer.Version version) {
        try (RedisServer server = shard(version)) {
            String log = Logged.by(() -> {
                try (RedisLocks locks = connect(server.uri())) {
                    holdUntilRenewed(locks, server);
                }
            });
            assertThat(log).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void shardThatDoesNotSayWhatItIs_holdsOfManySlots_areRenewedAfterARefusal(RedisServer.Version version) {
        try (RedisServer server = shard(version)) {
            String log = Logged.by(() -> {
                try (RedisLocks locks = connect(server.uri().replace("//", "//clerk:secret@"))) {
                    holdUntilRenewed(locks, server);
                }
            });
            assertThat(log).containsOnlyOnce("CROSSSLOT").contains("WARN", "one by one");
        }
    }

    @Test
    void shardThatDoesNotSayWhatItIs_keptLocksOfManySlots_areGivenUpAfterARefusal() {
        try (RedisServer server = shard(RedisServer.Version.V7_0);
                Jedis jedis = server.client()) {
            String log = Logged.by(() -> {
                try (RedisLocks locks = RedisLocks.builder()
                        .uri(server.uri().replace("//", "//clerk:secret@"))
                        .lease(Duration.ofMinutes(5))
                        .residency(Duration.ofMinutes(5))
                        .onLockLost(losses::add)
                        .build()) {
                    for (int i = 0; i < HOLDS; i++) {
                        locks.reentrantLock("job-" + i).runWithLock(() -> {});
                    }
                    // The end of the client gives all of them up together, and waits for the thread that writes the
                    // log.
                }
            });
            assertThat(log).containsOnlyOnce("CROSSSLOT");
            assertThat(losses).isEmpty();
            assertThat(IntStream.range(0, HOLDS)).noneMatch(i -> jedis.exists("redis-locks:{job-" + i + "}"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void nodeOfALargerCluster_asASingleServer_isRefused(int node) {
        RedisServer server = ClusterServers.shared().servers().get(node);
        assertThatThrownBy(() -> connect(server.uri()).close())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("redis-cluster://" + server.address());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void nodeOfALargerCluster_asAMasterOfAQuorum_isRefused(int node) {
        RedisServer server = ClusterServers.shared().servers().get(node);
        try (RedisServer second = RedisServer.start();
                RedisServer third = RedisServer.start()) {
            assertThatThrownBy(() -> RedisLocks.quorum(server.uri(), second.uri(), third.uri())
                            .close())
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("Redis at " + server.address() + " is one node of a cluster");
        }
    }

    @Test
    void shardThatHasAllSlots_asAMasterOfAQuorum_votes() {
        try (RedisServer shard = shard(RedisServer.Version.V7_0);
                RedisServer second = RedisServer.start();
                RedisServer third = RedisServer.start();
                RedisLocks locks = RedisLocks.builder()
                        .quorum(shard.uri(), second.uri(), third.uri())
                        .restartDelay(Duration.ZERO)
                        .build()) {
            third.kill();
            IntStream.range(0, HOLDS)
                    .forEach(i -> locks.reentrantLock("job-" + i).runWithLock(() -> {}));
        }
    }

    @Test
    void nodeOfALargerCluster_thatDoesNotSayIt_isNamedByTheFirstLockThatIsElsewhere() {
        RedisServer server = ClusterServers.shared().masterOf("redis-locks:{%}");
        try (Jedis jedis = server.client()) {
            jedis.aclSetUser("clerk", "on", ">secret", "~*", "&*", "+@all", "-info");
            try (RedisLocks locks = connect(server.uri().replace("//", "//clerk:secret@"))) {
                assertThatThrownBy(() -> IntStream.range(0, 20)
                                .forEach(i ->
                                        locks.reentrantLock("elsewhere-" + i).runWithLock(() -> {})))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("redis-cluster://");
            } finally {
                jedis.aclDelUser("clerk");
            }
        }
    }
}
