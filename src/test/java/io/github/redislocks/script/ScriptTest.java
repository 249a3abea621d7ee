package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.Processes;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisProtocol;

/**
 * Each script's branches and replies, and what it leaves in Redis: on Redis 6.2 and 7.0, by RESP2 and RESP3, and on the
 * in-memory twin. Owners {@code a:1} and {@code a:2} are threads of one client, {@code b:1} and {@code c:1} of others.
 */
@ParameterizedClass(name = "{0}")
@MethodSource("targets")
@Timeout(30)
class ScriptTest {

    /** A machine may stall for long, and no call of these tests waits for anything. */
    private static final long TIMEOUT_NANOS = 20_000_000_000L;

    private static final Call.NotAfter FOR_EVER = server -> 8_000_000_000_000_000L;
    private static final Call.NotAfter LONG_AGO = server -> 1;
    private static final Script PEEK = Script.load(ScriptTest.class, "peek");
    private static final Script POKE = Script.load(ScriptTest.class, "poke");

    private static RedisServer server70;
    private static RedisServer server62;

    /** Where the scripts run. */
    enum Target {
        REDIS_70_RESP3,
        REDIS_70_RESP2,
        REDIS_62_RESP2,
        REDIS_62_RESP3,
        TWIN;

        Redis open() {
            if (this == TWIN) {
                return new InMemoryRedis();
            }
            boolean old = this == REDIS_62_RESP2 || this == REDIS_62_RESP3;
            boolean resp2 = this == REDIS_70_RESP2 || this == REDIS_62_RESP2;
            RedisServer server = old ? server62() : server70();
            return new JedisRedis(
                    server.address(),
                    DefaultJedisClientConfig.builder()
                            .protocol(resp2 ? RedisProtocol.RESP2 : RedisProtocol.RESP3)
                            .build(),
                    4);
        }
    }

    static Stream<Target> targets() {
        return Stream.of(Target.values()).filter(target -> Processes.ALLOWED || target == Target.TWIN);
    }

    private static synchronized RedisServer server70() {
        if (server70 == null) {
            server70 = RedisServer.start();
        }
        return server70;
    }

    private static synchronized RedisServer server62() {
        if (server62 == null) {
            server62 = RedisServer.start(RedisServer.Version.V6_2);
        }
        return server62;
    }

    @AfterAll
    static void stopServers() {
        Stream.of(server70, server62).filter(server -> server != null).forEach(RedisServer::close);
        server70 = null;
        server62 = null;
    }

    @Parameter
    Target target;

    /** A prefix of its own, so that no mailbox of another test is heard. */
    private final String prefix = "script-" + UUID.randomUUID();

    private final LockKeys keys = LockKeys.of(prefix, "lock");
    private final Map<String, Redis.Subscription> mailboxes = new HashMap<>();
    private Redis redis;

    @BeforeEach
    void open() {
        redis = target.open();
    }

    @AfterEach
    void close() {
        mailboxes.values().forEach(Redis.Subscription::close);
        redis.close();
    }

    private Attempt attempt(long number, String owner, long leaseMillis) {
        return new Attempt(
                number, keys, new Owner(owner), new Attempt.Request(leaseMillis, true, false), WaitLimit.endless());
    }

    private Attempt attempt(long number, String owner) {
        return attempt(number, owner, 30_000);
    }

    private Hold hold(long number, String owner, int count) {
        Attempt.Grant grant = new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true);
        Hold hold = new Hold(attempt(number, owner), grant, 0, 0, null);
        while (hold.count() < count) {
            hold.reentered(hold.leaseMillis(), false, Long.MAX_VALUE);
        }
        return hold;
    }

    private static Hold naming(Hold hold, Attempt successor) {
        hold.names(successor);
        return hold;
    }

    private Reply run(Call call) {
        return redis.run(call, TIMEOUT_NANOS);
    }

    private Reply acquire(long number, String owner) {
        return run(Scripts.acquire(attempt(number, owner), FOR_EVER, false, 0));
    }

    private Reply acquireFor(long number, String owner, long leaseMillis) {
        return run(Scripts.acquire(attempt(number, owner, leaseMillis), FOR_EVER, false, 0));
    }

    private Reply enqueue(long number, String owner) {
        return run(Scripts.acquire(attempt(number, owner), FOR_EVER, true, 0));
    }

    private Reply release(long number, String owner) {
        return run(Scripts.release(hold(number, owner, 1), false, false));
    }

    private Reply heartbeat(long number, String owner) {
        return run(Scripts.heartbeat(attempt(number, owner), FOR_EVER));
    }

    private Reply leave(long number, String owner, boolean returned, Attempt successor) {
        return run(Scripts.leave(attempt(number, owner), returned, successor, true));
    }

    private record Peek(
            String owner,
            String attempt,
            String holds,
            String token,
            String lost,
            String waited,
            long pttl,
            String fence,
            long fencePttl,
            List<String> queue) {}

    private Peek peek() {
        return peek(keys);
    }

    private Peek peek(LockKeys keys) {
        Reply reply = run(new Call(PEEK, keys.all(), List.of()));
        List<String> queue =
                reply.values().stream().skip(9).map(Object::toString).toList();
        return new Peek(
                reply.text(0),
                reply.text(1),
                reply.text(2),
                reply.text(3),
                reply.text(4),
                reply.text(5),
                reply.number(6),
                reply.text(7),
                reply.number(8),
                queue);
    }

    private void poke(String fence) {
        run(new Call(POKE, keys.all(), List.of(fence)));
    }

    /** Opens a client's mailbox. */
    private void mail(String client) {
        mailboxes.put(client, redis.subscribe(LockKeys.mailbox(prefix, client), TIMEOUT_NANOS));
    }

    /** The first message to a client since it opened its mailbox, or a word for none. */
    private String told(String client) {
        redis.publish(LockKeys.mailbox(prefix, client), "nothing", TIMEOUT_NANOS);
        return mailboxes.get(client).next();
    }

    private long micros() {
        Reply reply = run(Inspections.check(prefix, prefix + ":mailbox:client"));
        return reply.number(reply.values().size() - 1);
    }

    @Test
    void check_tellsMicrosecondsRefusesNothingAndLeavesNothing() {
        Reply reply = run(Inspections.check(prefix, prefix + ":mailbox:client"));
        assertThat(reply.code()).isEqualTo("CHECKED");
        assertThat(reply.text(4) + reply.text(5)).isEmpty();
        assertThat(micros()).isBetween(1_600_000_000_000_000L, 4_000_000_000_000_000L);
        assertThat(peek(LockKeys.ofNobody(prefix)).owner()).isEqualTo("-");
        assertThat(peek(LockKeys.ofNobody(prefix)).fence()).isEqualTo("-");
        assertThat(peek(LockKeys.ofNobody(prefix)).queue()).isEmpty();
    }

    @Test
    void acquire_free_ownsWithATokenOfTheTime() {
        Reply reply = acquire(1, "a:1");
        assertThat(reply.code()).isEqualTo("OK");
        assertThat(reply.number(0)).isEqualTo(reply.number(2));
        assertThat(reply.number(1)).isZero();
        Peek peek = peek();
        assertThat(peek.owner()).isEqualTo("a:1");
        assertThat(peek.attempt()).isEqualTo("1");
        assertThat(peek.holds()).isEqualTo("1");
        assertThat(peek.token()).isEqualTo(Long.toString(reply.number(0)));
        assertThat(peek.fence()).isEqualTo(peek.token());
        assertThat(peek.waited()).isEqualTo("-");
        assertThat(peek.pttl()).isBetween(29_000L, 30_000L);
    }

    @Test
    void acquire_late_changesNothing() {
        Reply reply = run(Scripts.acquire(attempt(1, "a:1"), LONG_AGO, true, 0));
        assertThat(reply.code()).isEqualTo("LATE");
        assertThat(reply.number(0)).isGreaterThan(1);
        assertThat(peek().owner()).isEqualTo("-");
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void acquire_again_isTheSameHoldAndRefreshed() {
        long token = run(Scripts.acquire(attempt(1, "a:1", 20_000), FOR_EVER, false, 0))
                .number(0);
        Reply again = acquire(1, "a:1");
        assertThat(again.code()).isEqualTo("OK");
        assertThat(again.number(0)).isEqualTo(token);
        assertThat(peek().holds()).isEqualTo("1");
        assertThat(peek().pttl()).isGreaterThan(29_000);
        run(Scripts.acquire(attempt(1, "a:1", 20_000), FOR_EVER, false, 0));
        assertThat(peek().pttl()).as("a shorter lease does not shorten").isGreaterThan(29_000);
    }

    @Test
    void acquire_ofALaterAttempt_takesThePhantomOverWithANewToken() {
        long phantom = acquire(1, "a:1").number(0);
        Reply next = acquire(2, "a:1");
        assertThat(next.code()).isEqualTo("OK");
        assertThat(next.number(0)).isGreaterThan(phantom);
        assertThat(next.number(1)).as("no caller ever had the hold").isZero();
        assertThat(peek().holds()).isEqualTo("1");
        Reply lastLostAttempt = run(Scripts.acquire(attempt(3, "a:1"), FOR_EVER, false, 2));
        assertThat(lastLostAttempt.number(1))
                .as("the caller had the hold and lost it")
                .isEqualTo(1);
    }

    @Test
    void acquire_ofAnEarlierAttempt_isAnothers() {
        acquire(5, "a:1");
        Peek before = peek();
        assertThat(acquire(4, "a:1").code())
                .as("a late copy, whose caller knows nothing of the hold")
                .isEqualTo("BUSY");
        assertThat(enqueue(4, "a:1").code()).isEqualTo("QUEUED");
        assertThat(peek().attempt()).isEqualTo(before.attempt());
        assertThat(peek().token()).isEqualTo(before.token());
        assertThat(peek().queue()).containsExactly("a:1:4");
        leave(4, "a:1", false, null);
        enqueue(9, "b:1");
        enqueue(8, "b:1");
        assertThat(peek().queue()).as("each attempt has its own").containsExactly("b:1:9", "b:1:8");
    }

    @Test
    void acquire_held_isBusyOrTakesAPlace() {
        long token = acquire(1, "a:1").number(0);
        Reply busy = acquire(1, "b:1");
        assertThat(busy.code()).isEqualTo("BUSY");
        assertThat(busy.number(0)).isBetween(29_000L, 30_000L);
        assertThat(peek().queue()).isEmpty();
        Reply queued = enqueue(1, "b:1");
        assertThat(queued.code()).isEqualTo("QUEUED");
        assertThat(queued.number(0)).isEqualTo(token);
        assertThat(queued.number(1)).isBetween(29_000L, 30_000L);
        enqueue(1, "c:1");
        enqueue(1, "b:1");
        assertThat(peek().queue()).as("a renewed place keeps its order").containsExactly("b:1:1", "c:1:1");
        assertThat(peek().waited()).isEqualTo("1");
    }

    @Test
    void acquire_freeWithWaiters_bargesAndKeepsThem() {
        acquire(1, "a:1");
        enqueue(1, "b:1");
        assertThat(release(1, "a:1").code()).as("no waiter could be notified").isEqualTo("FREED");
        assertThat(acquire(1, "c:1").code()).isEqualTo("OK");
        assertThat(peek().waited()).isEqualTo("1");
        assertThat(peek().queue()).containsExactly("b:1:1");
    }

    @Test
    void token_growsThoughTheClockStandsBack_andTellsAnUnreleasedHold() {
        long future = micros() + 3_600_000_000L;
        poke(future + "+");
        Reply released = acquire(1, "a:1");
        assertThat(released.number(0)).isEqualTo(future + 1);
        assertThat(released.number(1)).isZero();
        poke("");
        Reply vanished = acquire(2, "b:1");
        assertThat(vanished.number(0)).isEqualTo(future + 2);
        assertThat(vanished.number(1)).isEqualTo(1);
        release(2, "b:1");
        assertThat(acquire(3, "c:1").number(1)).isZero();
    }

    @Test
    void reenter_countsOnceAndExtends() {
        run(Scripts.acquire(attempt(1, "a:1", 20_000), FOR_EVER, false, 0));
        assertThat(run(Scripts.reenter(hold(1, "a:1", 1), 1, 30_000)).code()).isEqualTo("OK");
        assertThat(run(Scripts.reenter(hold(1, "a:1", 1), 1, 30_000)).code()).isEqualTo("OK");
        assertThat(peek().holds()).isEqualTo("2");
        assertThat(peek().pttl()).isGreaterThan(29_000);
        run(Scripts.reenter(hold(1, "a:1", 2), 2, 200));
        assertThat(peek().holds()).isEqualTo("3");
        assertThat(peek().pttl()).as("never shortened").isGreaterThan(29_000);
        assertThat(run(Scripts.reenter(hold(2, "a:1", 3), 3, 30_000)).code()).isEqualTo("GONE");
        assertThat(run(Scripts.reenter(hold(1, "b:1", 3), 3, 30_000)).code()).isEqualTo("GONE");
        assertThat(peek().holds()).isEqualTo("3");
    }

    @Test
    void releaseInner_countsOnceAndNeverEndsTheHold() {
        acquire(1, "a:1");
        run(Scripts.reenter(hold(1, "a:1", 1), 1, 30_000));
        assertThat(run(Scripts.releaseInner(hold(1, "a:1", 2), 2)).code()).isEqualTo("OK");
        assertThat(run(Scripts.releaseInner(hold(1, "a:1", 2), 2)).code()).isEqualTo("OK");
        assertThat(run(Scripts.releaseInner(hold(1, "a:1", 1), 1)).code()).isEqualTo("OK");
        assertThat(peek().holds()).isEqualTo("1");
        assertThat(run(Scripts.releaseInner(hold(2, "a:1", 2), 2)).code()).isEqualTo("GONE");
    }

    @Test
    void release_whateverTheCount_freesAndMarksTheToken() {
        long token = acquire(1, "a:1").number(0);
        run(Scripts.reenter(hold(1, "a:1", 1), 1, 30_000));
        assertThat(release(1, "a:1").code()).isEqualTo("FREED");
        assertThat(peek().owner()).isEqualTo("-");
        assertThat(peek().fence()).isEqualTo(token + "+");
        assertThat(release(1, "a:1").code()).isEqualTo("GONE");
    }

    @Test
    void release_ofAnEarlierAttempt_touchesNothing() {
        acquire(2, "a:1");
        assertThat(release(1, "a:1").code()).isEqualTo("GONE");
        assertThat(release(2, "b:1").code()).isEqualTo("GONE");
        assertThat(peek().owner()).isEqualTo("a:1");
    }

    @Test
    void release_whoseFenceIsGone_writesItAnewAndForADay() {
        Reply first = acquire(1, "a:1");
        poke("-");
        assertThat(run(Scripts.release(hold(1, "a:1", 1), false, false)).code()).isEqualTo("FREED");
        assertThat(peek().fence()).isEqualTo(first.number(0) + "+");
        assertThat(peek().fencePttl()).isBetween(99_000_000L, 100_000_000L);
    }

    @Test
    void release_keepsTheFenceADay() {
        acquire(1, "a:1");
        run(Scripts.release(hold(1, "a:1", 1), false, false));
        assertThat(peek().fencePttl()).isBetween(99_000_000L, 100_000_000L);
    }

    @Test
    void leaseOfHours_letsTheFenceLastForADayLonger() {
        long lease = 86_400_000;
        acquireFor(1, "a:1", lease);
        assertThat(peek().fencePttl()).isBetween(185_000_000L, 186_400_000L);
        run(Scripts.release(naming(hold(1, "a:1", 1), attempt(2, "a:2", 30_000)), true, false));
        assertThat(peek().owner()).isEqualTo("a:2");
        run(Scripts.release(naming(hold(2, "a:2", 1), attempt(3, "a:3", lease)), true, false));
        assertThat(peek().owner()).isEqualTo("a:3");
        assertThat(peek().fencePttl()).isBetween(185_000_000L, 186_400_000L);
    }

    @Test
    void renewalForHours_andReentryForHours_letTheFenceLastForADayLonger() {
        long lease = 86_400_000;
        acquire(1, "a:1");
        assertThat(peek().fencePttl()).isLessThanOrEqualTo(100_000_000L);
        run(Scripts.confirm(attempt(1, "a:1", lease), 0));
        assertThat(peek().fencePttl()).isBetween(185_000_000L, 186_400_000L);
        run(Scripts.release(hold(1, "a:1", 1), false, false));
        acquire(2, "a:1");
        run(Scripts.reenter(hold(2, "a:1", 1), 1, 2 * lease));
        assertThat(peek().fencePttl()).isBetween(271_000_000L, 272_800_000L);
    }

    @Test
    void release_withAWaiter_makesItTheOwnerForAClaimAndTellsIt() {
        long token = acquire(1, "a:1").number(0);
        mail("b");
        enqueue(7, "b:1");
        enqueue(1, "c:1");
        assertThat(release(1, "a:1").code()).isEqualTo("GRANTED");
        Peek peek = peek();
        assertThat(peek.owner()).isEqualTo("b:1");
        assertThat(peek.attempt()).isEqualTo("7");
        assertThat(peek.lost()).isEqualTo("-");
        assertThat(peek.pttl()).isBetween(3_000L, 4_500L);
        assertThat(peek.queue()).containsExactly("c:1:1");
        assertThat(peek.waited()).isEqualTo("1");
        assertThat(Long.parseLong(peek.token())).isGreaterThan(token);
        assertThat(told("b")).isEqualTo("7 " + peek.token() + " 0");
    }

    @Test
    void release_withAWaiterNobodyCanTell_skipsItAndItKeepsItsPlace() {
        acquire(1, "a:1");
        mail("c");
        enqueue(1, "b:1");
        enqueue(1, "c:1");
        assertThat(release(1, "a:1").code()).isEqualTo("GRANTED");
        assertThat(peek().owner()).isEqualTo("c:1");
        assertThat(peek().queue()).containsExactly("b:1:1");
        assertThat(told("c")).startsWith("1 ");
    }

    @Test
    void release_withADeadPlace_dropsIt() {
        acquire(1, "a:1");
        run(new Call(
                Scripts.acquire(attempt(1, "b:1"), FOR_EVER, true, 0).script(),
                keys.all(),
                List.of("b:1", "1", "30000", "8000000000000000", "1", "0", "barge")));
        long placed = micros();
        org.awaitility.Awaitility.await().until(() -> micros() > placed + 2_000);
        enqueue(1, "c:1");
        mail("c");
        release(1, "a:1");
        assertThat(peek().owner()).isEqualTo("c:1");
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void release_withASuccessor_handsOnWithAFullLease() {
        long token = acquire(1, "a:1").number(0);
        Call release = Scripts.release(naming(hold(1, "a:1", 1), attempt(2, "a:2")), false, true);
        Reply reply = run(release);
        assertThat(reply.code()).isEqualTo("SUCCEEDED");
        assertThat(reply.number(0)).isGreaterThan(token);
        assertThat(reply.number(1)).isZero();
        assertThat(peek().owner()).isEqualTo("a:2");
        assertThat(peek().pttl()).isGreaterThan(29_000);
        Reply again = run(release);
        assertThat(again.code()).as("an unanswered copy ran before").isEqualTo("SUCCEEDED");
        assertThat(again.number(0)).isEqualTo(reply.number(0));
    }

    @Test
    void release_withASuccessorAndAnotherClient_takesTurns() {
        acquire(1, "a:1");
        mail("b");
        enqueue(1, "b:1");
        Call release = Scripts.release(naming(hold(1, "a:1", 1), attempt(2, "a:2")), false, true);
        Reply reply = run(release);
        assertThat(reply.code()).isEqualTo("QUEUED");
        Peek peek = peek();
        assertThat(peek.owner()).isEqualTo("b:1");
        assertThat(reply.text(0)).isEqualTo(peek.token());
        assertThat(peek.queue()).containsExactly("a:2:2");
        Reply again = run(release);
        assertThat(again.code()).as("an unanswered copy ran before").isEqualTo("QUEUED");
        assertThat(peek().queue()).containsExactly("a:2:2");
    }

    @Test
    void release_withinTheTurn_keepsTheLockWithTheClient() {
        acquire(1, "a:1");
        mail("b");
        enqueue(1, "b:1");
        Reply reply = run(Scripts.release(naming(hold(1, "a:1", 1), attempt(2, "a:2")), true, true));
        assertThat(reply.code()).isEqualTo("SUCCEEDED");
        assertThat(peek().owner()).isEqualTo("a:2");
        assertThat(peek().queue()).containsExactly("b:1:1");
        assertThat(peek().waited()).isEqualTo("1");
    }

    @Test
    void release_withASuccessorWithoutAMailbox_takesNoPlaceForIt() {
        acquire(1, "a:1");
        mail("b");
        enqueue(1, "b:1");
        Reply reply = run(Scripts.release(naming(hold(1, "a:1", 1), attempt(2, "a:2")), false, false));
        assertThat(reply.code()).isEqualTo("GRANTED");
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void renew_extendsAndNeverMakesAnew() {
        run(Scripts.acquire(attempt(1, "a:1", 20_000), FOR_EVER, false, 0));
        assertThat(run(Scripts.renew(hold(1, "a:1", 1), 30_000, true)).code()).isEqualTo("OK");
        assertThat(peek().pttl()).isGreaterThan(29_000);
        assertThat(run(Scripts.renew(hold(1, "a:1", 1), 200, false)).code()).isEqualTo("OK");
        assertThat(peek().pttl()).as("never shortened").isGreaterThan(29_000);
        assertThat(run(Scripts.renew(hold(2, "a:1", 1), 90_000, false)).code()).isEqualTo("GONE");
        assertThat(peek().pttl()).isLessThan(30_001);
        release(1, "a:1");
        assertThat(run(Scripts.renew(hold(1, "a:1", 1), 30_000, false)).code()).isEqualTo("GONE");
        assertThat(peek().owner()).isEqualTo("-");
    }

    @Test
    void renewAll_extendsAndNeverShortens() {
        run(Scripts.acquire(attempt(1, "a:1", 20_000), FOR_EVER, false, 0));
        List<Hold> holds = List.of(hold(1, "a:1", 1));
        assertThat(run(Scripts.renewAll(holds, 30_000)).code()).isEqualTo("OK");
        assertThat(peek().pttl()).isGreaterThan(29_000);
        assertThat(run(Scripts.renewAll(holds, 200)).code()).isEqualTo("OK");
        assertThat(peek().pttl()).as("never shortened").isGreaterThan(29_000);
    }

    @Test
    void renew_ofAHoldThatSomebodyKeptFromExpiring_hasItExpire() {
        run(new Call(POKE, keys.all(), List.of("stay")));
        assertThat(peek().pttl()).isEqualTo(-1);
        assertThat(run(Scripts.renew(hold(1, "a:1", 1), 30_000, false)).code()).isEqualTo("OK");
        assertThat(peek().pttl()).isGreaterThan(29_000);
    }

    @Test
    void heartbeat_waiting_renewsThePlaceOrMakesItAnew() {
        long token = acquire(1, "a:1").number(0);
        enqueue(1, "b:1");
        enqueue(1, "c:1");
        Reply reply = heartbeat(1, "b:1");
        assertThat(reply.code()).isEqualTo("QUEUED");
        assertThat(reply.number(0)).isEqualTo(token);
        assertThat(peek().queue()).containsExactly("b:1:1", "c:1:1");
        leave(1, "b:1", false, null);
        assertThat(heartbeat(1, "b:1").code()).isEqualTo("QUEUED");
        assertThat(peek().queue()).containsExactly("c:1:1", "b:1:1");
    }

    @Test
    void heartbeat_late_changesNothing() {
        acquire(1, "a:1");
        assertThat(run(Scripts.heartbeat(attempt(1, "b:1"), LONG_AGO)).code()).isEqualTo("LATE");
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void heartbeat_free_grantsToTheAskerByItsReply() {
        acquire(1, "a:1");
        enqueue(3, "b:1");
        poke("");
        Reply reply = heartbeat(3, "b:1");
        assertThat(reply.code()).isEqualTo("GRANTED");
        assertThat(reply.number(1)).as("the hold before was not released").isEqualTo(1);
        assertThat(peek().owner()).isEqualTo("b:1");
        assertThat(peek().pttl()).isBetween(3_000L, 4_500L);
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void heartbeat_free_grantsToWhoeverIsFirstAndCanBeTold() {
        acquire(1, "a:1");
        enqueue(1, "b:1");
        enqueue(1, "c:1");
        mail("b");
        poke("");
        assertThat(heartbeat(1, "c:1").code()).isEqualTo("QUEUED");
        assertThat(peek().owner()).isEqualTo("b:1");
        assertThat(told("b")).endsWith(" 1");
    }

    @Test
    void heartbeat_ofItsOwnGrant_extendsByAClaimOnly() {
        acquire(1, "a:1");
        mail("b");
        enqueue(1, "b:1");
        release(1, "a:1");
        Reply reply = heartbeat(1, "b:1");
        assertThat(reply.code()).isEqualTo("GRANTED");
        assertThat(reply.text(0)).isEqualTo(peek().token());
        assertThat(peek().pttl()).isLessThanOrEqualTo(4_500);
    }

    @Test
    void leave_waiting_givesThePlaceToTheSuccessor() {
        acquire(1, "a:1");
        enqueue(1, "b:1");
        enqueue(1, "c:1");
        Reply reply = leave(1, "b:1", false, attempt(2, "b:2"));
        assertThat(reply.code()).isEqualTo("QUEUED");
        assertThat(peek().queue()).containsExactly("b:2:2", "c:1:1");
        assertThat(leave(1, "b:1", false, attempt(2, "b:2")).code())
                .as("an unanswered copy ran before")
                .isEqualTo("QUEUED");
        assertThat(leave(2, "b:2", false, null).code()).isEqualTo("DONE");
        assertThat(peek().queue()).containsExactly("c:1:1");
    }

    @Test
    void leave_granted_givesTheLockOnInGoodOrder() {
        acquire(1, "a:1");
        mail("b");
        enqueue(1, "b:1");
        release(1, "a:1");
        assertThat(peek().owner()).isEqualTo("b:1");
        Reply reply = leave(1, "b:1", false, attempt(2, "b:2"));
        assertThat(reply.code()).isEqualTo("SUCCEEDED");
        assertThat(reply.number(1)).as("the caller never had the hold").isZero();
        assertThat(peek().owner()).isEqualTo("b:2");
        assertThat(leave(2, "b:2", true, null).code()).isEqualTo("DONE");
        assertThat(acquire(1, "c:1").number(1)).as("the caller had the hold").isEqualTo(1);
    }

    @Test
    void lossThatNobodyWasToldOf_isToldToTheNext() {
        acquire(1, "a:1");
        leave(1, "a:1", true, null);
        assertThat(acquire(1, "b:1").number(1)).isEqualTo(1);
        leave(1, "b:1", false, null);
        assertThat(acquire(1, "c:1").number(1))
                .as("the caller of b never had the hold")
                .isEqualTo(1);
        assertThat(acquire(2, "c:1").number(1)).as("nor c's at its first call").isEqualTo(1);
        assertThat(leave(2, "c:1", false, attempt(1, "c:2")).number(1)).isEqualTo(1);
        release(1, "c:2");
        assertThat(acquire(1, "d:1").number(1)).as("c knew").isZero();
    }

    @Test
    void leave_ofAnEarlierAttempt_touchesNoLaterOne() {
        acquire(2, "a:1");
        leave(1, "a:1", false, null);
        assertThat(peek().owner()).isEqualTo("a:1");
        enqueue(5, "b:1");
        enqueue(4, "b:1");
        leave(4, "b:1", false, null);
        assertThat(peek().queue()).containsExactly("b:1:5");
        leave(6, "b:1", false, null);
        assertThat(peek().queue()).containsExactly("b:1:5");
    }

    /** By the token, which is all that one server goes by. */
    private Reply force(long token) {
        return run(Inspections.force(keys, new Inspections.Held("", 0, token)));
    }

    @Test
    void force_ofTheHoldThatWasSeen_handsOnWithoutAMark() {
        long token = acquire(1, "a:1").number(0);
        assertThat(force(token).code()).isEqualTo("FREED");
        assertThat(force(token).code()).isEqualTo("GONE");
        Reply next = acquire(1, "b:1");
        assertThat(next.number(1)).isEqualTo(1);
        mail("c");
        enqueue(1, "c:1");
        assertThat(force(next.number(0)).code()).isEqualTo("GRANTED");
        assertThat(force(next.number(0)).code())
                .as("a second run spares the next hold")
                .isEqualTo("GONE");
        assertThat(peek().owner()).isEqualTo("c:1");
        assertThat(peek().lost()).isEqualTo("1");
    }

    @Test
    void locked_tellsWhetherAnybodyHolds() {
        assertThat(run(Inspections.locked(keys)).code()).isEqualTo("FREE");
        String token = acquire(1, "a:1").text(0);
        assertThat(run(Inspections.locked(keys)).text(2)).isEqualTo(token);
    }

    /** The release of a handle, a:h1, that keeps the lock taken. */
    private Reply releaseAfter(long number, long millis) {
        HandleOwner handle = new HandleOwner("a", 1, this, loss -> {});
        Attempt attempt =
                new Attempt(number, keys, handle, new Attempt.Request(30_000, true, false), WaitLimit.endless());
        Hold hold = new Hold(attempt, new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true), 0, 0, null);
        hold.keepFor(millis);
        return run(Scripts.releaseAfter(hold));
    }

    @Test
    void releaseAfter_keepsTheLockByNobody_andWhoeverAsksFindsItBusy() {
        long token = acquire(1, "a:h1").number(0);
        Reply kept = releaseAfter(1, 90_000);
        assertThat(kept.code()).isEqualTo("KEPT");
        assertThat(kept.number(0)).isBetween(80_000L, 90_000L);
        assertThat(peek().owner()).isEqualTo("nobody");
        assertThat(peek().token()).isEqualTo(Long.toString(token));
        assertThat(peek().pttl()).isBetween(79_000L, 90_000L);
        assertThat(peek().fence()).isEqualTo(token + "*");
        assertThat(peek().fencePttl()).isBetween(99_000_000L, 100_000_000L);
        assertThat(run(Scripts.take(attempt(1, "b:1"), FOR_EVER, false)).code()).isEqualTo("BUSY");
        assertThat(acquire(1, "b:1").code()).isEqualTo("BUSY");
        assertThat(enqueue(1, "b:1").code()).isEqualTo("QUEUED");
        assertThat(heartbeat(1, "b:1").number(1)).isBetween(79_000L, 90_000L);
        assertThat(run(Inspections.inspect(keys)).code()).isEqualTo("KEPT");
        assertThat(run(Inspections.locked(keys)).text(2)).isEqualTo(Long.toString(token));
        assertThat(run(Scripts.renew(hold(1, "a:h1", 1), 30_000, false)).code()).isEqualTo("GONE");
        assertThat(leave(1, "a:h1", false, null).code()).isEqualTo("DONE");
        assertThat(release(1, "a:h1").code()).isEqualTo("GONE");
        assertThat(peek().owner()).isEqualTo("nobody");
    }

    @Test
    void releaseAfter_again_saysTheSame_andOfAnotherChangesNothing() {
        acquire(1, "a:h1");
        releaseAfter(1, 5_000);
        Peek before = peek();
        assertThat(releaseAfter(1, 90_000).code()).isEqualTo("KEPT");
        assertThat(peek().pttl()).isLessThanOrEqualTo(before.pttl());
        assertThat(releaseAfter(2, 90_000).code()).isEqualTo("GONE");
        assertThat(peek().pttl()).isLessThanOrEqualTo(before.pttl());
        assertThat(peek().owner()).isEqualTo("nobody");
    }

    @Test
    void releaseAfter_ofATimeThatIsOver_handsTheLockOn() {
        acquire(1, "a:h1");
        assertThat(releaseAfter(1, 0).code()).isEqualTo("FREED");
        assertThat(peek().fence()).endsWith("+");
        acquire(2, "a:h1");
        mail("b");
        enqueue(1, "b:1");
        assertThat(releaseAfter(2, 0).code()).isEqualTo("GRANTED");
        assertThat(peek().owner()).isEqualTo("b:1");
        assertThat(peek().lost()).isEqualTo("-");
        assertThat(releaseAfter(2, 90_000).code()).isEqualTo("GONE");
    }

    @Test
    void releaseAfter_tellsThoseInFrontToAsk() {
        acquire(1, "a:h1");
        mail("c");
        mail("d");
        enqueue(7, "b:1");
        enqueue(8, "c:1");
        enqueue(9, "d:1");
        releaseAfter(1, 90_000);
        assertThat(told("c")).isEqualTo("8 0 0");
        assertThat(told("d")).isEqualTo("9 0 0");
        assertThat(peek().queue()).containsExactly("b:1:7", "c:1:8", "d:1:9");
    }

    @Test
    void force_ofALockThatIsKept_isNoLoss() {
        long token = acquire(1, "a:h1").number(0);
        releaseAfter(1, 90_000);
        assertThat(force(token).code()).isEqualTo("FREED");
        assertThat(peek().owner()).isEqualTo("-");
        assertThat(acquire(1, "b:1").number(1)).as("lost").isZero();
    }

    private Attempt waiting(long number, String owner, String condition) {
        return new Attempt(
                number,
                keys,
                new Owner(owner),
                new Attempt.Request(30_000, true, true),
                WaitLimit.endless(),
                2,
                condition);
    }

    private Attempt waiting(long number, String owner) {
        return waiting(number, owner, "#1");
    }

    private Reply await(long number, String owner, long waiting, String condition) {
        return run(Scripts.await(hold(number, owner, 2), waiting(waiting, owner, condition), FOR_EVER, false));
    }

    private Reply signal(long number, String owner, long signal, String condition, boolean all) {
        return run(Scripts.signal(hold(number, owner, 1), signal, condition, all));
    }

    private Reply rejoin(long number, String owner) {
        return run(Scripts.rejoin(waiting(number, owner), FOR_EVER));
    }

    @Test
    void await_late_changesNothing() {
        acquire(1, "a:1");
        Call late = Scripts.await(hold(1, "a:1", 2), waiting(2, "a:1"), LONG_AGO, false);
        assertThat(run(late).code()).isEqualTo("LATE");
        assertThat(peek().owner()).isEqualTo("a:1");
    }

    @Test
    void await_holding_handsOnInGoodOrderAndIsSignalledWithItsCount() {
        acquire(1, "a:1");
        assertThat(await(1, "a:1", 2, "#1").code()).isEqualTo("FREED");
        assertThat(peek().owner()).isEqualTo("-");
        assertThat(peek().fence()).as("somebody waits").endsWith("-");
        assertThat(await(1, "a:1", 2, "#1").code())
                .as("an unanswered copy ran before")
                .isEqualTo("WAITING");
        assertThat(await(7, "c:1", 8, "#1").code()).isEqualTo("GONE");
        assertThat(run(Scripts.heartbeat(waiting(2, "a:1"), FOR_EVER)).code()).isEqualTo("WAITING");
        assertThat(peek().queue()).isEmpty();

        acquire(1, "b:1");
        assertThat(signal(1, "b:1", 5, "#2", true).values())
                .as("another Condition")
                .isEmpty();
        assertThat(signal(1, "b:1", 6, "#1", false).values()).containsExactly("a:1:2");
        assertThat(signal(9, "b:1", 7, "#1", false).code()).isEqualTo("GONE");
        assertThat(peek().queue()).containsExactly("a:1:2");
        assertThat(peek().waited()).isEqualTo("1");
        mail("a");
        release(1, "b:1");
        assertThat(peek().owner()).isEqualTo("a:1");
        assertThat(peek().attempt()).isEqualTo("2");
        assertThat(peek().holds()).isEqualTo("2");
    }

    @Test
    void signal_again_movesNobodyElse() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        acquire(3, "a:2");
        await(3, "a:2", 4, "#1");
        acquire(1, "b:1");
        assertThat(signal(1, "b:1", 5, "#1", false).values()).containsExactly("a:1:2");
        assertThat(signal(1, "b:1", 5, "#1", false).code()).isEqualTo("SIGNALLED");
        assertThat(peek().queue()).containsExactly("a:1:2");
        assertThat(signal(1, "b:1", 6, "#1", true).values()).containsExactly("a:2:4");
        assertThat(peek().queue()).containsExactly("a:1:2", "a:2:4");
    }

    @Test
    void signal_ofAWaiterThatLeaves_goesToTheNext() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        acquire(3, "c:1");
        await(3, "c:1", 4, "#1");
        acquire(1, "b:1");
        signal(1, "b:1", 5, "#1", false);
        assertThat(leave(2, "a:1", false, null).code()).isEqualTo("DONE");
        assertThat(peek().queue()).containsExactly("c:1:4");
        assertThat(leave(4, "c:1", false, null).code()).isEqualTo("DONE");
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void signal_ofAWaiterThatNobodyCanTell_goesToTheNext() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        acquire(3, "c:1");
        await(3, "c:1", 4, "#1");
        mail("c");
        acquire(1, "b:1");
        signal(1, "b:1", 5, "#1", false);
        assertThat(release(1, "b:1").code()).isEqualTo("GRANTED");
        assertThat(peek().owner())
                .as("a:1 may be dead: nobody else would look at the queue")
                .isEqualTo("c:1");
        assertThat(told("c")).startsWith("4 ");
        assertThat(peek().queue()).as("a:1 may live as well").containsExactly("a:1:2");
        assertThat(rejoin(2, "a:1").code()).as("its signal has gone on").isEqualTo("QUEUED");
    }

    @Test
    void rejoin_beforeASignal_queues_afterOneSaysSo() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        acquire(1, "b:1");
        assertThat(rejoin(2, "a:1").code()).isEqualTo("QUEUED");
        assertThat(rejoin(2, "a:1").code()).as("an unanswered copy ran before").isEqualTo("QUEUED");
        assertThat(signal(1, "b:1", 5, "#1", true).values()).as("it has left").isEmpty();
        assertThat(peek().queue()).containsExactly("a:1:2");
        release(1, "b:1");
        assertThat(rejoin(2, "a:1").code()).isEqualTo("GRANTED");
        assertThat(peek().holds()).isEqualTo("2");

        await(2, "a:1", 3, "#1");
        acquire(2, "b:1");
        signal(2, "b:1", 6, "#1", false);
        assertThat(rejoin(3, "a:1").code()).isEqualTo("SIGNALLED");
        assertThat(run(Scripts.rejoin(waiting(3, "a:1"), LONG_AGO)).code()).isEqualTo("LATE");
    }

    @Test
    void holderThatVanished_wakesAllWhoWait() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        acquire(3, "a:2");
        await(3, "a:2", 4, "#2");
        acquire(1, "b:1");
        poke("");
        assertThat(acquire(1, "c:1").number(1)).isEqualTo(1);
        assertThat(peek().queue()).containsExactly("a:1:2", "a:2:4");
        assertThat(peek().waited()).isEqualTo("1");
    }

    @Test
    void holderThatVanished_isFoundByAWaiterInACondition() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        acquire(1, "b:1");
        poke("");
        Reply reply = run(Scripts.heartbeat(waiting(2, "a:1"), FOR_EVER));
        assertThat(reply.code()).isEqualTo("GRANTED");
        assertThat(peek().holds()).isEqualTo("2");
    }

    @Test
    void acquire_ofAnEarlierAttemptThanOneInACondition_leavesThatWhereItIs() {
        acquire(5, "a:1");
        await(5, "a:1", 6, "#1");
        assertThat(acquire(4, "a:1").code()).isEqualTo("OK");
        assertThat(signal(4, "a:1", 7, "#1", false).values()).containsExactly("a:1:6");
    }

    /** A waiter of a Condition was signalled and has just been handed the lock, while another waits in it. */
    private void handTheLockToASignalledWaiter() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        acquire(3, "c:1");
        await(3, "c:1", 4, "#1");
        acquire(1, "b:1");
        signal(1, "b:1", 5, "#1", false);
        mail("a");
        release(1, "b:1");
        assertThat(peek().owner()).isEqualTo("a:1");
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void signal_ofAWaiterThatLeavesWithTheLock_goesToTheNext() {
        handTheLockToASignalledWaiter();
        assertThat(leave(2, "a:1", false, null).code()).isEqualTo("DONE");
        assertThat(peek().queue()).containsExactly("c:1:4");
        assertThat(acquire(9, "d:1").number(1)).as("no loss").isZero();
    }

    @Test
    void signal_ofAWaiterWhoseThreadTakesItsLockOver_goesToTheNext() {
        handTheLockToASignalledWaiter();
        assertThat(acquire(6, "a:1").code()).isEqualTo("OK");
        assertThat(peek().queue()).containsExactly("c:1:4");
    }

    @Test
    void signal_ofAWaiterThatHadTheLock_goesToNobody() {
        handTheLockToASignalledWaiter();
        release(2, "a:1");
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void rejoin_whoseFirstCopyWasServed_saysSoAgain() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        Reply first = rejoin(2, "a:1");
        assertThat(first.code()).isEqualTo("GRANTED");
        Reply second = rejoin(2, "a:1");
        assertThat(second.code()).as("the attempt was not signalled").isEqualTo("GRANTED");
        assertThat(second.number(0)).isEqualTo(first.number(0));
        assertThat(peek().holds()).isEqualTo("2");
    }

    @Test
    void rejoin_afterASignalThatLedToTheLock_saysSo() {
        handTheLockToASignalledWaiter();
        assertThat(rejoin(2, "a:1").code()).isEqualTo("SIGNALLED");
    }

    @Test
    void successor_withAnOlderPlaceOfItsThread_isServedAsTheAttemptThatIsNamed() {
        acquire(1, "a:1");
        enqueue(5, "a:2");
        Reply reply = run(Scripts.release(naming(hold(1, "a:1", 1), attempt(6, "a:2")), true, true));
        assertThat(reply.code()).isEqualTo("SUCCEEDED");
        assertThat(peek().attempt()).isEqualTo("6");
        assertThat(peek().queue()).containsExactly("a:2:5");
        leave(5, "a:2", false, null);
        assertThat(peek().attempt())
                .as("the older attempt takes nothing with it")
                .isEqualTo("6");
        assertThat(peek().queue()).isEmpty();
    }

    @Test
    void fairAcquire_withAnOlderPlaceOfItsThread_isServedAsItself() {
        acquire(1, "a:1");
        enqueue(5, "b:1");
        release(1, "a:1");
        Attempt fair =
                new Attempt(6, keys, new Owner("b:1"), new Attempt.Request(30_000, true, true), WaitLimit.endless());
        Reply reply = run(Scripts.acquire(fair, FOR_EVER, false, 0));
        if (reply.is("OK")) {
            assertThat(peek().attempt()).isEqualTo("6");
        } else {
            assertThat(reply.code()).as("somebody is ahead").isEqualTo("BUSY");
        }
        assertThat(peek().queue()).containsExactly("b:1:5");
    }

    @Test
    void leave_tellsForHowLongARequestOfItsAttemptMayRun() {
        acquire(1, "a:1");
        enqueue(2, "b:1");
        Attempt gone = attempt(2, "b:1");
        assertThat(run(Scripts.leave(gone, false, null, true)).values()).containsExactly(0L);
        long now = micros();
        Call late = Scripts.leave(gone, false, null, true).dated(3, server -> now + 2_000_000);
        assertThat(run(late).number(0)).isBetween(1_000L, 2_001L);
        Call over = Scripts.leave(gone, false, null, true).dated(3, server -> now - 1);
        assertThat(run(over).number(0)).isZero();
        Call named = Scripts.leave(gone, false, attempt(3, "b:2"), true).dated(3, server -> now + 2_000_000);
        enqueue(2, "b:1");
        Reply reply = run(named);
        assertThat(reply.code()).isEqualTo("QUEUED");
        assertThat(reply.number(reply.values().size() - 1)).isBetween(1_000L, 2_001L);
    }

    /** All pages of a list. */
    private List<String> list(String pattern) {
        List<String> found = new ArrayList<>();
        String cursor = "0";
        do {
            Reply listed = run(Inspections.list(LockKeys.matching(prefix, pattern), cursor));
            assertThat(listed.code()).isEqualTo("LISTED");
            cursor = listed.text(0);
            Inspections.list(listed)
                    .forEach(lock -> found.add(lock.lockName()
                            + lock.holder()
                                    .map(holder -> " by " + holder.owner() + ", " + holder.holds() + ", "
                                            + holder.token() + ", " + tens(holder.remainingLease()))
                                    .orElse("")
                            + lock.keptFor().map(time -> " kept " + tens(time)).orElse("")
                            + " " + lock.queueLength() + " " + lock.conditionLength()));
        } while (!cursor.equals("0"));
        return found;
    }

    /** Tens of seconds, begun ones too, since some of the time may have passed. */
    private static long tens(Duration time) {
        return (time.toMillis() + 9_999) / 10_000;
    }

    @Test
    void list_besideAKeyOfAnotherProgram_leavesItOut() {
        long token = acquire(1, "a:1").number(0);
        String other = LockKeys.of(prefix, "other").lock();
        run(new Call(POKE, List.of(other, other, other, other), List.of("no lock")));
        assertThat(list("*")).containsExactly("lock by a:1, 1, " + token + ", 3 0 0");
    }

    @Test
    void list_heldLock_saysByWhomAndHowManyWait() {
        long token = acquire(1, "a:1").number(0);
        run(Scripts.reenter(hold(1, "a:1", 1), 1, 35_000));
        enqueue(1, "b:1");
        enqueue(1, "c:1");
        assertThat(list("*")).containsExactly("lock by a:1, 2, " + token + ", 4 2 0");
        assertThat(list("lo?k")).hasSize(1);
        assertThat(list("lo")).isEmpty();
    }

    @Test
    void list_releasedLock_isNotInUse() {
        acquire(1, "a:1");
        release(1, "a:1");
        assertThat(list("*")).as("only its last token is left").isEmpty();
    }

    @Test
    void list_keptLock_saysForHowLong() {
        acquire(1, "a:h1");
        releaseAfter(1, 95_000);
        assertThat(list("*")).containsExactly("lock kept 10 0 0");
    }

    @Test
    void list_heldLockWithWaitersOfEachKind_isReportedOnce() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        long token = acquire(1, "b:1").number(0);
        enqueue(1, "c:1");
        assertThat(list("*")).containsExactly("lock by b:1, 1, " + token + ", 3 1 1");
    }

    @Test
    void list_lockWhoseHoldSomebodyDeleted_isReportedOnceByWhoWaits() {
        acquire(1, "a:1");
        await(1, "a:1", 2, "#1");
        acquire(1, "b:1");
        enqueue(1, "c:1");
        poke("");
        assertThat(list("*")).containsExactly("lock 1 1");
    }

    @Test
    void list_freeLockForWhichOthersWait_isReportedOnce() {
        acquire(1, "a:1");
        acquireAndAwaitIn("b:1");
        assertThat(list("*")).as("in a Condition").containsExactly("lock 0 1");
    }

    /** Leaves the lock free, with a waiter in a Condition. */
    private void acquireAndAwaitIn(String owner) {
        release(1, "a:1");
        acquire(1, owner);
        await(1, owner, 2, "#1");
    }
}
