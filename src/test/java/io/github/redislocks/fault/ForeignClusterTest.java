package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;

/** Which of two clusters a client believes in, if its seeds lead to both. */
@Tag("once")
@Timeout(120)
@Tag("server")
class ForeignClusterTest {

    private static final Duration LEASE = Duration.ofSeconds(20);
    /** More questions than it takes to ask each node of both clusters twice. */
    private static final int QUESTIONS = 5;

    private static final Pattern SLOTS_ASKED = Pattern.compile("cmdstat_cluster\\|slots:calls=(\\d+)");

    private final String name = "job-" + UUID.randomUUID();
    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final List<AutoCloseable> opened = new ArrayList<>();
    private ClusterServers right;
    private ClusterServers foreign;

    @BeforeEach
    void start() {
        right = ClusterServers.startSmall(1);
        opened.add(right);
        foreign = ClusterServers.startSmall(100);
        opened.add(foreign);
    }

    @AfterEach
    void stop() throws Exception {
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    private RedisLocks connect(List<HostAndPort> seeds) {
        String uri = seeds.stream().map(HostAndPort::toString).collect(Collectors.joining(",", "redis-cluster://", ""));
        RedisLocks client = RedisLocks.builder()
                .uri(uri)
                .lease(LEASE)
                .commandTimeout(Duration.ofMillis(500))
                .onLockLost(losses::add)
                .build();
        opened.add(client);
        return client;
    }

    private List<FaultyProxy> waysTo(ClusterServers first, ClusterServers second, ClusterServers third) {
        List<FaultyProxy> ways = Stream.of(first, second, third)
                .map(cluster -> FaultyProxy.to(cluster.servers().get(0)))
                .toList();
        opened.addAll(ways);
        return ways;
    }

    private static List<HostAndPort> addresses(List<FaultyProxy> ways) {
        return ways.stream().map(FaultyProxy::address).toList();
    }

    private static HostAndPort node(ClusterServers cluster, int index) {
        return cluster.servers().get(index).address();
    }

    private static void lead(FaultyProxy way, ClusterServers cluster) {
        way.retarget(cluster.servers().get(0));
        way.cut();
    }

    private static int slotsAsked(RedisServer server) {
        try (Jedis jedis = server.client()) {
            Matcher found = SLOTS_ASKED.matcher(jedis.info("commandstats"));
            return found.find() ? Integer.parseInt(found.group(1)) : 0;
        }
    }

    /** Waits until a foreign node has been asked some more times, so that its replies have been used. */
    private void awaitForeignHeard() {
        RedisServer node = foreign.servers().get(0);
        int before = slotsAsked(node);
        await().atMost(Duration.ofSeconds(30)).until(() -> slotsAsked(node) >= before + QUESTIONS);
    }

    private static void isHeldIn(ClusterServers cluster, RedisReentrantLock lock) {
        try (Jedis jedis =
                cluster.masterOf("redis-locks:{" + lock.getName() + "}").client()) {
            assertThat(jedis.exists("redis-locks:{" + lock.getName() + "}")).isTrue();
        }
    }

    private void isUsed(ClusterServers cluster, RedisLocks client) {
        RedisReentrantLock lock = client.reentrantLock("used-" + UUID.randomUUID());
        lock.lock();
        isHeldIn(cluster, lock);
        lock.unlock();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void oneForeignSeed_withGreaterEpochs_leadsNobodyToAnotherCluster(int place) {
        List<HostAndPort> seeds = new ArrayList<>(right.addresses());
        seeds.add(place, node(foreign, 0));
        RedisLocks misled = connect(seeds);
        RedisReentrantLock held = connect(right.addresses()).reentrantLock(name);
        held.lock();
        awaitForeignHeard();
        assertThat(misled.reentrantLock(name).tryLock()).isFalse();
        held.unlock();
        isUsed(right, misled);
        assertThat(losses).isEmpty();
    }

    @Test
    void onlySeed_thatNowLeadsToAnotherCluster_isNotFollowedWhileTheKnownOneAnswers() {
        FaultyProxy way = waysTo(right, right, right).get(0);
        RedisLocks client = connect(List.of(way.address()));
        RedisReentrantLock held = client.reentrantLock(name);
        held.lock();
        lead(way, foreign);
        awaitForeignHeard();
        isHeldIn(right, held);
        held.unlock();
        isUsed(right, client);
        assertThat(losses).isEmpty();
    }

    @Test
    void mostSeeds_thatNowLeadToAnotherCluster_areNotFollowedWhileANodeOfTheKnownOneAnswers() {
        List<FaultyProxy> ways = waysTo(right, right, right);
        RedisLocks client = connect(addresses(ways));
        RedisServer stays = right.servers().get(0);
        RedisReentrantLock held = client.reentrantLock(right.nameOn(stays, name));
        held.lock();
        right.servers().get(1).kill();
        ways.forEach(way -> lead(way, foreign));
        awaitForeignHeard();
        assertThat(held.isHeldByCurrentThread()).isTrue();
        held.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void clusterRebuiltOnOtherNodes_withLesserEpochs_isFollowedOnceNothingOfTheKnownOneAnswers() {
        List<FaultyProxy> ways = waysTo(foreign, foreign, foreign);
        RedisLocks client = connect(addresses(ways));
        RedisReentrantLock held = client.reentrantLock(name);
        held.lock();
        lead(ways.get(0), right);
        lead(ways.get(1), right);
        ways.get(2).refuse();
        foreign.servers().forEach(RedisServer::kill);
        await().atMost(Duration.ofSeconds(20)).until(() -> !losses.isEmpty());
        assertThat(losses).singleElement().extracting(LockLost::reason).isEqualTo(LockLost.Reason.TAKEN);
        isUsed(right, client);
    }

    @Test
    void knownClusterIsDead_oneOfThreeSeedsForeign_isNotFollowed() {
        List<FaultyProxy> ways = waysTo(right, right, foreign);
        RedisLocks client = connect(addresses(ways));
        RedisReentrantLock held = client.reentrantLock(name);
        held.lock();
        right.servers().forEach(RedisServer::pause);
        awaitForeignHeard();
        right.servers().forEach(RedisServer::resume);
        isUsed(right, client);
        isHeldIn(right, held);
        held.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void clientThatBeganWithTheOneForeignSeed_comesBackWhenMostSeedsNameAnother() {
        List<FaultyProxy> ways = waysTo(right, right, foreign);
        ways.get(0).refuse();
        ways.get(1).refuse();
        RedisLocks client = connect(addresses(ways));
        isUsed(foreign, client);
        RedisReentrantLock held = client.reentrantLock(name);
        held.lock();
        ways.get(0).admit();
        ways.get(1).admit();
        await().atMost(Duration.ofSeconds(20)).until(() -> !losses.isEmpty());
        isUsed(right, client);
    }

    @Test
    void clusterRebuiltOnItsNodes_withLesserEpochs_isFollowed() {
        RedisLocks client = connect(foreign.addresses());
        RedisReentrantLock held = client.reentrantLock(name);
        held.lock();
        foreign.rebuild();
        await().atMost(Duration.ofSeconds(20)).until(() -> !losses.isEmpty());
        assertThat(losses).singleElement().extracting(LockLost::reason).isEqualTo(LockLost.Reason.TAKEN);
        isUsed(foreign, client);
    }
}
