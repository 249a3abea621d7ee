package io.github.redislocks.testkit.twin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.fixture.Snippets;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InMemoryRedisTest {

    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final long TIMEOUT = TimeUnit.SECONDS.toNanos(10);
    private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(20);

    private static final Snippets SCRIPTS = new Snippets(InMemoryRedisTest.class, "single.lua");
    private static final Call ADD = call("add", "k", "1");
    private static final Call PUBLISH = call("publish", "k", "hello");

    private final AtomicLong micros = new AtomicLong(1_790_000_000_000_000L);
    private final InMemoryRedis redis = new InMemoryRedis(micros::get);

    @AfterEach
    void close() {
        redis.close();
    }

    @Test
    void run_script_changesTheKeys() {
        assertThat(redis.run(ADD, TIMEOUT)).isEqualTo(new Reply("OK", List.of(1L)));
        assertThat(redis.run(ADD, TIMEOUT).number(0)).isEqualTo(2);
        assertThat(redis.keys()).containsExactly("k");
        assertThat(redis.hash("k")).containsEntry("n", "2");
    }

    @Test
    void run_undeclaredKey_throwsEvenIfCaught() {
        Call call = call("undeclared key", "k");
        assertThatThrownBy(() -> redis.run(call, TIMEOUT))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("other");
        assertThat(redis.run(ADD, TIMEOUT).is("OK")).isTrue();
    }

    @Test
    void run_unknownCommand_throws() {
        Call call = call("unknown command", "k");
        assertThatThrownBy(() -> redis.run(call, TIMEOUT))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("lpush");
    }

    @Test
    void run_scriptWithoutAnEnd_isStopped() {
        Call call = call("no end", "k");
        assertThatThrownBy(() -> redis.run(call, TIMEOUT))
                .isInstanceOf(RedisException.Refused.class)
                .hasMessageContaining("does not end");
        assertThat(redis.run(ADD, TIMEOUT).is("OK")).isTrue();
    }

    @Test
    void run_inAFullMemory_growsOnlyBehindAWrite() {
        redis.full(true);
        assertThatThrownBy(() -> redis.run(call("grow", "k"), TIMEOUT))
                .isInstanceOf(RedisException.Refused.class)
                .hasMessageContaining("OOM");
        assertThat(redis.run(call("grow after a write", "k"), TIMEOUT).number(0))
                .isEqualTo(1);
        redis.full(false);
        assertThat(redis.run(call("grow", "k"), TIMEOUT).number(0)).isEqualTo(2);
    }

    @Test
    void run_replacedScript_isTheOneThatRuns() {
        InMemoryRedis.replaceScripts(script -> new Script(script.name(), "return {'REPLACED'}", script.sha1()));
        try (InMemoryRedis other = new InMemoryRedis(micros::get)) {
            assertThat(other.run(ADD, TIMEOUT).code()).isEqualTo("REPLACED");
        } finally {
            InMemoryRedis.replaceScripts(script -> script);
        }
        assertThat(redis.run(ADD, TIMEOUT).code()).isEqualTo("OK");
    }

    @Test
    void run_scriptKeepsState_neverSeesItAgain() {
        Call call = call("keep something", "k");
        redis.run(call, TIMEOUT);
        assertThat(redis.run(call("what was kept", "k", "a"), TIMEOUT).values()).containsExactly(1L, 1L);
    }

    @Test
    void expiry_byTheGivenClock() {
        redis.run(call("set for a second", "k"), TIMEOUT);
        assertThat(redis.pttl("k")).isEqualTo(1000);
        micros.addAndGet(999_000);
        assertThat(redis.string("k")).isEqualTo("v");
        assertThat(redis.pttl("k")).isEqualTo(1);
        redis.stepMillis(2);
        assertThat(redis.string("k")).isNull();
        assertThat(redis.pttl("k")).isEqualTo(-2);
        assertThat(redis.keys()).isEmpty();
    }

    @Test
    void time_isTheGivenClock() {
        redis.stepMillis(-1_000);
        Call call = call("time", "k");
        assertThat(redis.run(call, TIMEOUT).number(0)).isEqualTo(1_789_999_999_000_000L);
    }

    @Test
    void zset_isInItsOrder() {
        redis.run(call("places", "z"), TIMEOUT);
        assertThat(redis.zset("z").keySet()).containsExactly("b", "ä", "a");
        assertThat(redis.zset("z")).containsEntry("a", 2.0);
        assertThat(redis.del("z")).isTrue();
        assertThat(redis.zset("z")).isEmpty();
    }

    @Test
    void failNext_requestLost_runsNothing() {
        redis.failNext(call -> true, Fault.REQUEST_LOST);
        assertThat(unanswered(ADD).sent()).isTrue();
        assertThat(redis.log().calls()).isEmpty();
        assertThat(redis.run(ADD, TIMEOUT).number(0)).isEqualTo(1);
    }

    @Test
    void failNext_replyLost_runsIt() {
        redis.failNext(call -> true, Fault.REPLY_LOST);
        assertThat(unanswered(ADD).sent()).isTrue();
        assertThat(redis.log().calls().get(0).reply()).isEqualTo(new Reply("OK", List.of(1L)));
        assertThat(redis.run(ADD, TIMEOUT).number(0)).isEqualTo(2);
    }

    @Test
    void failNext_refusedConnection_wasNotSent() {
        redis.failNext(2, call -> true, Fault.REFUSED_CONNECTION);
        assertThat(unanswered(ADD).sent()).isFalse();
        assertThat(unanswered(ADD).sent()).isFalse();
        assertThat(redis.run(ADD, TIMEOUT).number(0)).isEqualTo(1);
    }

    @Test
    void failNext_refused_isPassingLikeTheRealOne() {
        redis.failNext(call -> true, Fault.refused("OOM command not allowed"));
        assertThatThrownBy(() -> redis.run(ADD, TIMEOUT))
                .isInstanceOfSatisfying(
                        RedisException.Refused.class,
                        e -> assertThat(e.passing()).isTrue());
    }

    @Test
    void failNext_otherCall_isNotConcerned() {
        redis.failNext(call -> call.args().contains("7"), Fault.REQUEST_LOST);
        redis.run(ADD, TIMEOUT);
        assertThat(unanswered(new Call(ADD.script(), ADD.keys(), List.of("7"))).sent())
                .isTrue();
    }

    @Test
    void down_untilUp_refuses() {
        redis.down(true);
        assertThat(unanswered(ADD).sent()).isFalse();
        assertThatThrownBy(() -> redis.subscribe("c", TIMEOUT)).isInstanceOf(RedisException.Unanswered.class);
        assertThatThrownBy(() -> redis.publish("c", "m", TIMEOUT)).isInstanceOf(RedisException.Unanswered.class);
        redis.down(false);
        assertThat(redis.run(ADD, TIMEOUT).is("OK")).isTrue();
    }

    @Test
    void hold_released_runsThen() {
        HeldCalls held = redis.hold(call -> true);
        CompletableFuture<Reply> reply = OwnThread.call(() -> redis.run(ADD, TIMEOUT));
        held.awaitParked(1, LIMIT);
        assertThat(redis.hash("k")).isEmpty();
        held.release();
        assertThat(reply).succeedsWithin(LIMIT);
        assertThat(redis.hash("k")).isNotEmpty();
    }

    @Test
    void hold_tooLong_unansweredAndRunsLate() {
        HeldCalls held = redis.hold(call -> true);
        assertThatThrownBy(() -> redis.run(ADD, SHORT))
                .isInstanceOfSatisfying(
                        RedisException.Unanswered.class,
                        e -> assertThat(e.sent()).isTrue());
        assertThat(held.abandoned()).containsExactly(ADD);
        assertThat(redis.runLate(held.abandoned().get(0)).number(0)).isEqualTo(1);
    }

    @Test
    void hold_interrupted_waitsAndKeepsTheInterrupt() {
        redis.hold(call -> true);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> redis.run(ADD, SHORT)).isInstanceOf(RedisException.Unanswered.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void runAll_oneFails_othersRun() {
        redis.failNext(call -> call.args().contains("5"), Fault.REQUEST_LOST);
        Call five = new Call(ADD.script(), ADD.keys(), List.of("5"));
        List<Outcome> outcomes = redis.runAll(List.of(ADD, five, ADD), TIMEOUT);
        assertThat(outcomes).hasSize(3);
        assertThat(outcomes.get(1).failure()).isNotNull();
        assertThat(outcomes.get(2).reply().number(0)).isEqualTo(2);
        assertThat(redis.log().count("add")).isEqualTo(2);
    }

    @Test
    void publish_countsAndDelivers() {
        assertThat(redis.run(PUBLISH, TIMEOUT).number(0)).isZero();
        try (Redis.Subscription mine = redis.subscribe("c", TIMEOUT);
                InMemoryRedis other = redis.another();
                Redis.Subscription theirs = other.subscribe("c", TIMEOUT)) {
            assertThat(redis.run(PUBLISH, TIMEOUT).number(0)).isEqualTo(2);
            other.publish("c", "grün", TIMEOUT);
            assertThat(List.of(mine.next(), mine.next())).containsExactly("hello", "grün");
            assertThat(List.of(theirs.next(), theirs.next())).containsExactly("hello", "grün");
            assertThat(other.log().messages()).isEqualTo(1);
        }
        assertThat(redis.run(PUBLISH, TIMEOUT).number(0)).isZero();
    }

    @Test
    void messages_droppedAndHeld_countAsReceived() {
        Redis.Subscription subscription = redis.subscribe("c", TIMEOUT);
        redis.dropMessages(true);
        assertThat(redis.run(PUBLISH, TIMEOUT).number(0)).isEqualTo(1);
        redis.dropMessages(false);
        redis.holdMessages();
        redis.publish("c", "late", TIMEOUT);
        assertThat(redis.heldMessages()).containsExactly("late");
        redis.deliverMessages();
        assertThat(subscription.next()).isEqualTo("late");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void next_subscriptionEnds_throws(boolean byItsReader) {
        Redis.Subscription subscription = redis.subscribe("c", TIMEOUT);
        CompletableFuture<String> next = OwnThread.call(subscription::next);
        if (byItsReader) {
            subscription.close();
        } else {
            redis.dropSubscriptions();
        }
        assertThat(next)
                .failsWithin(LIMIT)
                .withThrowableThat()
                .withRootCauseInstanceOf(RedisException.Unanswered.class);
        assertThatThrownBy(subscription::next).isInstanceOf(RedisException.Unanswered.class);
        assertThat(redis.run(PUBLISH, TIMEOUT).number(0)).isZero();
    }

    @Test
    void another_sharesKeysButNotFaults() {
        try (InMemoryRedis other = redis.another()) {
            other.down(true);
            redis.run(ADD, TIMEOUT);
            assertThat(other.hash("k")).containsEntry("n", "1");
            assertThat(other.log().calls()).isEmpty();
        }
        assertThat(redis.run(ADD, TIMEOUT).number(0)).isEqualTo(2);
    }

    @Test
    void close_failsHeldAndLaterCalls() {
        HeldCalls held = redis.hold(call -> true);
        CompletableFuture<Reply> reply = OwnThread.call(() -> redis.run(ADD, TIMEOUT));
        held.awaitParked(1, LIMIT);
        redis.close();
        assertThat(reply).failsWithin(LIMIT);
        assertThat(unanswered(ADD).sent()).isFalse();
        redis.close();
    }

    @Test
    void log_turnedOff_writesNothing() {
        redis.log().turn(false);
        redis.run(ADD, TIMEOUT);
        assertThat(redis.log().requests()).isZero();
        redis.log().turn(true);
        redis.run(ADD, TIMEOUT);
        assertThat(redis.log().counts()).containsEntry("add", 1);
        redis.log().clear();
        assertThat(redis.log().calls()).isEmpty();
    }

    @Test
    void flushAll_leavesNothing() {
        redis.run(ADD, TIMEOUT);
        redis.flushAll();
        assertThat(redis.keys()).isEmpty();
    }

    @Test
    void run_manyThreads_noUpdateIsLost() {
        List<CompletableFuture<Void>> threads = IntStream.range(0, 4)
                .mapToObj(thread -> OwnThread.run(() -> {
                    for (int i = 0; i < 2_000; i++) {
                        redis.run(ADD, TIMEOUT);
                    }
                }))
                .toList();
        threads.forEach(thread -> assertThat(thread).succeedsWithin(LIMIT));
        assertThat(redis.hash("k")).containsEntry("n", "8000");
    }

    private RedisException.Unanswered unanswered(Call call) {
        try {
            throw new AssertionError("answered: " + redis.run(call, TIMEOUT));
        } catch (RedisException.Unanswered e) {
            return e;
        }
    }

    private static Call call(String name, String key, String... args) {
        return new Call(SCRIPTS.script(name), List.of(key), List.of(args));
    }
}
