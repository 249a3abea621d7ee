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
import java.util.ArrayList;
import java.util.Collections;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Several locks that are taken by one request, all or none. */
@ParameterizedClass(name = "{0}")
@MethodSource("targets")
@Timeout(30)
class TakeAllScriptTest {

    /** A machine may stall for long, and no call of these tests waits for anything. */
    private static final long TIMEOUT_NANOS = 20_000_000_000L;

    private static final Call.NotAfter FOR_EVER = server -> 8_000_000_000_000_000L;
    private static final Script PEEK = Script.load(ScriptTest.class, "peek");
    private static final Script POKE = Script.load(ScriptTest.class, "poke");
    private static final String ME = "a:1";

    @Parameter
    Target target;

    private final String prefix = "all-" + UUID.randomUUID();
    private final List<LockKeys> locks =
            Stream.of("x", "y", "z").map(name -> LockKeys.of(prefix, name)).toList();
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

    private static Attempt attempt(LockKeys keys, long number, long leaseMillis) {
        return new Attempt(
                number, keys, new Owner(ME), new Attempt.Request(leaseMillis, true, false), WaitLimit.endless());
    }

    private Reply run(Call call) {
        return redis.run(call, TIMEOUT_NANOS);
    }

    /** Takes all, each for the attempt after the one before. */
    private Reply takeAll(long firstAttempt, long leaseMillis, Call.NotAfter notAfter) {
        List<Attempt> attempts = new ArrayList<>();
        for (LockKeys keys : locks) {
            attempts.add(attempt(keys, firstAttempt + attempts.size(), leaseMillis));
        }
        return run(SeveralScripts.takeAll(attempts, notAfter, true));
    }

    private Reply takeAll(long firstAttempt) {
        return takeAll(firstAttempt, 30_000, FOR_EVER);
    }

    /** Owner, attempt, holds, token, lost, waited, PTTL, fence, PTTL of the fence, and the queue. */
    private List<Object> peek(LockKeys keys) {
        return run(new Call(PEEK, keys.all(), List.of())).values();
    }

    private void poke(LockKeys keys, String fence) {
        run(new Call(POKE, keys.all(), List.of(fence)));
    }

    private Hold hold(LockKeys keys, long number) {
        Attempt.Grant grant = new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true);
        return new Hold(attempt(keys, number, 30_000), grant, 0, 0, null);
    }

    private void free(LockKeys keys, long number) {
        assertThat(Answer.isFreed(run(Scripts.free(hold(keys, number))))).isTrue();
    }

    private void assertHeld(long firstAttempt, String token) {
        for (int i = 0; i < locks.size(); i++) {
            List<Object> seen = peek(locks.get(i));
            assertThat(seen.subList(0, 4))
                    .extracting(Object::toString)
                    .containsExactly(ME, Long.toString(firstAttempt + i), "1", token);
            assertThat((Long) seen.get(6)).isBetween(20_000L, 30_000L);
            assertThat(seen.get(7)).hasToString(token);
            assertThat((Long) seen.get(8)).isBetween(99_000_000L, 100_000_000L);
        }
    }

    private void assertNoneTaken() {
        for (LockKeys keys : locks) {
            assertThat(peek(keys).get(0)).isNotEqualTo(ME);
        }
    }

    @Test
    void freeLocks_areAllTaken_withOneToken() {
        Reply first = takeAll(5);
        assertThat(first.is("OK")).isTrue();
        String token = Long.toString(first.number(0));
        assertHeld(5, token);
        for (int i = 0; i < locks.size(); i++) {
            free(locks.get(i), 5 + i);
        }
        Reply second = takeAll(15);
        assertThat(second.number(0)).isGreaterThan(first.number(0));
        assertHeld(15, Long.toString(second.number(0)));
    }

    private Reply freeAll(long firstAttempt) {
        List<Hold> held = new ArrayList<>();
        for (LockKeys keys : locks) {
            held.add(hold(keys, firstAttempt + held.size()));
        }
        return run(SeveralScripts.freeAll(held));
    }

    @Test
    void freeAll_endsAllHolds_andAgainNone() {
        String token = Long.toString(takeAll(5).number(0));
        assertThat(freeAll(5).is("OK")).isTrue();
        for (LockKeys keys : locks) {
            assertThat(peek(keys).get(0)).isNotEqualTo(ME);
            assertThat(peek(keys).get(7)).as("released").hasToString(token + "+");
        }
        Reply again = freeAll(5);
        assertThat(again.is("LINE")).isTrue();
        assertThat(again.values()).containsExactly(0L, 1L, 2L);
        assertThat(peek(locks.get(0)).get(7)).hasToString(token + "+");
    }

    @Test
    void giveUp_leavesWhatIsWaitedFor_orIsOfAnotherAttempt_andSaysTheLastToken() {
        long token = takeAll(5).number(0);
        Attempt waiter = new Attempt(
                7, locks.get(1), new Owner("b:1"), new Attempt.Request(30_000, true, false), WaitLimit.endless());
        assertThat(run(Scripts.acquire(waiter, FOR_EVER, true, 0)).is("QUEUED")).isTrue();
        Call call =
                SeveralScripts.giveUp(List.of(hold(locks.get(0), 5), hold(locks.get(1), 6), hold(locks.get(2), 17)));
        List<String> args = new ArrayList<>(call.args());
        args.set(2, Long.toString(token + 3));
        Reply reply = run(call.with(call.script(), call.keys(), args));
        assertThat(reply.is("LINE")).isTrue();
        assertThat(reply.values()).containsExactly(1L, 2L);
        assertThat(peek(locks.get(0)).get(0)).isNotEqualTo(ME);
        assertThat(peek(locks.get(0)).get(7)).hasToString(token + 3 + "+");
        assertThat((Long) peek(locks.get(0)).get(8)).isBetween(99_000_000L, 100_000_000L);
        assertThat(peek(locks.get(1)).get(1)).hasToString("6");
        assertThat(run(SeveralScripts.giveUp(List.of(hold(locks.get(2), 7)))).is("OK"))
                .isTrue();
        assertThat(peek(locks.get(2)).get(0)).isNotEqualTo(ME);
        assertThat(peek(locks.get(2)).get(7)).hasToString(token + "+");
    }

    @Test
    void giveUp_ofAnotherOwner_changesNothing() {
        takeAll(5);
        Call call = SeveralScripts.giveUp(List.of(hold(locks.get(0), 5)));
        Reply reply = run(call.with(call.script(), call.keys(), List.of("b:1", "5", "")));
        assertThat(reply.values()).containsExactly(0L);
        assertThat(peek(locks.get(0)).get(0)).hasToString(ME);
    }

    @Test
    void freeAll_leavesWhatIsWaitedFor_orIsOfAnotherAttempt() {
        takeAll(5);
        Attempt waiter = new Attempt(
                7, locks.get(1), new Owner("b:1"), new Attempt.Request(30_000, true, false), WaitLimit.endless());
        assertThat(run(Scripts.acquire(waiter, FOR_EVER, true, 0)).is("QUEUED")).isTrue();
        free(locks.get(2), 7);
        assertThat(run(Scripts.acquire(attempt(locks.get(2), 17, 30_000), FOR_EVER, false, 0))
                        .is("OK"))
                .isTrue();
        Reply reply = freeAll(5);
        assertThat(reply.is("LINE")).isTrue();
        assertThat(reply.values()).containsExactly(1L, 2L);
        assertThat(List.of(Answer.isFreed(reply, 0), Answer.isFreed(reply, 1))).containsExactly(true, false);
        assertThat(peek(locks.get(0)).get(0)).isNotEqualTo(ME);
        assertThat(peek(locks.get(1)).get(1)).hasToString("6");
        assertThat(peek(locks.get(2)).get(1)).hasToString("17");
    }

    @Test
    void earlierCopy_isAnsweredAgain() {
        Reply first = takeAll(5);
        Reply again = takeAll(5);
        assertThat(again.is("OK")).isTrue();
        assertThat(again.number(0)).isEqualTo(first.number(0));
        assertThat(again.now()).as("the time, and not the token").isGreaterThan(first.now());
        assertHeld(5, Long.toString(first.number(0)));
    }

    @Test
    void earlierCopy_ofWhichOneIsGone_takesNothing() {
        takeAll(5);
        free(locks.get(1), 6);
        assertThat(takeAll(5).is("LINE")).isTrue();
        assertThat(peek(locks.get(1)).get(0)).isNotEqualTo(ME);
    }

    @Test
    void oneThatAnotherHas_keepsAllFree() {
        for (LockKeys busy : locks) {
            Attempt theirs = new Attempt(
                    7, busy, new Owner("b:1"), new Attempt.Request(30_000, true, false), WaitLimit.endless());
            assertThat(run(Scripts.acquire(theirs, FOR_EVER, false, 0)).is("OK"))
                    .isTrue();
            Reply reply = takeAll(5);
            assertThat(reply.is("BUSY")).isTrue();
            assertThat(reply.number(0)).isEqualTo(locks.indexOf(busy));
            assertThat(reply.number(1)).as("the time").isPositive();
            assertNoneTaken();
            assertThat(run(Scripts.leave(theirs, false, null, false)).is("DONE"))
                    .isTrue();
        }
        assertThat(takeAll(5).is("OK")).isTrue();
    }

    @Test
    void oneThatAnotherAttemptOfTheOwnerHas_isAskedForByItself() {
        assertThat(run(Scripts.acquire(attempt(locks.get(2), 3, 30_000), FOR_EVER, false, 0))
                        .is("OK"))
                .isTrue();
        assertThat(takeAll(5).is("LINE")).isTrue();
        assertThat(peek(locks.get(0)).get(0)).isNotEqualTo(ME);
    }

    /** A hold that was lost, waiters, a token of a clock that was ahead. */
    @Test
    void oneThatMayNotBeFree_isAskedForByItself() {
        for (String fence : List.of("1600000000000000", "1600000000000000-", "9000000000000000+", "123+")) {
            poke(locks.get(1), fence);
            Reply reply = takeAll(5);
            assertThat(reply.is("LINE")).as(fence).isTrue();
            assertNoneTaken();
            assertThat(peek(locks.get(1)).get(7)).hasToString(fence);
        }
        poke(locks.get(1), "1600000000000000+");
        assertThat(takeAll(5).is("OK")).isTrue();
    }

    @Test
    void lateRequest_takesNothing() {
        assertThat(takeAll(5, 30_000, server -> 1).is("LATE")).isTrue();
        assertNoneTaken();
    }

    @Test
    void leaseOfHours_isOutlastedByTheMemoryOfTheToken() {
        poke(locks.get(0), "1600000000000000+");
        assertThat(takeAll(5, 80_000_000, FOR_EVER).is("OK")).isTrue();
        for (LockKeys keys : locks) {
            assertThat((Long) peek(keys).get(8)).isBetween(179_000_000L, 180_000_000L);
        }
    }

    /** The key of one of the holds is a text of somebody else's by now, whichever of them that is. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void renewal_besideAKeyOfAnotherType_renewsTheOthers(int foreign) {
        takeAll(5, 10_000, FOR_EVER);
        List<Hold> holds = new ArrayList<>();
        for (int i = 0; i < locks.size(); i++) {
            holds.add(hold(locks.get(i), 5L + i));
        }
        poke(locks.get(foreign), "");
        run(new Call(POKE, Collections.nCopies(5, locks.get(foreign).lock()), List.of("foreign")));
        Reply reply = run(Scripts.renewAll(holds, 30_000));
        for (int i = 0; i < locks.size(); i++) {
            assertThat(Answer.isKept(reply, i, locks.size())).isEqualTo(i != foreign);
            if (i != foreign) {
                assertThat((Long) peek(locks.get(i)).get(6)).isBetween(20_000L, 30_000L);
            }
        }
        run(new Call(POKE, Collections.nCopies(5, locks.get(foreign).lock()), List.of("-")));
    }
}
