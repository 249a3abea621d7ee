package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** Holders learn at once that their lock was deleted from one of the masters of a cluster. */
@Tag("once")
@Timeout(60)
@Tag("server")
class ClusterWatchTest extends WatchedServers {

    private static ClusterServers servers;

    @BeforeAll
    static void start() {
        servers = ClusterServers.start();
    }

    @AfterAll
    static void stop() {
        servers.close();
    }

    @AfterEach
    void repair() {
        closeClients();
        for (RedisServer server : servers.servers()) {
            if (!server.isRunning()) {
                server.restart();
            }
        }
        servers.awaitStable();
        servers.masters().forEach(ClusterWatchTest::flush);
    }

    private static void flush(RedisServer server) {
        try (Jedis jedis = server.client()) {
            jedis.flushAll();
        }
    }

    private static String nameOn(RedisServer master) {
        return servers.nameOn(master, UUID.randomUUID() + "-");
    }

    /** The connections that a server tells of what they have subscribed to. */
    private static List<String> subscriptions(RedisServer server) {
        try (Jedis jedis = server.client()) {
            return jedis.clientList(ClientType.PUBSUB)
                    .lines()
                    .filter(line -> !line.isEmpty())
                    .map(line -> line.replaceFirst("id=(\\d+).*", "$1"))
                    .toList();
        }
    }

    /** Waits until a subscription counts as sound, by the age that the server tells. */
    private static void awaitOlderThanASecond(RedisServer server, String id) {
        try (Jedis jedis = server.client()) {
            soon().until(() -> jedis.clientList(Long.parseLong(id)).matches("(?s).* age=([2-9]|\\d\\d+) .*"));
        }
    }

    /** The connection to which a server redirects what it tells of the keys that the lane has read. */
    private static String told(RedisServer server) {
        try (Jedis jedis = server.client()) {
            return jedis.clientList()
                    .lines()
                    .filter(line -> line.contains("flags=t "))
                    .map(line -> line.replaceFirst(".* redir=(-?\\d+).*", "$1"))
                    .findFirst()
                    .orElse("");
        }
    }

    @Test
    void keyDeletedOnEachMaster_isToldAtOnce_andNobodyElseIs() {
        RedisLocks locks = watching(servers.uri());
        List<CompletableFuture<LockLost>> kept = new ArrayList<>();
        for (RedisServer master : servers.masters()) {
            kept.add(held(locks, nameOn(master)));
            String name = nameOn(master);
            CompletableFuture<LockLost> news = held(locks, name);
            awaitTracked(master, 2);
            delete(master, name);
            isToldAtOnce(news);
        }
        assertThat(kept).noneMatch(CompletableFuture::isDone);
    }

    @Test
    void oneMasterFlushed_itsHoldersAreToldAtOnce() {
        RedisLocks locks = watching(servers.uri());
        RedisServer flushed = servers.masters().get(0);
        CompletableFuture<LockLost> other = held(locks, nameOn(servers.masters().get(1)));
        List<CompletableFuture<LockLost>> news = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            news.add(held(locks, nameOn(flushed)));
        }
        awaitTracked(flushed, 5);
        flush(flushed);
        news.forEach(WatchedServers::isToldAtOnce);
        assertThat(other).isNotDone();
    }

    @Test
    void slotMoves_keyDeletedThere_isToldAtOnceFromTheNextRenewalOn() {
        RedisServer source = servers.masters().get(0);
        RedisServer target = servers.masters().get(1);
        String name = nameOn(source);
        int slot = ClusterServers.slot(name);
        CompletableFuture<LockLost> news = held(watching(servers.uri()), name);
        awaitTracked(source, 1);
        servers.migrate(slot, source, target);
        try {
            awaitTracked(target, 1);
            delete(target, name);
            isToldAtOnce(news);
        } finally {
            servers.migrate(slot, target, source);
        }
    }

    @Test
    void failoverByHand_keyDeletedOnTheNewMaster_isToldAtOnce() {
        RedisServer master = servers.masters().get(0);
        String name = nameOn(master);
        CompletableFuture<LockLost> news = held(watching(servers.uri()), name);
        awaitTracked(master, 1);
        awaitReplicated(master, name);
        RedisServer replica = servers.replicaOf(master);
        servers.failover(replica);
        awaitTracked(replica, 1);
        delete(replica, name);
        isToldAtOnce(news);
    }

    @Test
    void masterDies_keyDeletedOnTheNewOne_isToldAtOnce() {
        RedisServer master = servers.masters().get(0);
        String name = nameOn(master);
        CompletableFuture<LockLost> news = held(watching(servers.uri()), name);
        awaitTracked(master, 1);
        awaitReplicated(master, name);
        RedisServer replica = servers.replicaOf(master);
        master.kill();
        servers.awaitPromoted(replica);
        awaitTracked(replica, 1);
        delete(replica, name);
        isToldAtOnce(news);
    }

    /** Without waiting for the next renewal, which is 20 s away. */
    @Test
    void subscriptionOfANode_thatIsKilled_isMadeAnewAtOnce() {
        RedisServer master = servers.masters().get(0);
        String name = nameOn(master);
        CompletableFuture<LockLost> news = held(watching(servers.uri(), Duration.ofMinutes(1)), name);
        awaitTracked(master, 1);
        String before = told(master);
        awaitOlderThanASecond(master, before);
        try (Jedis admin = master.client()) {
            admin.clientKill(ClientKillParams.clientKillParams().id(before));
        }
        soon().until(() -> !told(master).equals(before) && subscriptions(master).contains(told(master)));
        delete(master, name);
        isToldAtOnce(news);
    }

    @Test
    void close_threadsThatHear_end() {
        RedisLocks locks = watching(servers.uri());
        String client = locks.clientId().replaceFirst(".*:", "");
        RedisServer master = servers.masters().get(0);
        CompletableFuture<LockLost> news = held(locks, nameOn(master));
        awaitTracked(master, 1);
        assertThat(hearing(client)).isEqualTo(1);
        assertThat(news).isNotDone();
        locks.close();
        soon().until(() -> hearing(client) == 0);
    }

    private static long hearing(String client) {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("redis-locks-watch-") && name.endsWith(client))
                .count();
    }

    @Test
    void build_whereOneMasterRefusesToTell_saysWhich() {
        RedisServer strict = servers.masters().get(2);
        for (RedisServer server : servers.servers()) {
            try (Jedis admin = server.client()) {
                admin.aclSetUser("app", "on", "nopass", "~*", "&*", "+@all");
                if (server == strict) {
                    admin.aclSetUser("app", "-client|tracking");
                }
            }
        }
        String uri = servers.uri().replace("://", "://app:any@");
        assertThatThrownBy(() -> watching(uri))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining(strict.address().toString())
                .hasMessageContaining("+client|tracking");
    }
}
