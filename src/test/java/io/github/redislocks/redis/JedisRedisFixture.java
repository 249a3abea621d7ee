package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.Snippets;
import io.github.redislocks.fixture.VirtualThreads;
import io.github.redislocks.redis.RedisException.Unanswered;
import io.github.redislocks.redis.jedis.JedisRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.exceptions.JedisBusyException;
import redis.clients.jedis.exceptions.JedisException;

/** The common parts of the transport's tests: a server, calls, callers on threads of their own, and their end. */
abstract class JedisRedisFixture {

    static final long LONG = TimeUnit.SECONDS.toNanos(10);
    static final long SHORT = TimeUnit.MILLISECONDS.toNanos(500);

    /** Less than {@link #SHORT}, so that a timeout that counts twice is found; not less than a busy machine needs. */
    static final Duration SLACK = Duration.ofMillis(400);

    private static final Snippets SCRIPTS = new Snippets(JedisRedisFixture.class, "calls.lua");

    static final Call PING = call("ping");
    static final Call COUNT = call("count", "counter");
    static final Call WRONG_TYPE = call("hset", "text");
    static final Call ENDLESS = call("endless");

    /** A server for tests that do not harm it; each test has keys of its own. */
    static RedisServer shared;

    final List<AutoCloseable> toClose = new ArrayList<>();

    @BeforeAll
    static void start() {
        shared = RedisServer.start();
    }

    @AfterAll
    static void stop() {
        shared.close();
    }

    @AfterEach
    void closeAll() throws Exception {
        Collections.reverse(toClose);
        for (AutoCloseable closeable : toClose) {
            closeable.close();
        }
    }

    /** A call of a script of calls.lua. */
    static Call call(String name, String... keyAndArgs) {
        List<String> all = List.of(keyAndArgs);
        int keys = Math.min(1, all.size());
        return new Call(SCRIPTS.script(name), all.subList(0, keys), all.subList(keys, all.size()));
    }

    <C extends AutoCloseable> C closing(C closeable) {
        toClose.add(closeable);
        return closeable;
    }

    JedisRedis to(RedisServer server) {
        return closing(new JedisRedis(server.address(), resp3(), 4));
    }

    JedisRedis withPassword(RedisServer server, RedisProtocol protocol, String password) {
        JedisClientConfig config = DefaultJedisClientConfig.builder()
                .protocol(protocol)
                .user("app")
                .password(password)
                .build();
        return closing(new JedisRedis(server.address(), config, 2));
    }

    static JedisClientConfig resp3() {
        return DefaultJedisClientConfig.builder().resp3().build();
    }

    /** The failure of a call that has {@link #SHORT} and takes just that. */
    static Unanswered inTime(Runnable call) {
        long begin = System.nanoTime();
        Unanswered failure = catchThrowableOfType(Unanswered.class, call::run);
        assertThat(Duration.ofNanos(System.nanoTime() - begin))
                .isBetween(Duration.ofNanos(SHORT), Duration.ofNanos(SHORT).plus(SLACK));
        assertThat(failure).isNotNull();
        return failure;
    }

    static void failsOnce(Redis.Subscription subscription, Runnable event) {
        FutureTask<String> next = started(subscription::next);
        event.run();
        assertThatThrownBy(next::get).cause().isInstanceOf(Unanswered.class);
    }

    static void awaitCount(RedisServer server, long count) {
        try (Jedis admin = server.client()) {
            await().until(() -> Long.toString(count).equals(admin.get("counter")));
        }
    }

    static boolean isBusy(RedisServer server) {
        try (Jedis admin = server.client()) {
            admin.ping();
            return false;
        } catch (JedisBusyException e) {
            return true;
        } catch (JedisException notYet) {
            return false;
        }
    }

    static FutureTask<Reply> started(JedisRedis redis, Call call) {
        return started(() -> redis.run(call, LONG));
    }

    static <T> FutureTask<T> started(Supplier<T> work) {
        return started(false, work);
    }

    static <T> FutureTask<T> started(boolean virtual, Supplier<T> work) {
        FutureTask<T> task = new FutureTask<>(work::get);
        if (virtual) {
            VirtualThreads.start(task);
        } else {
            Thread thread = new Thread(task, "test-caller");
            thread.setDaemon(true);
            thread.start();
        }
        return task;
    }

    static <T> T got(FutureTask<T> task) {
        try {
            return task.get(10, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new IllegalStateException(e);
        }
    }
}
