package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Branches of the scripts of one lock that random calls seldom reach: at the last moment of a lease, with a full
 * memory, after hours, and where a part of the lock was deleted. By a clock that the test moves.
 */
@Timeout(30)
class LineScriptTest {

    private static final long SECOND = 1_000_000_000;
    private static final long DAY_MILLIS = 86_400_000;
    private static final String FOR_EVER = "8000000000000000";
    private static final Map<String, Script> SCRIPTS = new ConcurrentHashMap<>();

    private final LockKeys keys = LockKeys.of("p", "lock");
    private final String waiters = keys.all().get(2);
    private final AtomicLong micros = new AtomicLong(1_790_000_000_000_000L);
    private final InMemoryRedis redis = new InMemoryRedis(micros::get);

    @AfterEach
    void close() {
        redis.close();
    }

    private Reply run(List<String> some, String script, String... args) {
        Script known = SCRIPTS.computeIfAbsent(script, name -> Script.load(Scripts.class, name));
        return redis.run(new Call(known, some, List.of(args)), SECOND);
    }

    private Reply run(String script, String... args) {
        return run(keys.all(), script, args);
    }

    private Reply acquire(String owner, String attempt) {
        return run("acquire", owner, attempt, "30000", FOR_EVER, "", "0", "barge");
    }

    private Reply enqueue(String owner, String attempt) {
        return run("acquire", owner, attempt, "30000", FOR_EVER, "4500", "0", "barge");
    }

    private Reply heartbeat(String owner, String attempt) {
        return run("heartbeat", owner, attempt, FOR_EVER, "1", "4500");
    }

    private Reply await(String owner, String attempt, String waiting, String condition) {
        return run("await", owner, attempt, waiting, FOR_EVER, condition, "1", "4500", "", "", "", "", "0");
    }

    private Reply leave(String owner, String attempt) {
        return run("leave", owner, attempt, "0", "0", "", "", "", "");
    }

    private Reply take(String owner, String attempt) {
        return run(List.of(keys.lock(), keys.fence()), "take", owner, attempt, "30000", FOR_EVER);
    }

    private void pass(long millis) {
        micros.addAndGet(millis * 1_000);
    }

    private void listen(String client) {
        redis.subscribe(LockKeys.mailbox("p", client), SECOND);
    }

    private String holder() {
        return redis.hash(keys.lock()).get("owner");
    }

    @Test
    void signal_inTheLastMomentOfItsHold_leavesNoHoldOfNobodyBehind() {
        acquire("a:1", "1");
        pass(30_000);
        assertThat(run("signal", "a:1", "1", "2", "c", "0").code()).isEqualTo("SIGNALLED");
        pass(1);
        assertThat(redis.hash(keys.lock())).isEmpty();
    }

    @Test
    void take_ofALockThatAClientKeeps_recallsIt_orHasTheClientAnswer() {
        take("a:r1", "1");
        listen("a");
        redis.holdMessages();
        assertThat(take("b:1", "2").code()).isEqualTo("RESIDENT");
        run(List.of(keys.lock(), keys.fence()), "take", "b:1", "3", "30000", FOR_EVER, "try");
        run(List.of(keys.lock(), keys.fence()), "take", "b:1", "4", "30000", FOR_EVER, "silent");
        assertThat(redis.heldMessages()).containsExactly("1 recall " + keys.lock(), "1 try 3 b " + keys.lock());
    }

    @Test
    void acquireOnce_ofALockThatAClientKeeps_hasTheClientAnswer_alsoInOrder() {
        take("a:r1", "1");
        listen("a");
        redis.holdMessages();
        for (String mode : List.of("barge", "queue", "try", "queue try")) {
            assertThat(run("acquire", "b:1", "2", "30000", FOR_EVER, "", "0", mode)
                            .code())
                    .isEqualTo("RESIDENT");
        }
        assertThat(redis.heldMessages()).containsExactly("1 try 2 b " + keys.lock(), "1 try 2 b " + keys.lock());
    }

    @Test
    void endOfAResidencesOwnHold_writesTheLastTokenThatItsClientGaveOut() {
        long token = take("a:r1", "1").number(0);
        long given = token + 1_000_000;
        List<String> acquire = List.of("a:r1", "2", "30000", FOR_EVER, "", "0", "barge", Long.toString(given));
        assertThat(run(keys.all(), "acquire", acquire.toArray(String[]::new)).number(0))
                .isEqualTo(given + 1);
        List<String> leave = List.of("a:r1", "2", "1", "0", "", "", "", "", Long.toString(given + 3));
        run(keys.all(), "leave", leave.toArray(String[]::new));
        assertThat(redis.string(keys.fence())).as("ended, not released").isEqualTo(Long.toString(given + 3));
    }

    @Test
    void take_ofALockThatAThreadHolds_tellsNobody() {
        take("a:1", "1");
        listen("a");
        redis.holdMessages();
        assertThat(take("b:1", "2").code()).isEqualTo("BUSY");
        assertThat(redis.heldMessages()).isEmpty();
    }

    @Test
    void signal_ofAHoldThatSomebodyKeptFromExpiring_leavesIt() {
        redis.run(new Call(Script.load(ScriptTest.class, "poke"), keys.all(), List.of("stay")), SECOND);
        assertThat(run("signal", "a:1", "1", "2", "c", "0").code()).isEqualTo("SIGNALLED");
        assertThat(holder()).isEqualTo("a:1");
    }

    @Test
    void fullMemory_refusesNothingThatEndsAHoldOrKeepsIt() {
        listen("b");
        acquire("a:1", "1");
        enqueue("b:1", "1");
        redis.full(true);
        assertThat(run("reenter", "a:1", "1", "1", "30000").code()).isEqualTo("OK");
        assertThat(run("release_inner", "a:1", "1", "2").code()).isEqualTo("OK");
        assertThat(run("signal", "a:1", "1", "2", "c", "0").code()).isEqualTo("SIGNALLED");
        assertThat(run(List.of(keys.lock()), "renew", "a:1", "1", "30000").code())
                .isEqualTo("OK");
        assertThat(run("release", "a:1", "1").code())
                .as("with a signal, in full")
                .isEqualTo("GRANTED");
        assertThat(run("release", "b:1", "1", "b:2", "2", "30000", "4500", "0").code())
                .isEqualTo("SUCCEEDED");
        assertThat(run("force", redis.hash(keys.lock()).get("token")).code()).isEqualTo("FREED");
    }

    @Test
    void fullMemory_refusesNoShortHandOff() {
        listen("b");
        acquire("a:1", "1");
        enqueue("b:1", "1");
        redis.full(true);
        assertThat(run("release", "a:1", "1").code()).isEqualTo("GRANTED");
        assertThat(run("release", "b:1", "1", "b:2", "2", "30000", "4500", "1").code())
                .isEqualTo("SUCCEEDED");
        assertThat(run("release", "b:2", "2", "b:1", "3", "30000", "4500", "0").code())
                .isEqualTo("SUCCEEDED");
        assertThat(run("release", "b:1", "3").code()).isEqualTo("FREED");
    }

    @Test
    void fullMemory_refusesNoLockThatIsToStayTaken() {
        listen("b");
        acquire("a:1", "1");
        enqueue("b:1", "1");
        redis.full(true);
        assertThat(run("release_after", "a:1", "1", "5000").code()).isEqualTo("KEPT");
        assertThat(run("release_after", "a:1", "1", "5000").code()).isEqualTo("KEPT");
        assertThat(holder()).isEqualTo("nobody");
        assertThat(run("force", redis.hash(keys.lock()).get("token")).code()).isEqualTo("GRANTED");
        assertThat(run("release_after", "b:1", "1", "0").code()).isEqualTo("FREED");
    }

    /** The time of a kept lock counts from its token, in µs, and that of a key from the ms in which it is written. */
    @Test
    void keptLock_lastsToTheEndOfItsLastMillisecond_howeverOftenItIsReleased() {
        acquire("a:1", "1");
        micros.addAndGet(1);
        assertThat(run("release_after", "a:1", "1", "5").values()).containsExactly(5L);
        for (int i = 0; i < 5; i++) {
            pass(1);
            assertThat(run("release_after", "a:1", "1", "5").code()).isEqualTo("KEPT");
        }
        pass(2);
        assertThat(redis.hash(keys.lock())).isEmpty();
        assertThat(run("release_after", "a:1", "1", "5").code()).isEqualTo("GONE");
    }

    @Test
    void releaseAfter_inTheMillisecondInWhichItsTimeIsOver_isARelease() {
        acquire("a:1", "1");
        pass(4);
        micros.addAndGet(999);
        assertThat(run("release_after", "a:1", "1", "5").values()).containsExactly(1L);
        pass(2);
        acquire("a:1", "2");
        pass(5);
        assertThat(run("release_after", "a:1", "2", "5").code()).isEqualTo("FREED");
    }

    @Test
    void fullMemory_refusesNoFreeAndNoLeave() {
        take("a:1", "1");
        redis.full(true);
        assertThat(run(List.of(keys.lock(), keys.fence()), "free", "a:1", "1").code())
                .isEqualTo("OK");
        redis.full(false);
        listen("b");
        acquire("a:1", "2");
        enqueue("b:1", "1");
        redis.full(true);
        assertThat(leave("a:1", "2").code()).isEqualTo("DONE");
        assertThat(holder()).isEqualTo("b:1");
    }

    @Test
    void handOff_withoutAFence_makesOneThatExpires() {
        listen("b");
        acquire("a:1", "1");
        enqueue("b:1", "1");
        redis.del(keys.fence());
        assertThat(run("release", "a:1", "1").code()).isEqualTo("GRANTED");
        assertThat(redis.string(keys.fence())).isEqualTo(redis.hash(keys.lock()).get("token"));
        assertThat(redis.pttl(keys.fence())).isGreaterThan(DAY_MILLIS);
    }

    @Test
    void take_afterTheClockWasSetBack_countsOn() {
        long token = take("a:1", "1").number(0);
        run(List.of(keys.lock(), keys.fence()), "free", "a:1", "1");
        pass(-3_600_000);
        assertThat(take("a:1", "2")).isEqualTo(new Reply("OK", List.of(token + 1, 0L, micros.get())));
        assertThat(redis.string(keys.fence())).isEqualTo(Long.toString(token + 1));
        assertThat(redis.hash(keys.lock())).containsEntry("token", Long.toString(token + 1));
    }

    @Test
    void releaseOnceMore_ofASuccessorThatCameFromTheLineMeanwhile_remembersItsTokenAsLongAsItsLeaseWants() {
        listen("a");
        listen("b");
        acquire("a:1", "1");
        enqueue("b:1", "1");
        String[] args = {"a:1", "1", "a:2", "2", "36000000", "4500", "0"};
        assertThat(run("release", args).code()).isEqualTo("QUEUED");
        assertThat(run("release", "b:1", "1").code()).isEqualTo("GRANTED");
        assertThat(redis.pttl(keys.lock())).isEqualTo(4_500);
        assertThat(run("release", args).code()).isEqualTo("SUCCEEDED");
        assertThat(redis.pttl(keys.lock())).isEqualTo(36_000_000);
        assertThat(redis.pttl(keys.fence())).isGreaterThan(36_000_000 + DAY_MILLIS);
    }

    @Test
    void take_ofWhatTheSameThreadLeftBehind_withoutAFence_isForAcquire() {
        take("a:1", "1");
        redis.del(keys.fence());
        assertThat(take("a:1", "2").code()).isEqualTo("LINE");
        assertThat(redis.hash(keys.lock())).containsEntry("attempt", "1");
    }

    @Test
    void fairAcquire_behindOneThatCannotBeTold_withoutAFence_isBusy() {
        acquire("a:1", "1");
        enqueue("b:1", "1");
        run("release", "a:1", "1");
        redis.del(keys.fence());
        for (String mode : List.of("queue", "queue try")) {
            Reply reply = run("acquire", "c:1", "1", "30000", FOR_EVER, "", "0", mode);
            assertThat(reply).isEqualTo(new Reply("BUSY", List.of(0L, micros.get())));
        }
    }

    @Test
    void fairAcquire_overWhatItsThreadLeftBehind_behindOneThatCannotBeTold_keepsTheFence() {
        String token = acquire("a:1", "1").text(0);
        enqueue("b:1", "1");
        Reply reply = run("acquire", "a:1", "2", "30000", FOR_EVER, "", "0", "queue");
        assertThat(reply.code()).isEqualTo("BUSY");
        assertThat(redis.string(keys.fence())).as("no caller had the hold").isEqualTo(token + "-");
        assertThat(acquire("c:1", "1").number(1)).as("lost").isZero();
    }

    @ParameterizedTest
    @ValueSource(longs = {20_000, 5_000_000, 11_000_000})
    void takes_forDays_neverLetTheFenceGo(long everyMillis) {
        for (int i = 1; i < 500; i++) {
            take("a:1", Integer.toString(i));
            run(List.of(keys.lock(), keys.fence()), "free", "a:1", Integer.toString(i));
            assertThat(redis.pttl(keys.fence())).isGreaterThan(DAY_MILLIS);
            pass(everyMillis);
        }
    }

    @Test
    void successions_forHours_neverLetTheFenceGo() {
        acquire("a:1", "1");
        succeedForHours();
    }

    private void succeedForHours() {
        for (int i = 1; i < 1_000; i++) {
            pass(20_000);
            Reply reply =
                    run("release", "a:1", Integer.toString(i), "a:1", Integer.toString(i + 1), "30000", "4500", "1");
            assertThat(reply.code()).isEqualTo("SUCCEEDED");
            assertThat(redis.pttl(keys.fence())).isGreaterThan(DAY_MILLIS);
        }
    }

    /** The fence is ahead of the time, and made to last by it. */
    private void setTheClockBack() {
        take("a:1", "0");
        run(List.of(keys.lock(), keys.fence()), "free", "a:1", "0");
        pass(-3 * DAY_MILLIS);
        acquire("a:1", "1");
    }

    @Test
    void takes_afterTheClockWasSetBack_neverLetTheFenceGo() {
        setTheClockBack();
        run("release", "a:1", "1");
        for (int i = 2; i < 40; i++) {
            pass(3_600_000);
            assertThat(take("a:1", Integer.toString(i)).code()).isEqualTo("OK");
            run(List.of(keys.lock(), keys.fence()), "free", "a:1", Integer.toString(i));
            assertThat(redis.pttl(keys.fence())).isGreaterThan(DAY_MILLIS);
        }
    }

    @Test
    void successions_afterTheClockWasSetBack_neverLetTheFenceGo() {
        setTheClockBack();
        succeedForHours();
    }

    @Test
    void renew_keepsTheFenceWhenAskedTo() {
        acquire("a:1", "2");
        pass(29_000);
        assertThat(run(List.of(keys.lock()), "renew", "a:1", "2", "30000").code())
                .isEqualTo("OK");
        assertThat(redis.pttl(keys.fence())).isEqualTo(100_000_000 - 29_000);
        assertThat(run(List.of(keys.lock(), keys.fence()), "renew", "a:1", "2", "30000")
                        .code())
                .isEqualTo("OK");
        assertThat(redis.pttl(keys.fence())).isGreaterThanOrEqualTo(100_000_000);
    }

    @Test
    void grant_toOneBehindManyThatCannotBeTold_reachesIt() {
        acquire("a:1", "1");
        listen("b");
        listen("c");
        for (int i = 0; i < 60; i++) {
            String client = i == 20 ? "b" : i == 50 ? "c" : "gone";
            enqueue(client + ":" + i, Integer.toString(i));
        }
        assertThat(run("release", "a:1", "1").code()).isEqualTo("GRANTED");
        assertThat(holder()).isEqualTo("b:20");
        assertThat(redis.zset(keys.queue())).hasSize(59);
    }

    @Test
    void signal_atTheLastMomentOfAPlace_movesIt() {
        acquire("a:1", "1");
        await("a:1", "1", "2", "c");
        acquire("b:1", "1");
        pass(4_500);
        assertThat(run("signal", "b:1", "1", "2", "c", "0").values()).containsExactly("a:1:2");
    }

    @Test
    void loss_atTheLastMomentOfAPlaceInACondition_wakesIt() {
        acquire("a:1", "1");
        await("a:1", "1", "2", "c");
        acquire("b:1", "1");
        redis.del(keys.lock());
        pass(4_500);
        acquire("c:1", "1");
        assertThat(redis.zset(keys.queue()).keySet()).containsExactly("a:1:2");
    }

    @Test
    void signal_aMomentAfterAPlaceEnded_dropsIt() {
        acquire("a:1", "1");
        await("a:1", "1", "2", "c");
        acquire("b:1", "1");
        micros.addAndGet(4_500_001);
        assertThat(run("signal", "b:1", "1", "2", "c", "0").values()).isEmpty();
        assertThat(redis.hash(waiters)).isEmpty();
    }

    @Test
    void waiterInACondition_thatIsHeardOfForAnHour_isSignalledThen() {
        acquire("a:1", "1");
        await("a:1", "1", "2", "c");
        acquire("b:1", "1");
        for (int i = 0; i < 900; i++) {
            pass(4_000);
            run(List.of(keys.lock()), "renew", "b:1", "1", "30000");
            assertThat(heartbeat("a:1", "2").code()).isEqualTo("WAITING");
        }
        assertThat(run("signal", "b:1", "1", "2", "c", "0").values()).containsExactly("a:1:2");
    }

    /** Attempts are counted by each client for itself. */
    @Test
    void anotherOwner_withTheSameAttempt_isAnother() {
        acquire("a:1", "1");
        List<String> lock = List.of(keys.lock());
        for (String owner : List.of("b:1", "a:2")) {
            assertThat(run(lock, "renew", owner, "1", "90000").code()).isEqualTo("GONE");
            assertThat(run(lock, "held", owner, "1").code()).isEqualTo("GONE");
            assertThat(await(owner, "7", "1", "c").code()).isEqualTo("GONE");
            assertThat(run(lock, "renew_all", "90000", owner, "1").code()).isEqualTo("GONE");
        }
        assertThat(redis.pttl(keys.lock())).isEqualTo(30_000);
    }

    /** A write has Redis forget the key that a renewal of a lost lock has read; it must not reach another's lock. */
    @Test
    void watchedRenewal_ofWhatIsGone_leavesNothing_andTheLocksOfOthersAsTheyWere() {
        List<String> lock = List.of(keys.lock());
        assertThat(run(lock, "renew", "a:1", "1", "90000", "watched").code()).isEqualTo("GONE");
        assertThat(run(lock, "renew_all", "90000", "a:1", "1", "watched").code())
                .isEqualTo("GONE");
        assertThat(redis.pttl(keys.lock())).isEqualTo(-2);
        acquire("b:1", "1");
        assertThat(run(lock, "renew", "a:1", "1", "90000", "watched").code()).isEqualTo("GONE");
        assertThat(run(lock, "renew_all", "90000", "a:1", "1", "watched").code())
                .isEqualTo("GONE");
        assertThat(redis.pttl(keys.lock())).isEqualTo(30_000);
        assertThat(run(lock, "held", "b:1", "1").code()).isEqualTo("OK");
    }

    @Test
    void anotherAttempt_ofTheSameOwner_isAnother() {
        acquire("a:1", "5");
        List<String> lock = List.of(keys.lock());
        for (String attempt : List.of("4", "6")) {
            assertThat(run(lock, "renew", "a:1", attempt, "90000").code()).isEqualTo("GONE");
            assertThat(run(lock, "held", "a:1", attempt).code()).isEqualTo("GONE");
            assertThat(await("a:1", attempt, "7", "c").code()).isEqualTo("GONE");
            assertThat(run(lock, "renew_all", "90000", "a:1", attempt).code()).isEqualTo("GONE");
        }
        assertThat(redis.pttl(keys.lock())).isEqualTo(30_000);
        assertThat(run(lock, "held", "a:1", "5").code()).isEqualTo("OK");
    }

    @Test
    void leave_forASuccessorWithoutAMailbox_makesNoPlace() {
        acquire("a:1", "1");
        enqueue("b:1", "1");
        assertThat(run("leave", "b:1", "1", "0", "0", "b:2", "2", "30000", "").code())
                .isEqualTo("DONE");
        assertThat(redis.zset(keys.queue())).isEmpty();
    }

    @Test
    void placesWithoutTexts_areDead() {
        acquire("a:1", "1");
        enqueue("b:1", "1");
        await("a:1", "1", "2", "c");
        acquire("c:1", "1");
        await("c:1", "1", "2", "c");
        acquire("d:1", "1");
        redis.del(waiters);
        assertThat(run("signal", "d:1", "1", "2", "c", "1").values()).isEmpty();
        listen("b");
        assertThat(run("release", "d:1", "1").code()).isEqualTo("FREED");
        assertThat(redis.zset(keys.queue())).isEmpty();
    }

    @Test
    void placesInAConditionWithoutTexts_areNotWoken() {
        acquire("a:1", "1");
        await("a:1", "1", "2", "c");
        acquire("b:1", "1");
        redis.del(waiters);
        redis.del(keys.lock());
        assertThat(acquire("c:1", "1").number(1)).as("lost").isEqualTo(1);
        assertThat(redis.zset(keys.queue())).isEmpty();
        assertThat(redis.zset(keys.conditions())).isEmpty();
    }

    @Test
    void heartbeat_ofAPlaceWithoutAText_writesItAnew() {
        acquire("a:1", "1");
        enqueue("b:1", "1");
        enqueue("c:1", "1");
        redis.del(waiters);
        assertThat(heartbeat("b:1", "1").code()).isEqualTo("QUEUED");
        assertThat(redis.zset(keys.queue()).keySet()).containsExactly("b:1:1", "c:1:1");
        assertThat(redis.hash(waiters)).containsOnlyKeys("b:1:1");
    }

    /** The number of a signal is none of a Condition. */
    @Test
    void holdThatNobodyHad_withASignalOfItsOwn_signalsNobodyElse() {
        acquire("a:1", "1");
        await("a:1", "1", "2", "2");
        acquire("b:1", "1");
        run("signal", "b:1", "1", "12", "other", "0");
        leave("b:1", "1");
        assertThat(redis.zset(keys.queue())).isEmpty();
        assertThat(redis.zset(keys.conditions())).hasSize(1);
    }

    @Test
    void leave_forASuccessorThatHasAPlace_leavesItThere() {
        acquire("a:1", "1");
        enqueue("b:1", "1");
        pass(1);
        enqueue("c:1", "1");
        pass(1);
        enqueue("b:2", "2");
        assertThat(run("leave", "b:1", "1", "0", "0", "b:2", "2", "30000", "4500")
                        .code())
                .isEqualTo("QUEUED");
        assertThat(redis.zset(keys.queue()).keySet()).containsExactly("c:1:1", "b:2:2");
    }
}
