package io.github.redislocks.redis;

import static io.github.redislocks.redis.JedisRedisFixture.PING;
import static io.github.redislocks.redis.JedisRedisFixture.got;
import static io.github.redislocks.redis.JedisRedisFixture.started;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.DeniedTime;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import io.github.redislocks.redis.RedisException.Unanswered;
import io.github.redislocks.redis.connect.RedisUri;
import io.github.redislocks.redis.jedis.JedisConfigs;
import io.github.redislocks.redis.sentinel.SentinelRedis;
import io.github.redislocks.redis.topology.Topology;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;

/** Calls and subscriptions when the master changes, on real servers. */
@Tag("once")
@Timeout(60)
@Tag("server")
class SentinelRedisTest {

    private static final long LONG = TimeUnit.SECONDS.toNanos(60);
    private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(500);

    private final AtomicInteger moves = new AtomicInteger();
    private SentinelServers servers;
    private Redis redis;

    @BeforeEach
    void start() {
        servers = SentinelServers.start();
        redis = RedisUri.parse(servers.uri()).open(8, SHORT);
        redis.onMoved(moves::incrementAndGet);
    }

    @AfterEach
    void stop() {
        redis.close();
        servers.close();
    }

    private static void assertUnanswered(FutureTask<?> task) {
        assertThatThrownBy(() -> task.get(3, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(Unanswered.class);
    }

    @Test
    void masterHangs_callsAndSubscriptions_failOnceAnotherIsNamed() {
        RedisServer old = servers.master();
        assertThat(redis.run(PING, LONG).code()).isNotEmpty();
        assertThat(redis.address()).isEqualTo(old.address() + " (by Sentinel the master locks)");
        Redis.Subscription subscription = redis.subscribe("channel", LONG);
        FutureTask<String> message = started(subscription::next);
        old.pause();
        FutureTask<Reply> call = started(() -> redis.run(PING, LONG));
        FutureTask<List<Outcome>> batch = started(() -> redis.runAll(List.of(PING), LONG));
        RedisServer promoted = servers.awaitPromotion(old);

        assertUnanswered(message);
        assertUnanswered(call);
        assertThat(got(batch))
                .singleElement()
                .satisfies(outcome -> assertThat(outcome.failure()).isInstanceOf(Unanswered.class));
        await().atMost(Duration.ofSeconds(1))
                .untilAsserted(() -> assertThat(moves).hasValue(1));
        assertThat(redis.address()).startsWith(promoted.address() + " ");
        assertThat(redis.run(PING, LONG).code()).isNotEmpty();
    }

    /** A call that started before must not reach the new master before the listener has run. */
    @Test
    void masterHangs_calls_waitUntilTheListenerKnowsOfTheNewMaster() {
        RedisServer old = servers.master();
        redis.run(PING, LONG);
        FutureTask<Reply> call = new FutureTask<>(() -> redis.run(PING, LONG));
        AtomicReference<Boolean> tooSoon = new AtomicReference<>();
        redis.onMoved(() -> {
            Thread caller = new Thread(call, "caller");
            caller.start();
            await().until(() -> call.isDone() || caller.getState() == Thread.State.WAITING);
            tooSoon.set(call.isDone());
        });
        old.pause();
        await().atMost(Duration.ofSeconds(20)).until(() -> tooSoon.get() != null);
        assertThat(tooSoon.get()).isFalse();
        assertThat(got(call).code()).isNotEmpty();
        assertThat(redis.address()).startsWith(servers.awaitPromotion(old).address() + " ");
    }

    @Test
    void newMaster_whoseListenerThrew_isReportedAgain() {
        RedisServer old = servers.master();
        redis.run(PING, LONG);
        redis.onMoved(() -> {
            if (moves.incrementAndGet() == 1) {
                throw new OutOfMemoryError("made by the test");
            }
        });
        old.pause();
        RedisServer promoted = servers.awaitPromotion(old);
        await().untilAsserted(() -> assertThat(moves).hasValue(2));
        assertThat(redis.run(PING, LONG).code()).isNotEmpty();
        assertThat(redis.address()).startsWith(promoted.address() + " ");
    }

    @Test
    void masterHangs_call_failsByItsOwnTimeout() {
        redis.run(PING, LONG);
        servers.master().pause();
        try (DeniedTime time = new DeniedTime()) {
            long began = time.now();
            assertThatThrownBy(() -> redis.run(PING, TimeUnit.MILLISECONDS.toNanos(200)))
                    .isInstanceOf(Unanswered.class);
            assertThat(time.since(began)).isLessThan(Duration.ofMillis(300));
        }
    }

    @Test
    void closed_calls_failAtOnce() {
        redis.run(PING, LONG);
        redis.close();
        assertThatThrownBy(() -> redis.run(PING, LONG)).isInstanceOf(Unanswered.class);
        assertThat(redis.runAll(List.of(PING), LONG))
                .singleElement()
                .satisfies(outcome -> assertThat(outcome.failure()).isInstanceOf(Unanswered.class));
    }

    @Test
    void start_noThreadCanBeStarted_leavesNobodyWhoAsks() {
        Topology.Sentinel topology = new Topology.Sentinel("nobody", List.of(new Address("127.0.0.1", 1)));
        Servers servers = new JedisConfigs(DefaultJedisClientConfig.builder().build()).servers(1, Threads.DAEMONS);
        Threads none = Threads.of(
                work -> new Thread(work) {
                    @Override
                    public synchronized void start() {
                        throw new OutOfMemoryError("of the test");
                    }
                },
                "");
        SentinelRedis started = new SentinelRedis(topology, servers, servers, SHORT, none);
        assertThatThrownBy(started::start).isInstanceOf(OutOfMemoryError.class);
        await().until(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().equals("redis-locks-sentinels-nobody")));
    }

    @Test
    void closed_beforeAMasterIsKnown_wakesWhoWaits() {
        servers.sentinels().forEach(sentinel -> sentinel.pause());
        Redis waiting = RedisUri.parse(servers.uri()).open(8, SHORT);
        FutureTask<Reply> call = started(() -> waiting.run(PING, LONG));
        assertThat(call.isDone()).isFalse();
        waiting.close();
        assertUnanswered(call);
    }
}
