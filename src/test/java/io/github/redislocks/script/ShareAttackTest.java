package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;

/** The scripts of shares on real servers: they do as on the twin, also with few rights and with a full memory. */
@Tag("server")
@Timeout(120)
class ShareAttackTest {

    private static final long SECOND = 1_000_000_000;
    private static final long TIMEOUT = 20 * SECOND;
    private static final String FOR_EVER = "8000000000000000";
    private static final LockKeys KEYS = LockKeys.of("redis-locks", "lock");
    private static final List<String> CLIENTS = List.of("a", "b", "c");
    private static final Map<String, Script> SCRIPTS = new HashMap<>();

    /** The rights that docs/redis.md names, without publish, subscribe and the patterns. */
    private static final String RIGHTS =
            "+evalsha +eval +publish +subscribe +info +time +exists +del +pexpire +pttl +get +set +append +hget +hmget"
                    + " +hset +hsetnx +hdel +hincrby +zadd +zrem +zpopmin +zscore +zrange +zrangebylex +zcard";

    private record Step(String script, List<String> args) {}

    private static Call call(Step step) {
        List<String> keys =
                switch (step.script) {
                    case "take" -> List.of(KEYS.lock(), KEYS.fence());
                    case "renew_shares" -> List.of(KEYS.lock(), KEYS.fence(), KEYS.queue(), KEYS.waiters());
                    default -> KEYS.all();
                };
        return new Call(
                SCRIPTS.computeIfAbsent(step.script, name -> Script.load(Scripts.class, name)), keys, step.args);
    }

    private static Reply run(Redis redis, String script, String... args) {
        return redis.run(call(new Step(script, List.of(args))), TIMEOUT);
    }

    private static Redis open(RedisServer server, String user) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder();
        if (!user.isEmpty()) {
            config.user(user).password("secret");
        }
        return new JedisRedis(server.address(), config.build(), 4);
    }

    private static Step random(Random random) {
        String client = CLIENTS.get(random.nextInt(CLIENTS.size()));
        String owner = client + ":1";
        String attempt = Integer.toString(1 + random.nextInt(4));
        String next = Integer.toString(1 + random.nextInt(4));
        boolean places = random.nextBoolean();
        return switch (random.nextInt(10)) {
            case 0, 1, 2 -> new Step("share", List.of(client, attempt, "60000", FOR_EVER, places ? "60000" : "", "7"));
            case 3 -> new Step("unshare", List.of(client, attempt, "0"));
            case 4 -> new Step("renew_shares", List.of(client, "60000", attempt));
            case 5 -> new Step("downgrade", List.of(owner, attempt, client, next, "60000"));
            case 6 ->
                new Step("acquire", List.of(owner, attempt, "60000", FOR_EVER, places ? "60000" : "", "0", "queue"));
            case 7 -> new Step("heartbeat", List.of(owner, attempt, FOR_EVER, "1", "60000"));
            case 8 -> new Step("release", List.of(owner, attempt));
            default -> new Step("leave", List.of(owner, attempt, "0", "0", "", "", "", ""));
        };
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void randomCalls_onAServer_doAsOnTheTwin(RedisServer.Version version) {
        try (RedisServer server = RedisServer.start(version);
                Jedis jedis = server.client();
                InMemoryRedis twin = new InMemoryRedis();
                Redis redis = open(server, "")) {
            List<Redis.Subscription> mailboxes = new ArrayList<>();
            // Nobody hears for the third client.
            for (String client : CLIENTS.subList(0, 2)) {
                mailboxes.add(twin.subscribe(LockKeys.mailbox("redis-locks", client), TIMEOUT));
                mailboxes.add(redis.subscribe(LockKeys.mailbox("redis-locks", client), TIMEOUT));
            }
            for (int seed = 0; seed < 20; seed++) {
                Random random = new Random(seed);
                List<String> history = new ArrayList<>(List.of("seed " + seed));
                twin.flushAll();
                jedis.flushAll();
                for (int i = 0; i < 100; i++) {
                    Step step = random(random);
                    history.add(step.toString());
                    String there = shown(redis.run(call(step), TIMEOUT));
                    assertThat(there).as(history.toString()).isEqualTo(shown(twin.run(call(step), TIMEOUT)));
                    Map<String, String> hash = jedis.hgetAll(KEYS.lock());
                    assertThat(shown(hash)).as(history.toString()).isEqualTo(shown(twin.hash(KEYS.lock())));
                    assertThat(jedis.hkeys(KEYS.shares()))
                            .as(history.toString())
                            .isEqualTo(twin.hash(KEYS.shares()).keySet());
                }
            }
            mailboxes.forEach(Redis.Subscription::close);
        }
    }

    /** A reply without its times and tokens. */
    private static String shown(Reply reply) {
        List<Object> flags = reply.values().stream()
                .map(value -> value instanceof Long number && number > 1 ? "n" : value)
                .toList();
        return reply.code() + flags;
    }

    /** A hash without its times and tokens. */
    private static String shown(Map<String, String> hash) {
        TreeSet<String> fields = new TreeSet<>();
        hash.forEach((field, value) ->
                fields.add(field.matches("token|attempt") ? field : field + "=" + value.replaceAll(" \\d+$", "")));
        return fields.toString();
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void userWhoMayReadWholeHashes_mayShare_andAnotherIsRefusedBeforeTheFirstWrite(RedisServer.Version version) {
        try (RedisServer server = RedisServer.start(version);
                Jedis jedis = server.client()) {
            List<String> rights = new ArrayList<>(List.of(
                    "on", ">secret", "resetkeys", "resetchannels", "~redis-locks:*", "&redis-locks:*", "-@all"));
            rights.addAll(List.of(RIGHTS.split(" ")));
            jedis.aclSetUser("writer", rights.toArray(String[]::new));
            rights.add("+hgetall");
            jedis.aclSetUser("reader", rights.toArray(String[]::new));
            try (Redis redis = open(server, "writer")) {
                assertThatThrownBy(() -> run(redis, "share", "a", "1", "60000", FOR_EVER, "4500", "7"))
                        .isInstanceOf(RedisException.Refused.class)
                        .hasMessageContaining("can't run this command");
                assertThat(jedis.keys("*")).isEmpty();
                run(redis, "take", "a:1", "1", "60000", FOR_EVER);
                assertThat(run(redis, "release_after", "a:1", "1", "60000").code())
                        .isEqualTo("KEPT");
                jedis.flushAll();
            }
            try (Redis redis = open(server, "reader")) {
                for (int i = 0; i < 300; i++) {
                    redis.run(call(random(new Random(i))), TIMEOUT);
                }
                run(redis, "version");
            }
        }
    }

    @ParameterizedTest
    @EnumSource(RedisServer.Version.class)
    void fullMemory_refusesANewShare_butRenewsEndsAndHandsOn(RedisServer.Version version) {
        try (RedisServer server = RedisServer.start(version);
                Jedis jedis = server.client();
                Redis redis = open(server, "");
                Redis.Subscription writer = redis.subscribe(LockKeys.mailbox("redis-locks", "b"), TIMEOUT);
                Redis.Subscription reader = redis.subscribe(LockKeys.mailbox("redis-locks", "c"), TIMEOUT)) {
            assertThat(writer).isNotSameAs(reader);
            run(redis, "share", "a", "1", "60000", FOR_EVER, "60000", "7");
            run(redis, "acquire", "b:1", "1", "60000", FOR_EVER, "60000", "0", "barge");
            run(redis, "share", "c", "1", "60000", FOR_EVER, "60000", "7");
            jedis.configSet("maxmemory", "1");
            assertThat(run(redis, "renew_shares", "a", "60000", "1").values()).containsExactly(1L);
            assertThat(run(redis, "unshare", "a", "1", "0").code()).isEqualTo("DONE");
            assertThat(jedis.hget(KEYS.lock(), "owner")).isEqualTo("b:1");
            assertThat(run(redis, "downgrade", "b:1", "1", "b", "2", "60000").code())
                    .isEqualTo("OK");
            assertThat(jedis.hgetAll(KEYS.lock())).containsKeys("s:b", "s:c");
            assertThatThrownBy(() -> run(redis, "share", "d", "1", "60000", FOR_EVER, "60000", "7"))
                    .isInstanceOf(RedisException.Refused.class)
                    .hasMessageContaining("OOM");
            assertThat(jedis.hgetAll(KEYS.lock())).doesNotContainKey("s:d");
            run(redis, "unshare", "c", "1", "0");
            run(redis, "unshare", "b", "2", "0");
            assertThat(jedis.keys("*")).containsExactly(KEYS.fence());
        }
    }
}
