package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.redis.jedis.PooledConnection;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** An address that leads to another server after a failover, while the connections still lead to the demoted one. */
@Timeout(60)
@Tag("server")
class DemotedServerTest extends JedisRedisFixture {

    private static final Outcome FIRST = Outcome.of(new Reply("OK", List.of(1L)));

    private final AtomicLong time = new AtomicLong();
    private RedisServer before;
    private RedisServer promoted;
    private FaultyProxy address;
    private JedisRedis redis;

    @BeforeEach
    void connect() {
        before = closing(RedisServer.start());
        promoted = closing(RedisServer.start());
        address = closing(FaultyProxy.to(before));
        redis = closing(new JedisRedis(address.address(), resp3(), 4, time::get));
    }

    /** Leaves four connections idle. */
    private void useFour() {
        address.holdReplies();
        List<FutureTask<Reply>> four =
                Stream.generate(() -> started(redis, PING)).limit(4).toList();
        await().until(() -> address.openConnections() >= 4);
        address.pass();
        four.forEach(JedisRedisFixture::got);
    }

    private void fail() {
        time.addAndGet(TimeUnit.MINUTES.toNanos(1));
        address.retarget(promoted);
        try (Jedis admin = before.client()) {
            admin.replicaof("127.0.0.1", promoted.port());
        }
    }

    @Test
    void readOnlyReply_sendsEverythingToThePromotedServer() {
        useFour();
        redis.runAll(List.of(PING), LONG);
        Redis.Subscription subscription = redis.subscribe("news", LONG);
        fail();
        failsOnce(
                subscription,
                () -> assertThatThrownBy(() -> redis.run(COUNT, LONG))
                        .isInstanceOf(RedisException.Refused.class)
                        .hasMessageStartingWith("READONLY"));
        assertThat(redis.run(COUNT, LONG).number(0)).isEqualTo(1);
        assertThat(redis.runAll(List.of(call("count", "other")), LONG)).containsExactly(FIRST);
    }

    @Test
    void readOnlyReplyToABatch_sendsEverythingToThePromotedServer() {
        useFour();
        redis.runAll(List.of(PING), LONG);
        fail();
        assertThat(redis.runAll(List.of(PING, COUNT), LONG).get(1).failure())
                .isInstanceOf(RedisException.Refused.class);
        assertThat(redis.runAll(List.of(COUNT), LONG)).containsExactly(FIRST);
        assertThat(redis.run(call("count", "other"), LONG).number(0)).isEqualTo(1);
    }

    @Test
    void connectionInUseMeanwhile_isNotKept() {
        ConnectionPool pool = new ConnectionPool(shared.address(), resp3(), 2, time::get);
        closing(pool::close);
        long deadline = System.nanoTime() + LONG;
        PooledConnection inUse = pool.newConnection(deadline);
        pool.connect(inUse);
        time.incrementAndGet();
        pool.renew();
        time.incrementAndGet();
        PooledConnection later = pool.newConnection(deadline);
        pool.connect(later);
        pool.giveBack(inUse);
        assertThat(pool.takeIdle()).isNull();
        pool.giveBack(later);
        assertThat(pool.takeIdle()).isSameAs(later);
    }

    @Test
    void stillLeadsThere_connectsAnewOnceInAWhileOnly() {
        time.addAndGet(TimeUnit.MINUTES.toNanos(1));
        try (Jedis admin = before.client()) {
            admin.replicaof("127.0.0.1", promoted.port());
        }
        for (int i = 0; i < 5; i++) {
            assertThatThrownBy(() -> redis.run(COUNT, LONG)).isInstanceOf(RedisException.Refused.class);
            time.incrementAndGet();
        }
        assertThat(address.connections()).isEqualTo(2);
        time.addAndGet(TimeUnit.SECONDS.toNanos(2));
        for (int i = 0; i < 5; i++) {
            assertThatThrownBy(() -> redis.run(COUNT, LONG)).isInstanceOf(RedisException.Refused.class);
            time.incrementAndGet();
        }
        assertThat(address.connections()).isEqualTo(3);
    }
}
