package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
@Tag("server")
class InterruptTest extends JedisRedisFixture {

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void run_interruptedBefore_keepsFlagAndReply(boolean virtual) throws Exception {
        JedisRedis redis = to(shared);
        FutureTask<Boolean> twice = started(virtual, () -> {
            Thread.currentThread().interrupt();
            boolean fresh = redis.run(PING, LONG).is("PONG");
            boolean kept = Thread.currentThread().isInterrupted();
            return fresh && kept && redis.run(PING, LONG).is("PONG") && Thread.interrupted();
        });
        assertThat(twice.get()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void run_interruptedMeanwhile_keepsFlagAndReply(boolean virtual, boolean fresh) throws Exception {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        if (!fresh) {
            redis.run(PING, LONG);
        }
        proxy.holdReplies();
        long before = proxy.requestBytes();
        Thread[] caller = new Thread[1];
        FutureTask<Boolean> call = started(virtual, () -> {
            caller[0] = Thread.currentThread();
            return redis.run(PING, LONG).equals(new Reply("PONG", List.of(), false)) && Thread.interrupted();
        });
        await().until(() -> proxy.requestBytes() > before);
        caller[0].interrupt();
        proxy.pass();
        assertThat(call.get()).isTrue();
        assertThat(proxy.connections()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void run_interruptedWhileWaitingForConnection_keepsFlagAndReply(boolean virtual) throws Exception {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        proxy.holdReplies();
        FutureTask<Reply> first = started(redis, PING);
        await().until(() -> proxy.openConnections() == 1);
        Thread[] caller = new Thread[1];
        FutureTask<Boolean> second = started(virtual, () -> {
            caller[0] = Thread.currentThread();
            return redis.run(PING, LONG).is("PONG") && Thread.interrupted();
        });
        await().until(() -> caller[0] != null && caller[0].getState() == Thread.State.TIMED_WAITING);
        caller[0].interrupt();
        assertThatThrownBy(() -> second.get(50, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        proxy.pass();
        assertThat(first.get().is("PONG")).isTrue();
        assertThat(second.get()).isTrue();
    }
}
