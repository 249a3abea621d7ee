package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.script.ScriptTest.Target;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.util.List;
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

/** The short forms of acquire and release, with which a lock is taken and freed that nobody else wants. */
@ParameterizedClass(name = "{0}")
@MethodSource("targets")
@Timeout(30)
class ShortScriptTest {

    /** A machine may stall for long, and no call of these tests waits for anything. */
    private static final long TIMEOUT_NANOS = 20_000_000_000L;

    private static final Call.NotAfter FOR_EVER = server -> 8_000_000_000_000_000L;
    private static final Script PEEK = Script.load(ScriptTest.class, "peek");
    private static final Script POKE = Script.load(ScriptTest.class, "poke");

    @Parameter
    Target target;

    private final LockKeys keys = LockKeys.of("short-" + UUID.randomUUID(), "lock");
    private Redis redis;

    static Stream<Target> targets() {
        return ScriptTest.targets();
    }

    @AfterAll
    static void stopServers() {
        ScriptTest.stopServers();
    }

    @BeforeEach
    void open() {
        redis = target.open();
    }

    @AfterEach
    void close() {
        redis.close();
    }

    private Attempt attempt(long number, String owner) {
        return new Attempt(
                number, keys, new Owner(owner), new Attempt.Request(30_000, true, false), WaitLimit.endless());
    }

    private Hold hold(long number, String owner) {
        Attempt.Grant grant = new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true);
        return new Hold(attempt(number, owner), grant, 0, 0, null);
    }

    private Reply run(Call call) {
        // The time after which it is late is by the clock of the server.
        return redis.run(call.notAfter() == null ? call : call.dated(call.dated(), FOR_EVER), TIMEOUT_NANOS);
    }

    private Reply take(long number, String owner) {
        return run(Scripts.take(attempt(number, owner), FOR_EVER, false));
    }

    private Reply free(long number, String owner) {
        return run(Scripts.free(hold(number, owner)));
    }

    private Reply acquire(long number, String owner, boolean place) {
        return run(Scripts.acquire(attempt(number, owner), FOR_EVER, place, 0));
    }

    private Reply release(long number, String owner) {
        return run(Scripts.release(hold(number, owner), false, false));
    }

    /** Owner, attempt, holds, token, lost, waited, PTTL, fence, PTTL of the fence, and the queue. */
    private List<Object> peek() {
        return run(new Call(PEEK, keys.all(), List.of())).values();
    }

    private String fence() {
        return peek().get(7).toString();
    }

    private void poke(String fence) {
        run(new Call(POKE, keys.all(), List.of(fence)));
    }

    @Test
    void take_ofALockThatNobodyHad_isAsAcquire() {
        Reply reply = take(1, "a:1");
        assertThat(reply.code()).isEqualTo("OK");
        String token = reply.text(0);
        assertThat(reply.number(0)).isBetween(1_600_000_000_000_000L, 4_000_000_000_000_000L);
        assertThat(peek().subList(0, 6)).containsExactly("a:1", "1", "1", token, "-", "-");
        assertThat((Long) peek().get(6)).isBetween(29_000L, 30_000L);
        assertThat(fence()).isEqualTo(token);
        assertThat((Long) peek().get(8)).isBetween(99_000_000L, 100_000_000L);
    }

    @Test
    void take_forHours_letsTheFenceLastForADayLonger() {
        for (int i = 1; i <= 2; i++) {
            run(Scripts.take(
                    new Attempt(
                            i,
                            keys,
                            new Owner("a:1"),
                            new Attempt.Request(86_400_000, false, false),
                            WaitLimit.endless()),
                    FOR_EVER,
                    false));
            assertThat((Long) peek().get(8)).isBetween(185_000_000L, 186_400_000L);
            assertThat(free(i, "a:1").code()).isEqualTo("OK");
            assertThat((Long) peek().get(8)).isBetween(185_000_000L, 186_400_000L);
            if (i == 1) {
                assertThat(take(10, "a:1").code()).isEqualTo("OK");
                assertThat(free(10, "a:1").code()).isEqualTo("OK");
            }
        }
    }

    @Test
    void takeAndFree_inTurns_giveTokensThatGrowAndLeaveTheFence() {
        long before = 0;
        for (int i = 1; i <= 5; i++) {
            long token = take(i, "a:1").number(0);
            assertThat(token).isGreaterThan(before);
            assertThat(free(i, "a:1").code()).isEqualTo("OK");
            assertThat(peek().subList(0, 1)).containsExactly("-");
            assertThat(fence()).isEqualTo(token + "+");
            before = token;
        }
        assertThat((Long) peek().get(8)).as("more than a day").isBetween(90_000_000L, 100_000_000L);
    }

    @Test
    void take_held_isBusy() {
        take(1, "a:1");
        List<Object> before = peek();
        Reply busy = take(1, "b:1");
        assertThat(busy.code()).isEqualTo("BUSY");
        assertThat(busy.number(0)).isBetween(29_000L, 30_000L);
        assertThat(peek().subList(0, 6)).isEqualTo(before.subList(0, 6));
    }

    @Test
    void take_late_changesNothing() {
        assertThat(redis.run(Scripts.take(attempt(1, "a:1"), server -> 1, false), TIMEOUT_NANOS)
                        .code())
                .isEqualTo("LATE");
        assertThat(peek().get(0)).isEqualTo("-");
    }

    @Test
    void take_ofWhatTheSameThreadLeftBehind_isForAcquire() {
        take(1, "a:1");
        assertThat(take(1, "a:1").code()).as("an earlier copy of it ran").isEqualTo("LINE");
        assertThat(acquire(1, "a:1", false).code()).isEqualTo("OK");
        assertThat(take(2, "a:1").code()).isEqualTo("LINE");
    }

    @Test
    void take_afterALoss_isForAcquireWhichTells() {
        take(1, "a:1");
        poke("");
        assertThat(take(2, "b:1").code()).isEqualTo("LINE");
        assertThat(acquire(2, "b:1", false).number(1)).as("lost").isEqualTo(1);
    }

    @Test
    void take_whereTheClockStandsBack_countsOn() {
        long future = take(1, "a:1").number(0) + 3_600_000_000L;
        free(1, "a:1");
        poke(future + "+");
        Reply reply = take(2, "a:1");
        assertThat(reply.code()).isEqualTo("OK");
        assertThat(reply.number(0)).isEqualTo(future + 1);
        assertThat(reply.number(2)).as("the time").isLessThan(future);
    }

    @Test
    void take_whereTheLastTokenHasFewerDigits_comparesNumbers() {
        // Less than now, and yet behind it as text.
        poke("9+");
        Reply reply = take(1, "a:1");
        assertThat(reply.code()).isEqualTo("OK");
        assertThat(reply.number(0)).isEqualTo(reply.number(2)).isGreaterThan(9);
    }

    @Test
    void free_withAWaiter_isForRelease() {
        take(1, "a:1");
        acquire(1, "b:1", true);
        assertThat(free(1, "a:1").code()).isEqualTo("LINE");
        assertThat(peek().get(0)).isEqualTo("a:1");
    }

    @Test
    void free_ofAnotherAttempt_changesNothing() {
        take(2, "a:1");
        assertThat(free(1, "a:1").code()).isEqualTo("LINE");
        assertThat(free(2, "b:1").code()).isEqualTo("LINE");
        assertThat(peek().get(0)).isEqualTo("a:1");
        free(2, "a:1");
        assertThat(free(2, "a:1").code()).as("it is gone").isEqualTo("LINE");
    }

    @Test
    void free_whoseFenceIsGone_writesItAnew() {
        String token = take(1, "a:1").text(0);
        poke("-");
        assertThat(free(1, "a:1").code()).isEqualTo("OK");
        assertThat(fence()).isEqualTo(token + "+");
        assertThat((Long) peek().get(8)).isBetween(99_000_000L, 100_000_000L);
    }

    @Test
    void fence_ofALockThatIsFreeWhileSomebodyQueues_isNoLeaveToTake() {
        take(1, "a:1");
        acquire(1, "b:1", true);
        Reply reply = release(1, "a:1");
        assertThat(reply.code()).as("no waiter could be notified").isEqualTo("FREED");
        assertThat(reply.number(0)).as("somebody is in line").isEqualTo(1);
        assertThat(fence()).endsWith("-");
        assertThat(take(1, "c:1").code()).isEqualTo("LINE");
        Reply barged = acquire(1, "c:1", false);
        assertThat(barged.code()).isEqualTo("OK");
        assertThat(barged.number(1)).as("lost").isZero();
        assertThat(free(1, "c:1").code())
                .as("the lock was acquired beside a queue")
                .isEqualTo("LINE");
    }

    @Test
    void fence_onceTheLineIsEmpty_isLeaveToTakeAgain() {
        take(1, "a:1");
        acquire(1, "b:1", true);
        release(1, "a:1");
        acquire(1, "c:1", false);
        run(Scripts.leave(keys, new Owner("b:1"), 1, false));
        Reply reply = release(1, "c:1");
        assertThat(reply.values()).containsExactly(0L);
        assertThat(fence()).endsWith("+");
        assertThat(take(2, "c:1").code()).isEqualTo("OK");
    }

    @Test
    void fence_ofALockThatIsFreeWhileSomebodyWaitsInACondition_isNoLeaveToTake() {
        take(1, "a:1");
        Hold hold = hold(1, "a:1");
        Attempt waiting = new Attempt(2, keys, hold.owner, hold.request(), WaitLimit.endless(), 1, "#1");
        assertThat(run(Scripts.await(hold, waiting, FOR_EVER, false)).values()).containsExactly(1L);
        assertThat(take(1, "b:1").code()).isEqualTo("LINE");
        acquire(1, "b:1", false);
        assertThat(free(1, "b:1").code()).isEqualTo("LINE");
    }

    @Test
    void renewAll_extendsWhatIsHeldAndNamesTheRest() {
        take(1, "a:1");
        LockKeys free = LockKeys.of("short-" + UUID.randomUUID(), "free");
        Hold other = new Hold(
                new Attempt(7, free, new Owner("a:1"), new Attempt.Request(30_000, true, false), WaitLimit.endless()),
                new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true),
                0,
                0,
                null);
        Reply mixed = run(Scripts.renewAll(List.of(hold(1, "a:1"), other, hold(2, "a:1"), hold(1, "b:1")), 90_000));
        assertThat(mixed.code()).isEqualTo("GONE");
        assertThat(mixed.values()).containsExactly(1L, 2L, 3L);
        assertThat((Long) peek().get(6)).isBetween(89_000L, 90_000L);
        Reply all = run(Scripts.renewAll(List.of(hold(1, "a:1"), hold(1, "a:1")), 30_000));
        assertThat(all.code()).isEqualTo("OK");
        assertThat(all.values()).containsExactly(1L);
        assertThat((Long) peek().get(6)).as("never shortened").isGreaterThan(85_000L);
    }
}
