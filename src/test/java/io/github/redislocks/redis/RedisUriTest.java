package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.redislocks.redis.connect.RedisUri;
import io.github.redislocks.redis.jedis.JedisConfigs;
import io.github.redislocks.redis.topology.Topology;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

class RedisUriTest {

    private static final Address FIRST = new Address("one", 26_379);
    private static final Address SECOND = new Address("two", 7_000);

    private static Address address(RedisUri uri) {
        return ((Topology.Single) uri.topology()).address();
    }

    @Test
    void parse_everyPart_isUsed() {
        RedisUri uri = RedisUri.parse("redis://us%40er:p%3Ass+word@example.org:7000/3");
        assertThat(address(uri)).isEqualTo(new Address("example.org", 7000));
        assertThat(uri.configs().server().getUser()).isEqualTo("us@er");
        assertThat(uri.configs().server().getPassword()).isEqualTo("p:ss+word");
        assertThat(uri.configs().server().getDatabase()).isEqualTo(3);
        assertThat(uri.configs().server().getSslOptions()).isNull();
    }

    @Test
    void parse_least_hasDefaults() {
        RedisUri uri = RedisUri.parse("redis://localhost");
        assertThat(address(uri)).isEqualTo(new Address("localhost", 6379));
        assertThat(uri.configs().server().getPassword()).isNull();
        assertThat(uri.configs().server().getDatabase()).isZero();
        assertThat(address(RedisUri.parse("redis://[::1]:6380/"))).isEqualTo(new Address("::1", 6380));
        assertThat(RedisUri.parse("rediss://:secret@localhost")
                        .configs()
                        .server()
                        .getSslOptions())
                .isNotNull();
    }

    @ParameterizedTest
    @CsvSource({
        "localhost:6379, must start with redis://",
        "redis:localhost, names no host",
        "http://localhost, must start with redis://",
        "redis://, names no host",
        "localhost, must start with redis://",
        "redis://:a%zz@localhost, two hexadecimal digits",
        "redis:///0, names no host",
        "redis://localhost:0, the port 0",
        "redis://localhost:70000, the port 70000",
        "redis://localhost/x, must be a number from 0",
        "redis://localhost/-1, must be a number from 0",
        "redis://localhost?timeout=1, parameter that is not known",
        "redis://name@localhost, no password",
        "redis://local host, a character that host names cannot have",
        "redis://one#two, fragment",
        "redis://one:x, a port that is no number",
        "redis://o$e, a character that host names cannot have",
        "'redis://one,two', several hosts",
        "redis://one?sentinelPassword=x, parameter that is not known",
        "redis://one?clientName, no value for the parameter clientName",
        "redis://one?clientName=, no value for the parameter clientName",
        "redis://one?clientName=a&clientName=b, the parameter clientName twice",
        "redis://one?clientName=a%20b, a clientName with a space",
        "redis://one?commandTimeout=5, not a number of ms or s",
        "redis-cluster://one/1, only database 0",
        "redis-cluster://one/x, must be a number from 0",
        "redis-cluster://, names no host",
        "'redis-cluster://one,', an empty one",
        "'redis-cluster://one,one:6379', names the host one:6379 twice",
        "redis-cluster://one?sentinelPassword=x, parameter that is not known",
        "redis-sentinel://one, names no master",
        "redis-sentinel://one/, names no master",
        "redis-sentinel://one//0, names no master",
        "redis-sentinel://one/main/x, must be a number from 0",
        "redis-sentinel://one/main/0/0, must be a number from 0",
        "'redis-sentinel://one,/main', an empty one",
        "'redis-sentinel://,one/main', an empty one",
        "'redis-sentinel://one,ONE:26379/main', names the host one:26379 twice",
        "redis-sentinel://one/main?sentinelUser=u, no sentinelPassword"
    })
    void parse_whatCannotWork_isRefusedWithRuleAndRemedy(String uri, String rule) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisUri.parse(uri))
                .withMessageContaining(rule)
                .withMessageContaining("redis://host:port");
    }

    @Test
    void parse_sentinel_everyPartIsUsed() {
        RedisUri uri = RedisUri.parse("redis-sentinel://me:p%40ss@one,two:7000/the%20master/3"
                + "?clientName=shop&sentinelUser=watcher&sentinelPassword=p%26ss+word&commandTimeout=500ms");
        assertThat(uri.configs().server().getUser()).isEqualTo("me");
        assertThat(uri.configs().server().getPassword()).isEqualTo("p@ss");
        assertThat(uri.configs().server().getDatabase()).isEqualTo(3);
        assertThat(uri.configs().server().getClientName()).isEqualTo("shop");
        assertThat(uri.commandTimeout()).isEqualTo(Duration.ofMillis(500));
        assertThat(uri.topology()).isInstanceOfSatisfying(Topology.Sentinel.class, sentinel -> {
            assertThat(sentinel.masterName()).isEqualTo("the master");
            assertThat(sentinel.addresses()).containsExactly(FIRST, SECOND);
        });
        JedisClientConfig ofSentinels = uri.configs().sentinel();
        assertThat(ofSentinels.getUser()).isEqualTo("watcher");
        assertThat(ofSentinels.getPassword()).isEqualTo("p&ss+word");
        assertThat(ofSentinels.getClientName()).isEqualTo("shop");
        assertThat(ofSentinels.getDatabase()).isZero();
    }

    @Test
    void parse_sentinel_least_hasDefaultsAndNoLogin() {
        RedisUri uri = RedisUri.parse("redis-sentinel://me:secret@[::1],one/main");
        assertThat(((Topology.Sentinel) uri.topology()).addresses()).containsExactly(new Address("::1", 26_379), FIRST);
        assertThat(uri.configs().sentinel().getUser()).isNull();
        assertThat(uri.configs().sentinel().getPassword()).isNull();
        assertThat(RedisUri.parse("redis-sentinel://one/main")
                        .configs()
                        .server()
                        .getDatabase())
                .isZero();
    }

    @Test
    void parse_cluster_everyPartIsUsed() {
        RedisUri uri = RedisUri.parse(
                "redis-cluster://me:p%40ss@one:26379,two:7000,[::1]/0?clientName=shop&commandTimeout=2s");
        assertThat(uri.configs().server().getUser()).isEqualTo("me");
        assertThat(uri.configs().server().getPassword()).isEqualTo("p@ss");
        assertThat(uri.configs().server().getClientName()).isEqualTo("shop");
        assertThat(uri.commandTimeout()).isEqualTo(Duration.ofSeconds(2));
        assertThat(uri.topology()).isEqualTo(new Topology.Cluster(List.of(FIRST, SECOND, new Address("::1", 6379))));
    }

    @Test
    void parse_parameters_ofOneServer_areUsed() {
        RedisUri uri = RedisUri.parse("redis://redis_1?commandTimeout=2s&clientName=shop");
        assertThat(address(uri)).isEqualTo(new Address("redis_1", 6379));
        assertThat(uri.configs().server().getClientName()).isEqualTo("shop");
        assertThat(uri.commandTimeout()).isEqualTo(Duration.ofSeconds(2));
        assertThat(RedisUri.parse("redis://one").commandTimeout()).isNull();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://user:secret@localhost/x",
                "redis://user:a/secret@localhost",
                "redis://user:1/secret@localhost",
                "redis://user:a#secret@localhost",
                "redis://user:1?secret@localhost",
                "redis://user:a@secret@localhost/x",
                "redis://user:secret",
                "redis://:secret",
                "redis://:secret/0",
                "redis://:a/secret",
                "redis://:a?secret",
                "redis://:12345?x=secret",
                "redis://one,:secret",
                "redis://[::1]:secret",
                "redis:secret@one",
                "redis:/user:secret@one",
                "redis:user:secret",
                "user:secret@one:6379",
                ":secret@one",
                ":secret",
                "user:secret",
                "http://user:secret",
                "REDIS://:secret@one",
                "redis://one?pasword=secret",
                "redis://one?commandTimeout=1&key=secret",
                "redis://one?secret",
                "redis://one?clientName=a&secret",
                "redis://one/0#secret",
                "redis://one?clientName=a#b\nsecret",
                "redis-sentinel://user:secret,one/main",
                "redis-sentinel://one/?sentinelPassword=secret",
                "redis-sentinel://one?sentinelUser=u&sentinelPassword=secret",
                "redis-sentinel://one?sentinelPassword=a&sentinelPassword=secret"
            })
    void parse_refusal_hidesThePassword(String uri) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisUri.parse(uri))
                .withMessageNotContaining("secret")
                .withMessageContaining("redis://host:port");
    }

    @ParameterizedTest
    @CsvSource({
        "localhost:6379, localhost:6379",
        "redis://:12345, redis://:***",
        "redis://user:x@one:70000/0, redis://***@one:70000/0",
        "redis://one:6379/x?clientName=a, redis://one:6379/x?clientName=a",
        "'redis://[::1]:70000,[::2]:7', 'redis://[::1]:70000,[::2]:7'",
        "redis://one:6379/0#x, redis://one:6379/0#***",
        "redis://one?password=x, redis://one?password=***",
        "'redis://o\nne', redis://o\\u000ane"
    })
    void parse_refusal_showsWhatIsNoSecret(String uri, String shown) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisUri.parse(uri))
                .withMessageContaining('"' + shown + '"');
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis://one:7000\n", " redis://one:7000/0\r\n", "redis://one:7000?clientName=shop\n"})
    void parse_aUriWithBlanksAroundIt_takesThemOff(String uri) {
        assertThat(RedisUri.parse(uri).topology()).isEqualTo(new Topology.Single(new Address("one", 7000)));
    }

    @Test
    void topology_thatCannotWork_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Topology.Sentinel(" ", List.of(FIRST)))
                .withMessageContaining("sentinel monitor");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Topology.Sentinel("main", List.of()))
                .withMessageContaining("name at least one");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Topology.Sentinel("main", List.of(FIRST, SECOND, FIRST)))
                .withMessageContaining("one:26379 is named twice");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Topology.Cluster(List.of()))
                .withMessageContaining("name at least one");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Topology.Cluster(List.of(FIRST, FIRST)))
                .withMessageContaining("one:26379 is named twice");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RedisUri(
                                new Topology.Cluster(List.of(FIRST)),
                                new JedisConfigs(DefaultJedisClientConfig.builder()
                                        .database(1)
                                        .build()))
                        .open(1, 1))
                .withMessageContaining("only database 0");
    }

    @Test
    void named_keepsAChangingConfigurationAndAPresentName() {
        AtomicReference<String> password = new AtomicReference<>("first");
        JedisClientConfig changing = new JedisClientConfig() {
            @Override
            public String getPassword() {
                return password.get();
            }
        };
        Topology.Single server = new Topology.Single(new Address("host", 1));
        JedisClientConfig named = new RedisUri(server, new JedisConfigs(changing))
                .named("me")
                .configs()
                .server();
        assertThat(named.getClientName()).isEqualTo("me");
        assertThat(named.getPassword()).isEqualTo("first");
        password.set("second");
        assertThat(named.getPassword()).isEqualTo("second");
        assertThat(RedisUri.parse("redis://host?clientName=shop")
                        .named("me")
                        .configs()
                        .server()
                        .getClientName())
                .isEqualTo("shop");
    }
}
