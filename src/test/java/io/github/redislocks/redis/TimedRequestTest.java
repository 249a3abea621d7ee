package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.IoThreads;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.RedisException.Unanswered;
import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.Endpoint;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.redis.jedis.PooledConnection;
import io.github.redislocks.redis.jedis.QuickReader;
import io.github.redislocks.redis.jedis.TimedRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

@Timeout(60)
@Tag("server")
class TimedRequestTest extends JedisRedisFixture {

    @Test
    void run_serverHangsBeforeFirstCall_failsInTimeUnsent() {
        RedisServer server = closing(RedisServer.start());
        JedisRedis redis = to(server);
        server.pause();
        Unanswered failure = inTime(() -> redis.run(PING, SHORT));
        assertThat(failure.sent()).isFalse();
        assertThat(failure.busy()).isFalse();
        assertThat(failure).hasMessageContaining("500 ms").hasMessageContaining(redis.address());
        server.resume();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @Test
    void run_serverHangsLater_failsInTimeSent() {
        RedisServer server = closing(RedisServer.start());
        JedisRedis redis = to(server);
        redis.run(PING, LONG);
        server.pause();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isTrue();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isFalse();
        server.resume();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @Test
    void run_answerInDrops_failsInTime() throws Exception {
        // Each drop comes well before the timeout of a read; only the whole answer is late.
        try (DrippingServer server = new DrippingServer(Duration.ofMillis(50))) {
            JedisRedis redis = closing(new JedisRedis(server.address(), resp3(), 1));
            assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isFalse();
            // The only permit is free again in time, though the drops would have continued endlessly.
            await().untilAsserted(() ->
                    assertThat(inTime(() -> redis.run(PING, SHORT))).hasMessageNotContaining("in use"));
        }
    }

    @Test
    void run_answerInPieces_failsInTime() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        redis.run(PING, LONG);
        proxy.dripReplies(Duration.ofMillis(150));
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isTrue();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isFalse();
        proxy.pass();
        assertThat(redis.run(PING, LONG).is("PONG")).isTrue();
    }

    @Test
    void runAll_answerInPieces_failsInTime() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        redis.runAll(List.of(PING), LONG);
        proxy.dripReplies(Duration.ofMillis(150));
        long begin = System.nanoTime();
        assertThat(redis.runAll(List.of(PING, PING), SHORT))
                .allSatisfy(outcome -> assertThat(outcome.failure()).isInstanceOf(Unanswered.class));
        assertThat(Duration.ofNanos(System.nanoTime() - begin))
                .isLessThan(Duration.ofNanos(SHORT).plus(SLACK));
    }

    @Test
    void run_threadThatCannotBeMade_costsNoPermit() {
        IoThreads workers = new IoThreads(work -> {
            throw new IllegalStateException("made by the test");
        });
        ConnectionPool pool = new ConnectionPool(shared.address(), resp3(), 1, System::nanoTime);
        closing(pool::close);
        TimedRequest<Object> exchange = new TimedRequest<>(new Endpoint("shared", workers, false), pool, LONG) {
            @Override
            public Object on(PooledConnection link) {
                return link;
            }

            @Override
            public String what() {
                return "nothing";
            }
        };
        assertThatThrownBy(() -> exchange.perform(true)).isInstanceOf(Unanswered.class);
        assertThat(pool.enter(System.nanoTime())).isTrue();
    }

    @Test
    void connect_connectionThatWasCutBefore_opensNone() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        ConnectionPool pool = new ConnectionPool(proxy.address(), resp3(), 1, System::nanoTime);
        closing(pool::close);
        PooledConnection given = pool.newConnection(System.nanoTime() + LONG);
        given.cut();
        assertThatThrownBy(() -> pool.connect(given)).isInstanceOf(JedisConnectionException.class);
        assertThat(proxy.connections()).isZero();
        assertThat(pool.connections()).isZero();
    }

    @Test
    void run_nobodyListens_failsAtOnceUnsent() {
        RedisServer server = closing(RedisServer.start());
        JedisRedis redis = to(server);
        server.kill();
        assertThatThrownBy(() -> redis.run(PING, LONG))
                .isInstanceOfSatisfying(
                        Unanswered.class, e -> assertThat(e.sent()).isFalse())
                .hasMessageContaining(redis.address())
                .hasMessageContaining("refused");
    }

    @Test
    void run_killedSinceLastCall_failsAtOnceSent() {
        RedisServer server = closing(RedisServer.start());
        JedisRedis redis = to(server);
        redis.run(PING, LONG);
        server.kill();
        Unanswered failure = catchThrowableOfType(Unanswered.class, () -> redis.run(PING, LONG));
        assertThat(failure.sent()).isTrue();
    }

    @Test
    void run_serverRestarted_nobodyNotices() {
        RedisServer server = closing(RedisServer.start());
        FaultyProxy proxy = closing(FaultyProxy.to(server));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 4));
        fourAtOnce(redis, proxy);
        redis.runAll(List.of(PING), LONG);
        server.restart();
        assertThat(redis.run(COUNT, LONG)).isEqualTo(new Reply("OK", List.of(1L), true));
        assertThat(redis.run(COUNT, LONG)).isEqualTo(new Reply("OK", List.of(2L), false));
        // The first call that met a stale connection has closed the other three.
        assertThat(fourAtOnce(redis, proxy)).containsOnly(new Reply("PONG", List.of(), false));
        assertThat(redis.runAll(List.of(COUNT), LONG)).containsExactly(Outcome.of(new Reply("OK", List.of(3L), true)));
        redis.publish("news", "x", LONG);
    }

    /** Calls that need four connections, which are idle afterwards. */
    private static List<Reply> fourAtOnce(JedisRedis redis, FaultyProxy proxy) {
        proxy.holdReplies();
        List<FutureTask<Reply>> four =
                List.of(started(redis, PING), started(redis, PING), started(redis, PING), started(redis, PING));
        await().until(() -> proxy.openConnections() >= 4);
        proxy.pass();
        return four.stream().map(JedisRedisFixture::got).toList();
    }

    @Test
    void run_timedOut_isNotSentAgain() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        redis.run(PING, LONG);
        proxy.holdReplies();
        assertThat(inTime(() -> redis.run(PING, SHORT)).sent()).isTrue();
        proxy.pass();
        redis.run(PING, LONG);
        assertThat(proxy.connections()).isEqualTo(2);
    }

    @Test
    void run_connectionCutWhileItRuns_isSentAgainAndSaysSo() throws Exception {
        RedisServer server = closing(RedisServer.start());
        FaultyProxy proxy = closing(FaultyProxy.to(server));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        redis.run(COUNT, LONG);
        proxy.holdReplies();
        FutureTask<Reply> second = started(redis, COUNT);
        awaitCount(server, 2);
        proxy.cut();
        await().until(() -> proxy.connections() == 2);
        proxy.pass();
        assertThat(second.get()).isEqualTo(new Reply("OK", List.of(3L), true));
    }

    @Test
    void run_secondCopyRefused_isNoRefusalSinceTheFirstMayHaveRun() throws Exception {
        RedisServer server = closing(RedisServer.start());
        FaultyProxy proxy = closing(FaultyProxy.to(server));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        redis.run(COUNT, LONG);
        proxy.holdReplies();
        FutureTask<Reply> second = started(redis, COUNT);
        awaitCount(server, 2);
        try (Jedis admin = server.client()) {
            admin.configSet("requirepass", "s3cret");
        }
        proxy.cut();
        proxy.pass();
        assertThatThrownBy(second::get)
                .cause()
                .isInstanceOfSatisfying(
                        Unanswered.class, e -> assertThat(e.sent()).isTrue())
                .hasMessageContaining("NOAUTH");
    }

    @Test
    void run_freshConnectionCut_isNotSentAgain() {
        RedisServer server = closing(RedisServer.start("--lua-time-limit", "20"));
        FaultyProxy proxy = closing(FaultyProxy.to(server));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 1));
        FutureTask<Reply> first = started(redis, ENDLESS);
        await().until(() -> isBusy(server));
        proxy.cut();
        assertThatThrownBy(first::get)
                .cause()
                .isInstanceOfSatisfying(
                        Unanswered.class, e -> assertThat(e.sent()).isTrue());
        assertThat(proxy.connections()).isEqualTo(1);
    }

    @Test
    void runAsking_isOnAConnectionOfThePool_notOnThatOfTheBackground() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 2));
        redis.run(PING, LONG);
        // A single server answers ASKING with an error, and runs the command after it.
        assertThat(redis.runAsking(call("echo", "k", "x"), LONG).reply())
                .isNotNull()
                .matches(reply -> reply.is("OK"));
        assertThat(redis.runAsking(call("error"), LONG).failure()).isInstanceOf(RedisException.Refused.class);
        assertThat(proxy.connections()).isEqualTo(1);
    }

    /** An exchange on a worker, whose request does something. */
    private static TimedRequest<Boolean> exchange(IoThreads workers, ConnectionPool pool, Runnable request) {
        return new TimedRequest<>(new Endpoint("somewhere", workers, false), pool, SHORT) {
            @Override
            public Boolean on(PooledConnection link) {
                request.run();
                return true;
            }

            @Override
            public String what() {
                return "something";
            }
        };
    }

    @Test
    void workerHangs_afterSending_failsSent() {
        IoThreads workers = new IoThreads(Threads.DAEMONS, "somewhere");
        closing(workers::close);
        ConnectionPool pool = new ConnectionPool(shared.address(), resp3(), 1, System::nanoTime);
        closing(pool::close);
        CountDownLatch end = new CountDownLatch(1);
        Runnable hang =
                () -> Uninterruptibles.until(System.nanoTime() + LONG, nanos -> end.await(nanos, TimeUnit.NANOSECONDS));
        // The time of an exchange starts when it is made.
        assertThat(inTime(() -> exchange(workers, pool, hang).perform(false)).sent())
                .isTrue();
        end.countDown();
    }

    /** The worker meets an error when it reports the answer, and another when it reports that. */
    @Test
    void workerHasTheAnswer_neverReportsIt_failsSent() {
        IoThreads workers = new IoThreads(Threads.DAEMONS, "somewhere");
        closing(workers::close);
        ConnectionPool pool = new ConnectionPool(shared.address(), resp3(), 1, System::nanoTime);
        closing(pool::close);
        CountDownLatch end = new CountDownLatch(1);
        TimedRequest<Object> silent = new TimedRequest<>(new Endpoint("somewhere", workers, false), pool, SHORT) {
            @Override
            public Object on(PooledConnection link) {
                return link;
            }

            @Override
            public void release(PooledConnection sound) {
                Uninterruptibles.until(System.nanoTime() + LONG, nanos -> end.await(nanos, TimeUnit.NANOSECONDS));
            }

            @Override
            public String what() {
                return "something";
            }
        };
        Unanswered failure = catchThrowableOfType(Unanswered.class, () -> silent.perform(false));
        end.countDown();
        assertThat(failure.sent()).isTrue();
    }

    /** The pool has no memory to keep the connection. */
    @Test
    void errorWhenAConnectionIsGivenBack_leavesNoneOpen() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        IoThreads workers = new IoThreads(Threads.DAEMONS, "somewhere");
        closing(workers::close);
        AtomicBoolean scarce = new AtomicBoolean();
        ConnectionPool pool = new ConnectionPool(proxy.address(), resp3(), 1, () -> {
            if (scarce.getAndSet(false)) {
                throw new OutOfMemoryError("made by the test");
            }
            return System.nanoTime();
        });
        closing(pool::close);
        assertThatThrownBy(() -> exchange(workers, pool, () -> scarce.set(true)).perform(false))
                .isInstanceOf(OutOfMemoryError.class);
        await().until(() -> proxy.openConnections() == 0);
        assertThat(exchange(workers, pool, () -> {}).perform(false)).isTrue();
    }

    @Test
    void noThreadCanBeStarted_callFailsUnsentAndKeepsNoPlace() {
        IoThreads none = new IoThreads((ThreadFactory) work -> {
            throw new InternalError("unable to create native thread");
        });
        ConnectionPool pool = new ConnectionPool(shared.address(), resp3(), 1, System::nanoTime);
        closing(pool::close);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> exchange(none, pool, () -> {}).perform(false))
                    .isInstanceOfSatisfying(
                            Unanswered.class, e -> assertThat(e.sent()).isFalse())
                    .hasMessageContaining("No thread")
                    .hasMessageContaining("unable to create native thread");
        }
    }

    /** The worker meets an error inside the executor, before it starts the work. */
    @Test
    void work_noWorkerStartsIt_failsUnsentAndKeepsNoPermit() {
        List<Runnable> lost = new ArrayList<>();
        IoThreads workers = new IoThreads((ThreadFactory) work -> {
            lost.add(work);
            return new Thread(() -> {});
        });
        ConnectionPool pool = new ConnectionPool(shared.address(), resp3(), 1, System::nanoTime);
        closing(pool::close);
        assertThat(inTime(() -> exchange(workers, pool, () -> {}).perform(false))
                        .sent())
                .isFalse();
        assertThat(pool.enter(System.nanoTime())).isTrue();
        pool.leave();
        lost.forEach(Runnable::run);
        assertThat(pool.enter(System.nanoTime())).isTrue();
        assertThat(pool.enter(System.nanoTime())).as("given back twice").isFalse();
    }

    @Test
    void run_allConnectionsInUse_waitingCountsIntoTheTime() {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 2));
        proxy.holdReplies();
        List<FutureTask<Reply>> both = List.of(started(redis, PING), started(redis, PING));
        await().until(() -> proxy.openConnections() == 2);
        Unanswered failure = inTime(() -> redis.run(PING, SHORT));
        assertThat(failure.sent()).isFalse();
        assertThat(failure.busy()).isTrue();
        assertThat(failure).hasMessageContaining("all 2 are in use");
        proxy.pass();
        assertThat(both).allSatisfy(one -> assertThat(got(one).is("PONG")).isTrue());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void run_manyThreads_neverMoreConnectionsThanAllowed(boolean virtual) throws Exception {
        FaultyProxy proxy = closing(FaultyProxy.to(shared));
        JedisRedis redis = closing(new JedisRedis(proxy.address(), resp3(), 3));
        List<FutureTask<Reply>> all = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            all.add(started(virtual, () -> redis.run(PING, LONG)));
        }
        for (FutureTask<Reply> one : all) {
            assertThat(one.get().is("PONG")).isTrue();
        }
        assertThat(proxy.connections()).isLessThanOrEqualTo(3);
    }

    @Test
    void run_byOwnThreads_whereConnectingTakesLongerThanACall_isAnsweredByALaterCall() {
        FaultyProxy far = closing(FaultyProxy.to(shared));
        far.roundTrip(Duration.ofMillis(80));
        JedisRedis redis = closing(JedisRedis.ofReader(far.address(), resp3(), 2, new QuickReader(Threads.DAEMONS)));
        await().atMost(Duration.ofSeconds(30)).until(() -> {
            try {
                return redis.run(PING, TimeUnit.MILLISECONDS.toNanos(200)) != null;
            } catch (RedisException.Unanswered e) {
                return false;
            }
        });
    }
}
