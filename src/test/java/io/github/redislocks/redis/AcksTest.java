package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** The confirmations of replicas in replies. */
@Timeout(60)
@Tag("server")
class AcksTest extends JedisRedisFixture {

    private static final Acks SOON = new Acks(1, TimeUnit.MILLISECONDS.toNanos(100));
    private static final Acks PATIENT = new Acks(1, LONG);
    private static final Call COUNTED = COUNT.with(PATIENT);

    private RedisServer master;
    private RedisServer replica;

    @BeforeEach
    void replicate() {
        master = closing(RedisServer.start("--repl-diskless-sync-delay", "0"));
        replica = closing(RedisServer.start("--replicaof", "127.0.0.1", Integer.toString(master.port())));
        try (Jedis admin = master.client()) {
            await().until(() -> admin.waitReplicas(1, 10) == 1);
        }
    }

    private static Reply counted(long count, boolean resent, int acks) {
        return new Reply("OK", List.of(count), resent, acks);
    }

    @Test
    void reply_saysHowManyReplicasHaveIt() {
        JedisRedis redis = to(master);
        assertThat(redis.run(COUNTED, LONG)).as("script unknown").isEqualTo(counted(1, false, 1));
        assertThat(redis.run(COUNTED, LONG)).isEqualTo(counted(2, false, 1));
        assertThat(redis.run(COUNT, LONG)).as("not asked").isEqualTo(counted(3, false, -1));
        assertThat(redis.runAll(List.of(COUNTED, COUNT), LONG))
                .containsExactly(Outcome.of(counted(4, false, 1)), Outcome.of(counted(5, false, -1)));
        replica.pause();
        assertThat(redis.run(COUNT.with(SOON), LONG)).isEqualTo(counted(6, false, 0));
        assertThat(redis.runAll(List.of(COUNT.with(SOON)), LONG)).containsExactly(Outcome.of(counted(7, false, 0)));
        replica.resume();
    }

    @Test
    void replicaFrozen_answer_comesBeforeTheCallsOwnTimeIsOver() {
        JedisRedis redis = to(master);
        redis.run(COUNTED, LONG);
        replica.pause();
        assertThat(redis.run(COUNTED, SHORT)).isEqualTo(counted(2, false, 0));
        assertThat(redis.runAll(List.of(COUNTED), SHORT)).containsExactly(Outcome.of(counted(3, false, 0)));
        replica.resume();
    }

    /** Each answer comes well before the timeout of a read; only the second one is late. */
    @Test
    void slowAnswer_leavesLessTimeForTheReplicas() {
        JedisRedis redis = to(master);
        redis.run(COUNTED, LONG);
        replica.pause();
        master.pause();
        FutureTask<Boolean> resumed = started(() -> {
            LockSupport.parkNanos(SHORT * 4 / 5);
            master.resume();
            return true;
        });
        inTime(() -> redis.run(COUNT.with(new Acks(1, SHORT)), SHORT));
        got(resumed);
        replica.resume();
    }

    @Test
    void error_isAnErrorReply() {
        JedisRedis redis = to(master);
        redis.run(call("set", "text"), LONG);
        assertThatThrownBy(() -> redis.run(WRONG_TYPE.with(SOON), LONG))
                .isInstanceOf(RedisException.Refused.class)
                .hasMessageContaining("WRONGTYPE");
    }

    /** WAIT counts by connection: after no write, the replicas would confirm at once. */
    @Test
    void connectionBreaksWhileReplicasAreWaitedFor_allIsSentAgainOnTheNext() {
        FaultyProxy proxy = closing(FaultyProxy.to(master));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        redis.run(COUNTED, LONG);
        redis.runAll(List.of(COUNTED), LONG);
        replica.pause();
        FutureTask<Reply> call = started(() -> redis.run(COUNTED, LONG));
        awaitBlocked(1);
        FutureTask<List<Outcome>> batch = started(() -> redis.runAll(List.of(COUNTED), LONG));
        awaitBlocked(2);
        proxy.cut();
        awaitCount(master, 6);
        replica.resume();
        assertThat(got(call)).isIn(counted(5, true, 1), counted(6, true, 1));
        assertThat(got(batch)).singleElement().isIn(Outcome.of(counted(5, true, 1)), Outcome.of(counted(6, true, 1)));
    }

    private void awaitBlocked(int clients) {
        try (Jedis admin = master.client()) {
            await().until(() -> admin.info("clients").contains("blocked_clients:" + clients + "\r"));
        }
    }
}
