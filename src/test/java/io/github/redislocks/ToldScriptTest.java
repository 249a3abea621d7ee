package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;

/**
 * Whether a waiter counts as told when its message reached nobody: not on a server that is alone; in a cluster, where
 * that counts one node only, and where the server does not say what it is, it does.
 */
@Timeout(30)
class ToldScriptTest {

    private static final long SECOND = 1_000_000_000;
    private static final Call.NotAfter FOR_EVER = server -> 8_000_000_000_000_000L;

    private final LockKeys keys = LockKeys.of("redis-locks", "lock");

    private Attempt attempt(String owner) {
        return new Attempt(1, keys, new Owner(owner), new Attempt.Request(30_000, true, false), WaitLimit.endless());
    }

    /** The answer to a release while a thread waits that no message reaches. */
    private String release(Redis redis) {
        redis.run(Scripts.acquire(attempt("a:1"), FOR_EVER, false, 0), SECOND);
        redis.run(Scripts.acquire(attempt("b:1"), FOR_EVER, true, 0), SECOND);
        Hold hold = new Hold(attempt("a:1"), new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true), 0, 0, null);
        return redis.run(Scripts.release(hold, false, false), SECOND).code();
    }

    private String release(RedisServer server, DefaultJedisClientConfig.Builder login) {
        try (Redis redis = new JedisRedis(server.address(), login.build(), 1)) {
            return release(redis);
        }
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void release_onANodeOfACluster_grantsToWhomItCannotCount(RedisServer.Version version) {
        try (RedisServer server = RedisServer.start(version, "--cluster-enabled", "yes");
                Jedis admin = server.client()) {
            admin.sendCommand(Command.CLUSTER, allSlots());
            await().until(() -> admin.clusterInfo().contains("cluster_state:ok"));
            assertThat(release(server, DefaultJedisClientConfig.builder())).isEqualTo("GRANTED");
        }
    }

    private static String[] allSlots() {
        String[] words = new String[16_385];
        words[0] = "ADDSLOTS";
        for (int slot = 0; slot < 16_384; slot++) {
            words[slot + 1] = Integer.toString(slot);
        }
        return words;
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void release_onAServerThatIsAlone_passesOverWhomItCannotReach(RedisServer.Version version) {
        try (RedisServer server = RedisServer.start(version)) {
            assertThat(release(server, DefaultJedisClientConfig.builder())).isEqualTo("FREED");
        }
    }

    @Test
    void release_whereTheServerMayNotBeAskedWhatItIs_grants() {
        try (RedisServer server = RedisServer.start();
                Jedis admin = server.client()) {
            List<String> rule = List.of("SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all", "-info");
            admin.sendCommand(Command.ACL, rule.toArray(String[]::new));
            DefaultJedisClientConfig.Builder login =
                    DefaultJedisClientConfig.builder().user("locks").password("secret");
            assertThat(release(server, login)).isEqualTo("GRANTED");
        }
    }

    @Test
    void release_onTheTwin_doesAsTheServerThatItImitates() {
        InMemoryRedis redis = new InMemoryRedis();
        assertThat(release(redis)).isEqualTo("FREED");
        redis.flushAll();
        redis.clustered(true);
        assertThat(release(redis)).isEqualTo("GRANTED");
        redis.close();
    }
}
