package io.github.redislocks;

import static io.github.redislocks.QuorumTwins.script;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.quorum.MajorityPoll;
import io.github.redislocks.quorum.Poll;
import io.github.redislocks.quorum.Quorum;
import io.github.redislocks.quorum.QuorumCalls;
import io.github.redislocks.quorum.QuorumNode;
import io.github.redislocks.quorum.QuorumServer;
import io.github.redislocks.quorum.RetryTimer;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the port to a quorum of three: how two requests of one attempt affect each other. */
@Timeout(30)
class QuorumPortTest {

    private static final long SECOND = 1_000_000_000;
    private static final long PATIENCE = 20 * SECOND;
    private static final Duration SOON = Duration.ofSeconds(10);

    private final List<InMemoryRedis> masters = new ArrayList<>();
    private final List<InMemoryRedis> nodes = new ArrayList<>();
    private final ServerTimes times = new ServerTimes(Clock.SYSTEM);
    private Quorum quorum;
    private Attempt attempt;
    private LockKeys keys;

    @BeforeEach
    void connect() {
        for (int i = 0; i < 3; i++) {
            masters.add(new InMemoryRedis());
            nodes.add(masters.get(i).another());
        }
        quorum = new Quorum(nodes, Settings.DEFAULTS, 0);
        keys = LockKeys.of("redis-locks:quorum", "job");
        attempt = new Attempt(
                7, keys, new Owner("client:1"), new Attempt.Request(3_000, true, false), WaitLimit.endless());
    }

    @AfterEach
    void close() {
        quorum.close();
        masters.forEach(InMemoryRedis::close);
    }

    private Reply acquire() {
        return acquire(SECOND);
    }

    private Reply acquire(long timeoutNanos) {
        return quorum.run(Scripts.acquire(attempt, times.date(0, timeoutNanos), true, 0), timeoutNanos);
    }

    private Outcome heartbeat() {
        return quorum.runAll(List.of(Scripts.heartbeat(attempt, times.date(0, SECOND))), SECOND)
                .get(0);
    }

    private long votes() {
        return masters.stream()
                .filter(master -> !master.hash(keys.lock()).isEmpty())
                .count();
    }

    @Test
    void heartbeat_afterTheAttemptHasWon_neverWithdrawsItsVotes() {
        assertThat(acquire().code()).isEqualTo("OK");
        await().atMost(SOON).until(() -> votes() == 3);
        // No master would vote from now on: if the vote were withdrawn, the lock would be lost with it.
        List<HeldCalls> held = hold(call ->
                call.script().name().equals("keep") || call.script().name().equals("vote"));
        CompletableFuture<Outcome> asked = OwnThread.call(this::heartbeat);
        assertThat(asked.join().failure()).isNotNull();
        held.forEach(HeldCalls::release);
        await().atMost(SOON)
                .ignoreExceptions()
                .until(() -> quorum.run(Inspections.locked(keys), SECOND).is("LOCKED"));
        assertThat(votes()).isEqualTo(3);
        assertThat(masters.stream()
                        .mapToInt(master -> master.log().count("withdraw"))
                        .sum())
                .isZero();
    }

    @Test
    void heartbeat_whileTheAttemptAsks_asksForNoVotes() throws Exception {
        List<HeldCalls> held = hold(script("vote"));
        CompletableFuture<Reply> asked = OwnThread.call(this::acquire);
        held.get(0).awaitParked(1, SOON);
        assertThat(heartbeat().reply()).isEqualTo(new Reply(Reply.UNASKED, List.of()));
        held.forEach(HeldCalls::release);
        assertThat(asked.get(10, TimeUnit.SECONDS).code()).isEqualTo("OK");
    }

    @Test
    void heartbeat_ofAnAttemptThatLeft_isNotAsked() {
        assertThat(acquire().code()).isEqualTo("OK");
        quorum.run(Scripts.leave(keys, attempt.owner, attempt.number, false), SECOND);
        assertThat(heartbeat().reply()).isEqualTo(new Reply(Reply.UNASKED, List.of()));
    }

    private Reply leave() {
        return quorum.run(Scripts.leave(keys, attempt.owner, attempt.number, false), SECOND);
    }

    /** A quorum that has answered nothing must not count as reachable. */
    @Test
    void leave_ofWhatNoMajorityMayHave_isNoAnswerOfTheQuorum() {
        assertThat(leave().code()).isEqualTo(Reply.UNASKED);
        nodes.forEach(node -> node.down(true));
        assertThatThrownBy(this::acquire).isInstanceOf(RedisException.Unanswered.class);
        assertThat(leave().code()).isEqualTo(Reply.UNASKED);
        nodes.get(0).down(false);
        attempt = new Attempt(
                8, keys, new Owner("client:1"), new Attempt.Request(3_000, true, false), WaitLimit.endless());
        await().atMost(SOON).until(() -> {
            assertThatThrownBy(this::acquire).isInstanceOf(RedisException.Unanswered.class);
            return nodes.get(0).log().count("vote") > 0;
        });
        assertThat(leave().code()).isEqualTo(Reply.UNASKED);
        nodes.forEach(node -> node.down(false));
        AtomicInteger number = new AtomicInteger(8);
        // Until the circuit breakers allow a call to each master again.
        await().atMost(SOON).ignoreExceptions().until(() -> {
            attempt = new Attempt(
                    number.incrementAndGet(),
                    keys,
                    new Owner("client:1"),
                    new Attempt.Request(3_000, true, false),
                    WaitLimit.endless());
            acquire();
            return leave().is("DONE");
        });
    }

    @Test
    void acquire_afterTheHeartbeatHasWon_getsTheReplyThatItExpects() {
        assertThat(acquire().code()).isEqualTo("OK");
        quorum.run(Scripts.leave(keys, attempt.owner, attempt.number, false), SECOND);
        await().until(() -> votes() == 0);
        Attempt other = new Attempt(
                8, keys, new Owner("client:2"), new Attempt.Request(3_000, true, false), WaitLimit.endless());
        assertThat(quorum.run(Scripts.acquire(other, times.date(0, SECOND), true, 0), SECOND)
                        .code())
                .isEqualTo("OK");
        attempt = new Attempt(
                9, keys, new Owner("client:1"), new Attempt.Request(3_000, true, false), WaitLimit.endless());
        assertThat(acquire().code()).isEqualTo("QUEUED");
        quorum.run(Scripts.leave(keys, other.owner, other.number, false), SECOND);
        await().until(() -> votes() == 0);
        Reply granted = heartbeat().reply();
        assertThat(granted.code()).isEqualTo("GRANTED");
        Reply again = acquire();
        assertThat(again.code()).isEqualTo("OK");
        assertThat(again.number(0)).isEqualTo(granted.number(0));
    }

    @Test
    void acquire_ofAWinThatHasLapsed_votesAnew() {
        long first = acquire().number(0);
        masters.forEach(master -> master.del(keys.lock()));
        Reply again = null;
        for (int i = 0; again == null && i < 3; i++) {
            try {
                again = acquire();
            } catch (RedisException.Unanswered gone) {
                assertThat(i).as("only the first").isZero();
            }
        }
        assertThat(again.number(0)).isGreaterThan(first);
    }

    @Test
    void acquire_whileAnEarlierQuestionHangs_isNotTakenForALateOne() throws Exception {
        List<HeldCalls> held = hold(script("vote"));
        CompletableFuture<Reply> asked = OwnThread.call(() -> acquire(10 * SECOND));
        held.get(0).awaitParked(1, SOON);
        assertThatThrownBy(() -> acquire(SECOND / 20)).isInstanceOf(RedisException.Unanswered.class);
        held.forEach(HeldCalls::release);
        assertThat(asked.get(10, TimeUnit.SECONDS).code()).isEqualTo("OK");
    }

    @Test
    void timeOfAMaster_thatAnsweredSlowly_isNotAheadByTheWholeRoundTrip() {
        long there = 5_000_000_000L;
        RetryTimer timer = new RetryTimer(Threads.DAEMONS);
        InMemoryRedis server = new InMemoryRedis(() -> there);
        InMemoryRedis face = server.another();
        HeldCalls held = face.hold(call -> true);
        Call check = Inspections.check("redis-locks:quorum", "mailbox");
        QuorumNode node = new QuorumNode(
                0,
                new QuorumServer(face, "redis-locks:quorum", 0, 0, new ConcurrentHashMap<>()),
                Settings.DEFAULTS,
                new QuorumCalls(1),
                timer,
                Threads.DAEMONS);
        Poll poll = MajorityPoll.ofAll(1, check);
        long sent = System.nanoTime();
        node.ask(List.of(poll), sent + 10 * SECOND, false);
        held.awaitParked(1, SOON);
        await().until(() -> System.nanoTime() - sent > SECOND / 2);
        long released = System.nanoTime();
        held.release();
        assertThat(poll.await(sent + 10 * SECOND, LockSupport::parkNanos)
                        .outcome()
                        .reply())
                .isNotNull();
        long ahead = node.time.notAfterMicros(System.nanoTime(), 0) - there;
        assertThat(ahead).isBetween(0L, (System.nanoTime() - released) / 1_000 + 100_000);
        timer.close();
        node.shutDown(System.nanoTime() + SECOND);
        node.close(System.nanoTime() + SECOND);
        server.close();
    }

    @Test
    void acquire_again_answersWithTheSameToken() {
        Reply first = acquire();
        assertThat(acquire().number(0)).isEqualTo(first.number(0));
    }

    @Test
    void heartbeat_ofAnAttemptThatWasBusyAndHasNoPlace_isNotAsked() {
        assertThat(acquire().code()).isEqualTo("OK");
        attempt = new Attempt(
                8, keys, new Owner("client:2"), new Attempt.Request(3_000, true, false), WaitLimit.endless());
        Reply busy = quorum.run(Scripts.acquire(attempt, times.date(0, SECOND), false, 0), SECOND);
        assertThat(busy.code()).isEqualTo("BUSY");
        assertThat(heartbeat().reply()).isEqualTo(new Reply(Reply.UNASKED, List.of()));
        assertThat(masters).allMatch(master -> !master.zset(keys.all().get(1)).containsKey("client:2"));
    }

    /** A port of which the test answers some methods; null leaves the method to the master. */
    private static Redis faced(Redis master, Function<Method, @Nullable Supplier<Object>> work) {
        return (Redis) Proxy.newProxyInstance(
                Redis.class.getClassLoader(), new Class<?>[] {Redis.class}, (proxy, method, args) -> {
                    Supplier<Object> instead = work.apply(method);
                    try {
                        return instead == null ? method.invoke(master, args) : instead.get();
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void errorInOneMastersThread_isOneMasterLess() {
        quorum.close();
        InMemoryRedis face = masters.get(2).another();
        AtomicInteger errors = new AtomicInteger();
        Redis broken = faced(face, method -> switch (method.getName()) {
            case "run", "runAll", "publish" ->
                () -> {
                    errors.incrementAndGet();
                    throw new InternalError("broken by the test");
                };
            default -> null;
        });
        quorum = new Quorum(List.of(masters.get(0), masters.get(1), broken), Settings.DEFAULTS, 0);
        for (int i = 0; i < 20; i++) {
            attempt = new Attempt(
                    100 + i,
                    keys,
                    new Owner("client:1"),
                    new Attempt.Request(30_000, true, false),
                    WaitLimit.endless());
            // The two other masters answer at once, unless this machine stalls.
            Reply acquired = quorum.run(Scripts.acquire(attempt, times.date(0, PATIENCE), true, 0), PATIENCE);
            assertThat(acquired.code()).isEqualTo("OK");
            Call heartbeat = Scripts.heartbeat(attempt, times.date(0, PATIENCE));
            assertThat(quorum.runAll(List.of(heartbeat), PATIENCE)
                            .get(0)
                            .reply()
                            .code())
                    .isEqualTo("GRANTED");
            quorum.publish("channel", "", PATIENCE);
            Reply left = quorum.run(Scripts.leave(keys, attempt.owner, attempt.number, false), PATIENCE);
            assertThat(left.code()).isEqualTo("DONE");
        }
        // Messages and heartbeats are sent one by one, by a thread that no caller waits for.
        await().until(() -> errors.get() > 20);
    }

    @Test
    void errorInAMajoritysThreads_isNoAnswerAndNoWait() {
        quorum.close();
        List<Redis> broken = nodes.stream()
                .map(node -> faced(node, method -> {
                    if (method.getName().equals("run")) {
                        return () -> {
                            throw new InternalError("broken by the test");
                        };
                    }
                    return null;
                }))
                .toList();
        quorum = new Quorum(broken, Settings.DEFAULTS, 0);
        long began = System.nanoTime();
        assertThatThrownBy(() -> quorum.run(Scripts.acquire(attempt, times.date(0, SECOND), true, 0), 20 * SECOND))
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("the call met an error");
        assertThat(System.nanoTime() - began).isLessThan(15 * SECOND);
    }

    /** A server that was away when the client connected, and that is then reached under two names. */
    @Test
    void serverUnderTwoNames_metLater_hasOneVote() {
        quorum.close();
        InMemoryRedis one = masters.get(1).another();
        InMemoryRedis same = masters.get(1).another();
        same.down(true);
        InMemoryRedis other = masters.get(0).another();
        quorum = new Quorum(List.of(other, one, same), Settings.DEFAULTS, 0);
        Call check = Inspections.check("redis-locks:quorum", "mailbox");
        assertThat(quorum.run(check, SECOND).code()).isEqualTo("CHECKED");
        same.down(false);
        await().atMost(SOON).ignoreExceptions().until(() -> {
            boolean had = acquire().is("OK");
            return had && same.log().count("check") > 0;
        });
        quorum.run(Scripts.leave(keys, attempt.owner, attempt.number, false), SECOND);
        other.down(true);
        attempt = new Attempt(
                8, keys, new Owner("client:1"), new Attempt.Request(3_000, true, false), WaitLimit.endless());
        assertThatThrownBy(this::acquire).hasMessageContaining("is the same server as");
        assertThat(same.log().count("vote")).isZero();
    }

    @Test
    void subscriptionToOneMaster_openOnOneSideOnly_isOpenedAgain() {
        quorum.close();
        InMemoryRedis face = masters.get(2).another();
        AtomicInteger subscribed = new AtomicInteger();
        Redis counted = faced(face, method -> {
            if (method.getName().equals("subscribe")) {
                subscribed.incrementAndGet();
            }
            return null;
        });
        quorum = new Quorum(List.of(masters.get(0), masters.get(1), counted), Settings.DEFAULTS, 0);
        Redis.Subscription own = quorum.subscribe("mailbox", SECOND / 10);
        await().atMost(SOON).until(() -> subscribed.get() == 1);
        face.dropMessages(true);
        await().atMost(SOON).until(() -> {
            quorum.publish("mailbox", "", SECOND);
            return subscribed.get() > 1;
        });
        face.dropMessages(false);
        own.close();
    }

    @Test
    void subscription_thatReceives_staysOpen() {
        quorum.close();
        InMemoryRedis face = masters.get(2).another();
        AtomicInteger subscribed = new AtomicInteger();
        AtomicInteger published = new AtomicInteger();
        Redis counted = faced(face, method -> {
            (method.getName().equals("publish") ? published : subscribed)
                    .addAndGet(method.getName().matches("publish|subscribe") ? 1 : 0);
            return null;
        });
        quorum = new Quorum(List.of(masters.get(0), masters.get(1), counted), Settings.DEFAULTS, 0);
        Redis.Subscription own = quorum.subscribe("mailbox", SECOND);
        await().atMost(SOON).until(() -> {
            quorum.publish("mailbox", "", SECOND);
            return published.get() >= 25;
        });
        assertThat(subscribed).hasValue(1);
        own.close();
    }

    private List<HeldCalls> hold(Predicate<Call> which) {
        return nodes.stream().map(node -> node.hold(which)).toList();
    }
}
