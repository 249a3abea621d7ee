package io.github.redislocks.redis;

import static io.github.redislocks.redis.JedisRedisFixture.COUNT;
import static io.github.redislocks.redis.JedisRedisFixture.LONG;
import static io.github.redislocks.redis.JedisRedisFixture.SHORT;
import static io.github.redislocks.redis.JedisRedisFixture.got;
import static io.github.redislocks.redis.JedisRedisFixture.inTime;
import static io.github.redislocks.redis.JedisRedisFixture.started;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.RedisException.Unanswered;
import io.github.redislocks.redis.connect.RedisUri;
import io.github.redislocks.redis.jedis.JedisConfigs;
import io.github.redislocks.redis.topology.Topology;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;

/** The way of calls when slots move and masters change, on real servers. */
@Timeout(60)
@Tag("server")
class ClusterRedisTest {

    private static ClusterServers servers;

    private final AtomicInteger moves = new AtomicInteger();
    private final String name = "{" + UUID.randomUUID() + "}";
    private final int slot = ClusterServers.slot(name);
    /** Released after the test at the latest, which could not close its waiting threads otherwise. */
    private final CountDownLatch mayGoOn = new CountDownLatch(1);

    private Redis redis;

    @BeforeAll
    static void startServers() {
        servers = ClusterServers.start();
    }

    @AfterAll
    static void stopServers() {
        servers.close();
    }

    @BeforeEach
    void open() {
        redis = RedisUri.parse(servers.uri()).open(4, SHORT);
        redis.onMoved(moves::incrementAndGet);
    }

    @AfterEach
    void close() {
        mayGoOn.countDown();
        redis.close();
        servers.servers().forEach(RedisServer::resume);
    }

    private static Call count(String... keys) {
        return new Call(COUNT.script(), List.of(keys), List.of());
    }

    private RedisServer anotherMaster() {
        RedisServer owner = servers.masterOf(name);
        return servers.masters().stream()
                .filter(server -> server != owner)
                .findFirst()
                .orElseThrow();
    }

    private static Reply counted(long value) {
        return new Reply("OK", List.of(value));
    }

    @Test
    void slotHasMoved_calls_followWithoutTheListener() {
        assertThat(redis.run(count(name), LONG)).isEqualTo(counted(1));
        RedisServer target = anotherMaster();
        servers.migrate(slot, servers.masterOf(name), target);
        assertThat(redis.run(count(name), LONG)).isEqualTo(counted(2));
        assertThat(redis.serverOf(name)).isEqualTo(target.address().toString());
        servers.migrate(slot, target, anotherMaster());
        assertThat(redis.runAll(List.of(count(name)), LONG)).containsExactly(Outcome.of(counted(3)));
        assertThat(moves).hasValue(0);
    }

    @Test
    void firstCallToANode_opensTheConnectionOfTheBackgroundToo() {
        redis.run(count(name), LONG);
        try (Jedis admin = servers.masterOf(name).client()) {
            await().until(() -> admin.clientList().contains("cmd=ping"));
            admin.configSet("maxclients", "1");
            try {
                assertThat(redis.runAll(List.of(count(name)), LONG)).containsExactly(Outcome.of(counted(2)));
            } finally {
                admin.configSet("maxclients", "1000");
            }
        }
    }

    @Test
    void slotIsBeingMoved_keysThatHaveGone_areFoundByAsking() {
        RedisServer source = servers.masterOf(name);
        RedisServer target = anotherMaster();
        redis.run(count(name), LONG);
        servers.beginMigration(slot, source, target);
        assertThat(redis.run(count(name), LONG)).as("still there").isEqualTo(counted(2));
        servers.moveKeys(slot, source, target, 100);
        assertThat(redis.run(count(name), LONG)).isEqualTo(counted(3));
        Call elsewhere = count(servers.nameOn(source, UUID.randomUUID() + "-"));
        assertThat(redis.runAll(List.of(count(name), elsewhere, count(name + "new")), LONG))
                .extracting(Outcome::reply)
                .containsExactly(counted(4), counted(1), counted(1));
        servers.endMigration(slot, source, target);
        assertThat(redis.run(count(name), LONG)).isEqualTo(counted(5));
    }

    @Test
    void slotIsBeingMoved_callsOnKeysOfBothSides_waitAndRunOnce() {
        RedisServer source = servers.masterOf(name);
        RedisServer target = anotherMaster();
        redis.run(count(name), LONG);
        servers.beginMigration(slot, source, target);
        Call both = count(name, name + "missing");
        // The last try may be unanswered too, if the machine leaves it no time.
        await().untilAsserted(() -> {
            Unanswered failure = inTime(() -> redis.run(both, SHORT));
            assertThat(failure).hasMessageContaining("TRYAGAIN");
            assertThat(failure.sent()).isFalse();
        });
        assertThat(redis.runAll(List.of(both), LONG).get(0).failure())
                .as("a batch does not wait for it")
                .hasMessageContaining("TRYAGAIN");
        FutureTask<Reply> waiting = started(() -> redis.run(both, LONG));
        FutureTask<Reply> interrupted = started(() -> {
            Thread.currentThread().interrupt();
            Reply reply = redis.run(both, LONG);
            assertThat(Thread.interrupted()).isTrue();
            return reply;
        });
        servers.moveKeys(slot, source, target, 100);
        servers.endMigration(slot, source, target);
        assertThat(List.of(got(waiting), got(interrupted))).containsExactlyInAnyOrder(counted(2), counted(3));
    }

    @Test
    void masterChanges_callsWaitUntilTheListenerHasReturned_andOldConnectionsAreClosed() throws Exception {
        CountDownLatch told = new CountDownLatch(1);
        redis.onMoved(() -> {
            moves.incrementAndGet();
            told.countDown();
            try {
                mayGoOn.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        redis.run(count(name), LONG);
        RedisServer before = servers.masterOf(name);
        RedisServer replica = servers.replicaOf(before);
        before.pause();
        FutureTask<Reply> underWay = started(() -> redis.run(count(name), LONG));
        servers.awaitPromoted(replica);
        assertThat(told.await(5, TimeUnit.SECONDS)).isTrue();
        assertThatThrownBy(() -> underWay.get(5, TimeUnit.SECONDS))
                .as("closed before the listener is called")
                .cause()
                .isInstanceOfSatisfying(
                        Unanswered.class, e -> assertThat(e.sent()).isTrue());
        FutureTask<Reply> next = started(() -> redis.run(count(name), LONG));
        await().during(Duration.ofMillis(300)).until(() -> !next.isDone());
        Call elsewhere = count(servers.nameOn(anotherMaster(), UUID.randomUUID() + "-"));
        assertThat(redis.run(elsewhere, LONG).code()).as("all the while").isEqualTo("OK");
        mayGoOn.countDown();
        assertThat(got(next).code()).isEqualTo("OK");
        assertThat(moves).hasValue(1);
        before.resume();
        servers.awaitStable();
        assertThat(redis.serverOf(name)).isEqualTo(replica.address().toString());
        assertThat(moves).hasValue(1);
    }

    @Test
    void masterHangs_othersInTheSameBatch_areAnswered() {
        RedisServer hangs = servers.masterOf(name);
        Call elsewhere = count(servers.nameOn(anotherMaster(), UUID.randomUUID() + "-"));
        // The connections of batches are open then: the batch below has no time to make them on a busy machine.
        redis.runAll(List.of(count(name), elsewhere), LONG);
        hangs.pause();
        List<Outcome> outcomes = redis.runAll(List.of(count(name), elsewhere), SHORT);
        hangs.resume();
        assertThat(outcomes.get(0).failure()).isInstanceOf(Unanswered.class);
        assertThat(outcomes.get(1).reply()).isNotNull();
        servers.awaitStable();
    }

    @Test
    void message_ofAnyNode_reachesTheSubscription() {
        for (int i = 0; i < 4; i++) {
            String channel = name + i;
            try (Redis.Subscription subscription = redis.subscribe(channel, LONG)) {
                redis.publish(channel, "hello", LONG);
                assertThat(got(started(subscription::next))).isEqualTo("hello");
            }
        }
    }

    @Test
    void seeds_thatAreAwayOrHang_areDoneWithout() {
        RedisServer hangs = anotherMaster();
        Address answers =
                JedisConfigs.address(servers.replicaOf(servers.masterOf(name)).address());
        hangs.pause();
        long began = System.nanoTime();
        List<Address> seeds = List.of(new Address("127.0.0.1", 1), JedisConfigs.address(hangs.address()), answers);
        JedisConfigs configs =
                new JedisConfigs(DefaultJedisClientConfig.builder().build());
        try (Redis fresh = new RedisUri(new Topology.Cluster(seeds), configs).open(1, SHORT)) {
            assertThat(fresh.run(count(name), LONG).code()).isEqualTo("OK");
        } finally {
            hangs.resume();
        }
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(1));
        servers.awaitStable();
    }

    @Test
    void serverThatIsNoNode_failsAtOnce() {
        try (RedisServer single = RedisServer.start();
                Redis wrong = RedisUri.parse(single.uri().replace("redis:", "redis-cluster:"))
                        .open(1, SHORT)) {
            long began = System.nanoTime();
            assertThatThrownBy(() -> wrong.run(count(name), LONG))
                    .isInstanceOf(Unanswered.class)
                    .hasMessageContaining("is no node of a cluster: for a single server, write " + single.uri());
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(1));
        }
    }

    @Test
    void closed_calls_failAtOnceAndThreadsEnd() {
        redis.run(count(name), LONG);
        redis.close();
        assertThatThrownBy(() -> redis.run(count(name), LONG)).isInstanceOf(Unanswered.class);
        assertThat(redis.runAll(List.of(count(name)), LONG))
                .singleElement()
                .satisfies(outcome -> assertThat(outcome.failure()).isInstanceOf(Unanswered.class));
        await().atMost(Duration.ofSeconds(1))
                .until(() -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("redis-locks-cluster")));
    }
}
