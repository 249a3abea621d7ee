package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.RedisServer.Version;
import io.github.redislocks.redis.RedisException.Refused;
import io.github.redislocks.redis.RedisException.Unanswered;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.redis.jedis.JedisSubscription;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.RedisProtocol;

@Timeout(60)
@Tag("server")
class JedisSubscriptionTest extends JedisRedisFixture {

    @ParameterizedTest
    @CsvSource({"V6_2, RESP2", "V6_2, RESP3", "V7_0, RESP2", "V7_0, RESP3"})
    void subscribe_thenPublish_messagesArriveInOrder(Version version, RedisProtocol protocol) {
        RedisServer server = closing(RedisServer.start(version));
        JedisClientConfig config =
                DefaultJedisClientConfig.builder().protocol(protocol).build();
        JedisRedis redis = closing(new JedisRedis(server.address(), config, 1));
        Redis.Subscription subscription = closing(redis.subscribe("news", LONG));
        redis.publish("news", "första", LONG);
        redis.publish("other", "not for us", LONG);
        redis.publish("news", "", LONG);
        assertThat(subscription.next()).isEqualTo("första");
        assertThat(subscription.next()).isEmpty();
    }

    @Test
    void next_longerThanTheTimeToSubscribe_stillWaits() throws Exception {
        JedisRedis redis = to(shared);
        Redis.Subscription subscription = closing(redis.subscribe("late", SHORT));
        FutureTask<String> next = started(subscription::next);
        assertThatThrownBy(() -> next.get(2 * SHORT, TimeUnit.NANOSECONDS)).isInstanceOf(TimeoutException.class);
        redis.publish("late", "x", LONG);
        assertThat(next.get()).isEqualTo("x");
    }

    @Test
    void subscribe_refused_leavesNoConnection() {
        RedisServer server = closing(RedisServer.start());
        FaultyProxy proxy = closing(FaultyProxy.to(server));
        try (Jedis admin = server.client()) {
            admin.aclSetUser("app", "on", ">s3cret", "~*", "resetchannels", "+@all");
        }
        JedisRedis redis = closing(new JedisRedis(
                proxy.address(),
                DefaultJedisClientConfig.builder()
                        .resp3()
                        .user("app")
                        .password("s3cret")
                        .build(),
                1));
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> redis.subscribe("news", LONG)).isInstanceOf(Refused.class);
        }
        await().until(() -> proxy.openConnections() == 0);
    }

    @Test
    void next_subscriptionClosed_fails() {
        Redis.Subscription subscription = to(shared).subscribe("news", LONG);
        failsOnce(subscription, subscription::close);
        assertThatThrownBy(subscription::next).isInstanceOf(Unanswered.class).hasMessageContaining("closed");
    }

    @Test
    void next_clientClosed_fails() {
        JedisRedis redis = to(shared);
        Redis.Subscription subscription = redis.subscribe("news", LONG);
        failsOnce(subscription, redis::close);
    }

    @Test
    void next_serverKilled_fails() {
        RedisServer server = closing(RedisServer.start());
        failsOnce(to(server).subscribe("news", LONG), server::kill);
    }

    @Test
    void next_subscriberKilledByAdmin_failsAndSubscribesAnew() {
        JedisRedis redis = to(shared);
        Redis.Subscription first = closing(redis.subscribe("news", LONG));
        failsOnce(first, () -> {
            try (Jedis admin = shared.client()) {
                admin.sendCommand(Command.CLIENT, "KILL", "TYPE", "pubsub");
            }
        });
        Redis.Subscription second = closing(redis.subscribe("news", LONG));
        redis.publish("news", "again", LONG);
        assertThat(second.next()).isEqualTo("again");
    }

    private static JedisRedis inResp2(HostAndPort address) {
        return new JedisRedis(
                address,
                DefaultJedisClientConfig.builder().protocol(RedisProtocol.RESP2).build(),
                1);
    }

    @Test
    void ping_whereTheServerAnswers_leavesTheSubscriptionAsItIs() throws Exception {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(inResp2(proxy.address()));
        JedisSubscription subscription = closing(redis.watch("pinged", key -> {}, LONG));
        FutureTask<String> next = started(subscription::next);
        for (int i = 0; i < 3; i++) {
            long heard = proxy.replyBytes();
            subscription.ping(0);
            await().until(() -> !subscription.isPinged() && proxy.replyBytes() > heard);
        }
        redis.publish("pinged", "x", LONG);
        await().until(next::isDone);
        assertThat(next.get()).isEqualTo("x");
    }

    @Test
    void ping_unanswered_closesTheSubscriptionAtTheNextPing() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(inResp2(proxy.address()));
        JedisSubscription subscription = closing(redis.watch("pinged", key -> {}, LONG));
        proxy.dropReplies();
        failsOnce(subscription, () -> {
            subscription.ping(LONG);
            subscription.ping(LONG);
            assertThat(subscription.isPinged()).isTrue();
            subscription.ping(0);
        });
    }

    @Test
    void subscribe_serverHangs_failsInTime() {
        RedisServer server = closing(RedisServer.start());
        JedisRedis redis = to(server);
        server.pause();
        assertThat(inTime(() -> redis.subscribe("news", SHORT)).sent()).isFalse();
    }

    @Test
    void subscribe_notAllowed_refused() {
        RedisServer server = closing(RedisServer.start());
        try (Jedis admin = server.client()) {
            admin.aclSetUser("app", "on", ">s3cret", "~*", "resetchannels", "&mine:*", "+@all");
        }
        JedisRedis redis = withPassword(server, RedisProtocol.RESP3, "s3cret");
        assertThatThrownBy(() -> redis.subscribe("yours", LONG))
                .isInstanceOf(Refused.class)
                .hasMessageStartingWith("NOPERM");
        closing(redis.subscribe("mine:x", LONG));
    }
}
