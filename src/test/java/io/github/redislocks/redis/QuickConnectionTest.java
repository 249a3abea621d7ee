package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.redis.jedis.QuickReader;
import java.io.IOException;
import java.time.Duration;
import java.util.AbstractList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.SslOptions;

/** Submitted calls, on a connection of their own. */
@Timeout(60)
@Tag("server")
class QuickConnectionTest extends JedisRedisFixture {

    /** In place of null, which means that the connection broke. */
    private static final List<Outcome> BROKEN = Collections.emptyList();

    private final FaultyProxy proxy = closing(FaultyProxy.to(shared));
    private final String id = runId(shared);
    private final BlockingQueue<List<Outcome>> heard = new LinkedBlockingQueue<>();
    private final JedisRedis redis =
            closing(JedisRedis.ofReader(proxy.address(), resp3(), 2, new QuickReader(Threads.DAEMONS)));

    @BeforeEach
    void forgetScripts() {
        try (Jedis admin = shared.client()) {
            admin.flushAll();
            admin.scriptFlush();
        }
    }

    private void connect() {
        connect(redis, id);
    }

    private static String runId(RedisServer server) {
        try (Jedis admin = server.client()) {
            return admin.info("server").replaceAll("(?s).*run_id:(\\w+).*", "$1");
        }
    }

    /** Submits a call, whose outcome does not matter, until one is taken. */
    private static void connect(JedisRedis redis, String server) {
        redis.connectQuickly(LONG);
        CountDownLatch tried = new CountDownLatch(1);
        await().until(() -> redis.submit(server, List.of(PING), LONG, outcomes -> tried.countDown()));
        try {
            assertThat(tried.await(10, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private boolean submit(List<Call> calls, long timeoutNanos) {
        return redis.submit(id, calls, timeoutNanos, outcomes -> heard.add(outcomes == null ? BROKEN : outcomes));
    }

    private List<Outcome> next() {
        try {
            List<Outcome> next = heard.poll(10, TimeUnit.SECONDS);
            assertThat(next).as("outcomes within 10 s").isNotNull();
            return next;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Reply reply(String code, Object... values) {
        return new Reply(code, List.of(values));
    }

    @Test
    void submit_withoutAConnection_sendsNothing() {
        assertThat(submit(List.of(PING), LONG)).isFalse();
        assertThat(proxy.connections()).isZero();
    }

    @Test
    void submit_unknownScript_isSentWithItsSource() {
        connect();
        assertThat(submit(List.of(PING), LONG)).isTrue();
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
        assertThat(submit(List.of(PING), LONG)).isTrue();
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
        assertThat(proxy.connections()).isEqualTo(1);
    }

    @Test
    void submit_severalCalls_areAnsweredInTheirOrder() {
        try (Jedis admin = shared.client()) {
            admin.set("text", "x");
        }
        connect();
        assertThat(submit(List.of(PING), LONG)).isTrue();
        next();
        // The server does not know the second and third script yet; the last call counts after the second.
        assertThat(submit(List.of(PING, COUNT, WRONG_TYPE, PING, COUNT), LONG)).isTrue();
        List<Outcome> outcomes = next();
        assertThat(outcomes).hasSize(5);
        assertThat(outcomes.get(0).reply()).isEqualTo(reply("PONG"));
        assertThat(outcomes.get(2).failure())
                .isInstanceOf(RedisException.Refused.class)
                .hasMessageContaining("WRONGTYPE");
        assertThat(outcomes.get(3).reply()).isEqualTo(reply("PONG"));
        assertThat(List.of(outcomes.get(1), outcomes.get(4))).allMatch(outcome -> outcome.reply() != null);
        awaitCount(shared, 2);
    }

    @Test
    void submit_whileOthersAreUnderWay_sendsNothing() {
        connect();
        proxy.holdReplies();
        assertThat(submit(List.of(PING), LONG)).isTrue();
        assertThat(submit(List.of(PING), LONG)).isFalse();
        proxy.pass();
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
        assertThat(heard).isEmpty();
    }

    @Test
    void submit_notAnsweredInTime_isUnansweredAndClosesItsConnection() {
        connect();
        proxy.holdReplies();
        assertThat(submit(List.of(PING, PING), SHORT)).isTrue();
        assertThat(next())
                .hasSize(2)
                .allSatisfy(outcome -> assertThat(outcome.failure())
                        .isInstanceOfSatisfying(
                                RedisException.Unanswered.class,
                                failure -> assertThat(failure.sent()).isTrue())
                        .hasMessageContaining("500 ms"));
        proxy.pass();
        assertThat(submit(List.of(PING), LONG)).isFalse();
        connect();
        assertThat(submit(List.of(PING), LONG)).isTrue();
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
    }

    @Test
    void connectionThatBreaks_withCallsUnderWay_saysSo() {
        connect();
        proxy.holdReplies();
        assertThat(submit(List.of(PING), LONG)).isTrue();
        proxy.cut();
        assertThat(next()).isSameAs(BROKEN);
        proxy.pass();
        connect();
        assertThat(submit(List.of(PING), LONG)).isTrue();
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
    }

    @Test
    void close_withCallsUnderWay_saysThatTheConnectionBroke() {
        connect();
        proxy.holdReplies();
        assertThat(submit(List.of(PING), LONG)).isTrue();
        redis.close();
        assertThat(next()).isSameAs(BROKEN);
        redis.connectQuickly(SHORT);
        assertThat(submit(List.of(PING), LONG)).isFalse();
    }

    @Test
    void submit_byAnInterruptedThread_isAnswered() {
        connect();
        boolean interrupted = false;
        try {
            Thread.currentThread().interrupt();
            assertThat(submit(List.of(PING), LONG)).isTrue();
        } finally {
            interrupted = Thread.interrupted();
        }
        assertThat(interrupted).isTrue();
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
    }

    @Test
    void submit_moreThanTheSocketTakes_isWrittenBitByBit() {
        connect();
        proxy.holdRequests();
        Call large = new Call(PING.script(), List.of(), List.of("x".repeat(16 << 20)));
        assertThat(submit(List.of(large), LONG)).isTrue();
        proxy.pass();
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
    }

    /** For callers with other work, such as renewals. */
    @Test
    void connectQuickly_toAServerThatDoesNotGreet_doesNotWait() {
        proxy.holdReplies();
        redis.connectQuickly(LONG);
        await().until(() -> proxy.openConnections() == 1);
        proxy.pass();
        await().until(() -> submit(List.of(PING), LONG));
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
    }

    /** Each single read is in time. */
    @Test
    void connectQuickly_toAServerThatDrips_isGivenUp() throws IOException {
        DrippingServer dripping = closing(new DrippingServer(Duration.ofMillis(100)));
        JedisRedis dripped =
                closing(JedisRedis.ofReader(dripping.address(), resp3(), 2, new QuickReader(Threads.DAEMONS)));
        await().until(() -> {
            dripped.connectQuickly(SHORT);
            return dripping.hasLostItsClient();
        });
    }

    @Test
    void interruptedThread_clearsItsFlag() {
        List<Thread> made = new CopyOnWriteArrayList<>();
        Threads threads = Threads.of(
                work -> {
                    Thread thread = new Thread(work);
                    thread.setDaemon(true);
                    made.add(thread);
                    return thread;
                },
                "test");
        JedisRedis other = closing(JedisRedis.ofReader(proxy.address(), resp3(), 2, new QuickReader(threads)));
        other.connectQuickly(LONG);
        await().until(() -> made.stream().anyMatch(thread -> thread.getName().contains("nodes")));
        Thread nodes = made.stream()
                .filter(thread -> thread.getName().contains("nodes"))
                .findAny()
                .orElseThrow();
        nodes.interrupt();
        await().until(() -> !nodes.isInterrupted());
        assertThat(nodes.isAlive()).isTrue();
    }

    /** The threads of a client, except that the reader's never runs. */
    private static Threads threadsWithoutReader() {
        return Threads.of(
                work -> {
                    Thread thread = new Thread(work) {
                        @Override
                        public void run() {
                            if (!getName().contains("nodes")) {
                                super.run();
                            }
                        }
                    };
                    thread.setDaemon(true);
                    return thread;
                },
                "test");
    }

    /** Submits a call, and waits for its answer as a caller does; returns whether the answer came. */
    private static boolean ask(JedisRedis redis, String server, QuickReader reader) {
        Bell bell = new Bell();
        AtomicReference<List<Outcome>> answer = new AtomicReference<>();
        await().until(() -> redis.submit(server, List.of(PING), LONG, outcomes -> {
            answer.set(outcomes == null ? BROKEN : outcomes);
            bell.ring();
        }));
        return bell.await(System.nanoTime() + LONG, () -> answer.get() != null, reader::pause)
                && answer.get().equals(List.of(Outcome.of(reply("PONG"))));
    }

    @Test
    void pause_alone_readsTheAnswer() {
        QuickReader reader = new QuickReader(threadsWithoutReader());
        JedisRedis other = closing(JedisRedis.ofReader(proxy.address(), resp3(), 2, reader));
        other.connectQuickly(LONG);
        assertThat(ask(other, id, reader)).isTrue();
        assertThat(ask(other, id, reader)).isTrue();
    }

    @Test
    void pause_whileAnotherCallerReads_isAnswered() throws InterruptedException {
        QuickReader reader = new QuickReader(Threads.DAEMONS);
        JedisRedis silent = closing(JedisRedis.ofReader(proxy.address(), resp3(), 2, reader));
        JedisRedis other = closing(JedisRedis.ofReader(shared.address(), resp3(), 2, reader));
        connect(silent, id);
        connect(other, id);
        proxy.holdReplies();
        Thread waits = new Thread(() -> ask(silent, id, reader));
        waits.start();
        for (int i = 0; i < 100; i++) {
            assertThat(ask(other, id, reader)).isTrue();
        }
        proxy.pass();
        waits.join();
    }

    @Test
    void pause_interrupted_goesOnAndKeepsTheInterrupt() {
        QuickReader reader = new QuickReader(threadsWithoutReader());
        JedisRedis other = closing(JedisRedis.ofReader(proxy.address(), resp3(), 2, reader));
        other.connectQuickly(LONG);
        await().until(() -> proxy.connections() == 1);
        proxy.roundTrip(Duration.ofMillis(50));
        Thread caller = Thread.currentThread();
        Bell bell = new Bell();
        AtomicBoolean answered = new AtomicBoolean();
        await().until(() -> other.submit(id, List.of(PING), LONG, outcomes -> answered.set(outcomes != null)));
        caller.interrupt();
        assertThat(bell.await(System.nanoTime() + LONG, answered::get, reader::pause))
                .isTrue();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(proxy.openConnections()).isEqualTo(1);
    }

    @Test
    void pause_lastConnectionCloses_lastsUntilTheDeadline() {
        QuickReader reader = new QuickReader(Threads.DAEMONS);
        JedisRedis other = closing(JedisRedis.ofReader(proxy.address(), resp3(), 2, reader));
        connect(other, id);
        assertThat(ask(other, id, reader)).isTrue();
        other.close();
        long deadline = System.nanoTime() + SHORT;
        assertThat(new Bell().await(deadline, () -> false, reader::pause)).isFalse();
        assertThat(System.nanoTime() - deadline).isNotNegative();
    }

    @Test
    void connectionThatHasIdledForLong_isNotUsed_thoughTheReaderIsHeldUp() throws InterruptedException {
        AtomicLong elapsed = new AtomicLong();
        QuickReader reader = new QuickReader(Threads.DAEMONS, () -> System.nanoTime() + elapsed.get());
        JedisRedis idle = closing(JedisRedis.ofReader(proxy.address(), resp3(), 2, reader));
        JedisRedis busy = closing(JedisRedis.ofReader(shared.address(), resp3(), 2, reader));
        connect(idle, id);
        connect(busy, id);
        CountDownLatch heldUp = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        busy.submit(id, List.of(PING), LONG, outcomes -> {
            heldUp.countDown();
            Uninterruptibles.until(System.nanoTime() + LONG, nanos -> goOn.await(nanos, TimeUnit.NANOSECONDS));
        });
        assertThat(heldUp.await(10, TimeUnit.SECONDS)).isTrue();
        elapsed.set(TimeUnit.SECONDS.toNanos(4));
        assertThat(idle.submit(id, List.of(PING), LONG, heard::add)).isFalse();
        goOn.countDown();
        await().until(() -> proxy.openConnections() == 0);
    }

    @Test
    void connectQuickly_overTls_isNotTried() {
        List<String> made = new CopyOnWriteArrayList<>();
        Threads threads = Threads.of(
                work -> {
                    made.add("a thread");
                    return new Thread(work);
                },
                "test");
        JedisClientConfig tls = DefaultJedisClientConfig.builder()
                .sslOptions(SslOptions.builder().build())
                .build();
        JedisRedis overTls = closing(JedisRedis.ofReader(proxy.address(), tls, 2, new QuickReader(threads)));
        overTls.connectQuickly(LONG);
        assertThat(made).isEmpty();
    }

    /** A thread that the exception ends would report it to the handler. */
    @Test
    void connectQuickly_providerThrows_endsNoThread() throws InterruptedException {
        List<Thread> made = new CopyOnWriteArrayList<>();
        List<Throwable> thrown = new CopyOnWriteArrayList<>();
        Threads threads = Threads.of(
                work -> {
                    Thread thread = new Thread(work);
                    thread.setUncaughtExceptionHandler((one, e) -> thrown.add(e));
                    made.add(thread);
                    return thread;
                },
                "test");
        CountDownLatch asked = new CountDownLatch(1);
        JedisClientConfig config = DefaultJedisClientConfig.builder()
                .credentialsProvider(() -> {
                    asked.countDown();
                    throw new UnsupportedOperationException("of the test");
                })
                .build();
        JedisRedis other = JedisRedis.ofReader(shared.address(), config, 2, new QuickReader(threads));
        other.connectQuickly(LONG);
        assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
        other.close();
        for (Thread thread : made) {
            thread.join();
        }
        assertThat(thrown).isEmpty();
    }

    @Test
    void connectQuickly_withUserAndDatabase_usesThem() {
        try (Jedis admin = shared.client()) {
            admin.aclSetUser("app", "on", ">secret", "allkeys", "allcommands");
            JedisClientConfig config = DefaultJedisClientConfig.builder()
                    .user("app")
                    .password("secret")
                    .database(3)
                    .build();
            JedisRedis other =
                    closing(JedisRedis.ofReader(shared.address(), config, 2, new QuickReader(Threads.DAEMONS)));
            connect(other, id);
            assertThat(other.submit(id, List.of(COUNT), LONG, heard::add)).isTrue();
            next();
            admin.select(3);
            assertThat(admin.get("counter")).isEqualTo("1");
            admin.select(0);
            admin.aclDelUser("app");
        }
    }

    /** Calls that throw after this number of accesses, as if there were no memory. */
    private static List<Call> failingAfter(int looks, Call call) {
        AtomicInteger left = new AtomicInteger(looks);
        return new AbstractList<>() {
            @Override
            public Call get(int index) {
                if (left.getAndDecrement() <= 0) {
                    throw new OutOfMemoryError("of the test");
                }
                return call;
            }

            @Override
            public int size() {
                return 1;
            }
        };
    }

    @Test
    void error_whileCallsAreGivenUp_isReportedAsABrokenConnection() {
        connect();
        proxy.holdReplies();
        assertThat(submit(failingAfter(1, PING), SHORT)).isTrue();
        assertThat(next()).isSameAs(BROKEN);
    }

    @Test
    void error_whileAnAnswerIsRead_isReportedAsABrokenConnection() {
        connect();
        submit(List.of(PING), LONG);
        next();
        assertThat(submit(failingAfter(1, PING), LONG)).isTrue();
        assertThat(next()).isSameAs(BROKEN);
        connect();
        assertThat(submit(List.of(PING), LONG)).isTrue();
        assertThat(next()).containsExactly(Outcome.of(reply("PONG")));
    }

    @Test
    void connectionToAnotherServer_isNotUsed() {
        connect();
        assertThat(redis.submit("0123", List.of(PING), LONG, heard::add)).isFalse();
        await().until(() -> proxy.openConnections() == 0);
        connect();
    }

    @Test
    void readOnlyServer_isNotAskedOnTheSameConnectionAgain() {
        RedisServer master = closing(RedisServer.start());
        RedisServer replica = closing(RedisServer.start());
        try (Jedis admin = replica.client()) {
            admin.replicaof("127.0.0.1", master.address().getPort());
        }
        JedisRedis demoted =
                closing(JedisRedis.ofReader(replica.address(), resp3(), 2, new QuickReader(Threads.DAEMONS)));
        connect(demoted, runId(replica));
        await().until(() -> demoted.submit(runId(replica), List.of(COUNT), LONG, heard::add)
                && String.valueOf(next().get(0).failure()).contains("READONLY"));
        assertThat(demoted.submit(runId(replica), List.of(PING), LONG, heard::add))
                .isFalse();
    }
}
