package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** Tests which quorums are rejected before anything is sent. */
class QuorumBuilderTest {

    private static final String[] THREE = {"redis://a", "redis://b", "redis://c"};

    @Test
    void quorum_evenNumber_saysWhyAndWhatInstead() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisLocks.quorum("redis://a", "redis://b", "redis://c", "redis://d"))
                .withMessageContaining("has 4 masters")
                .withMessageContaining("Use 3 or 5");
    }

    @Test
    void quorum_ofOne_isNone() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisLocks.quorum("redis://a"))
                .withMessageContaining("connect(uri)");
    }

    @Test
    void quorum_oneMasterTwice_namesIt() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisLocks.quorum("redis://a", "redis://b", "redis://A:6379/2"))
                .withMessageContaining("a:6379")
                .withMessageContaining("two votes");
    }

    @Test
    void quorum_masterOfSentinels_isRefusedWithoutItsPassword() {
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        RedisLocks.quorum("redis://a", "redis://b", "redis-sentinel://user:secret@c:26379/mymaster"))
                .withMessageContaining("single server")
                .withMessageNotContaining("secret");
    }

    @Test
    void restartDelay_shorterThanTheLease_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisLocks.builder()
                        .quorum(THREE)
                        .restartDelay(Duration.ofSeconds(29))
                        .build())
                .withMessageContaining("29 s")
                .withMessageContaining("30 s");
    }

    @Test
    void restartDelay_withoutAQuorum_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisLocks.builder()
                        .restartDelay(Duration.ofSeconds(30))
                        .build())
                .withMessageContaining("name a quorum");
    }

    @Test
    void quorum_byAddresses_isCheckedAsByUris() {
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().build();
        HostAndPort a = new HostAndPort("a", 6379);
        HostAndPort b = new HostAndPort("b", 6379);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> JedisServers.quorum(List.of(a, b), config))
                .withMessageContaining("has 2 masters");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> JedisServers.quorum(List.of(a, b, a), config))
                .withMessageContaining("two votes");
    }

    @Test
    void quorum_thenAnotherTopology_isForgotten() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedisLocks.builder()
                        .quorum(THREE)
                        .restartDelay(Duration.ofSeconds(30))
                        .servers(JedisServers.cluster(
                                List.of(new HostAndPort("a", 1)),
                                DefaultJedisClientConfig.builder().build()))
                        .build())
                .withMessageContaining("name a quorum");
    }

    @Test
    void residency_onAQuorum_isRefusedByBuild() {
        RedisLocksBuilder builder = RedisLocks.builder().quorum(THREE).residency(Duration.ofSeconds(1));
        assertThatThrownBy(builder::build)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("residency")
                .hasMessageContaining("leave it out");
    }
}
