package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The scripts for permits, by a clock that the test moves. Owners are {@code a:h1}, {@code b:h1} and so on. */
@Timeout(30)
class PermitsScriptTest {

    private static final long SECOND = 1_000_000_000;
    private static final long START = 1_790_000_000_000_000L;
    private static final String FOR_EVER = "8000000000000000";
    private static final String TRY = "";
    private static final String WAIT = "4500";

    private final LockKeys keys = LockKeys.ofPermits("p", "pool");
    private final String queue = keys.queue();
    private final String waiters = keys.all().get(2);
    private final AtomicLong micros = new AtomicLong(START);
    private final InMemoryRedis redis = new InMemoryRedis(micros::get);

    @AfterEach
    void close() {
        redis.close();
    }

    private Reply run(String script, String... args) {
        return redis.run(new Call(Script.load(PermitScripts.class, script), keys.all(), List.of(args)), SECOND);
    }

    private Reply acquire(String owner, int attempt, int wanted, String claim) {
        return run("permits_acquire", owner, "" + attempt, "30000", FOR_EVER, claim, "" + wanted, "3", "0");
    }

    private Reply beat(String owner, int attempt, int wanted) {
        return run("permits_acquire", owner, "" + attempt, WAIT, FOR_EVER, WAIT, "" + wanted, "3", "0");
    }

    private Reply release(String owner, int attempt) {
        return run("permits_release", owner, "" + attempt);
    }

    private Reply leave(String owner, int attempt, boolean returned) {
        return run("permits_leave", owner, "" + attempt, returned ? "1" : "0", "0");
    }

    private Reply renew(String owner, int attempt, long lease) {
        String token = pool().getOrDefault(owner + ":" + attempt, "0").replaceFirst(" .*", "");
        return run("permits_renew", owner, "" + attempt, "" + lease, token);
    }

    private Reply resize(int size) {
        return run("permits_resize", "" + size, FOR_EVER);
    }

    private void pass(long millis) {
        micros.addAndGet(millis * 1_000);
    }

    private void listen(String... clients) {
        for (String client : clients) {
            redis.subscribe(LockKeys.mailbox("p", client), SECOND);
        }
        redis.holdMessages();
    }

    private Map<String, String> pool() {
        return new TreeMap<>(redis.hash(keys.lock()));
    }

    /** The lease of the permits has ended while the first in line waited for its heartbeat. */
    @Test
    void aTry_thatServesTheLine_doesNotGetWhatTheLineGot() {
        listen("b");
        run("permits_acquire", "a:h1", "1", "1000", FOR_EVER, TRY, "3", "3", "0");
        assertThat(acquire("b:h1", 1, 3, WAIT).code()).isEqualTo("QUEUED");
        pass(1_001);
        assertThat(acquire("c:h1", 1, 1, TRY).code()).isEqualTo("BUSY");
        assertThat(redis.heldMessages()).singleElement().asString().contains(" 0 1 2");
    }

    /** The client of a waiter has slept through its claim, and asks again. */
    @Test
    void theFormerNumberOfAPlace_isFree_whenThePlaceHasAnother() {
        listen("b");
        acquire("a:h1", 1, 1, TRY);
        acquire("x:h1", 1, 2, TRY);
        acquire("b:h1", 1, 1, WAIT);
        release("x:h1", 1);
        pass(4_501);
        release("a:h1", 1);
        assertThat(acquire("b:h1", 1, 1, WAIT).number(3)).isEqualTo(0);
        assertThat(acquire("c:h1", 1, 2, TRY).values()).endsWith(1L, 2L);
    }

    @Test
    void aPlaceThatIsServedAgain_keepsItsPermits_whenTheNextInLineGetsItsFormerNumber() {
        listen("b", "c");
        run("permits_acquire", "a:h1", "1", "6000", FOR_EVER, TRY, "1", "3", "0");
        acquire("x:h1", 1, 2, TRY);
        acquire("b:h1", 1, 1, WAIT);
        release("x:h1", 1);
        resize(1);
        pass(4_501);
        assertThat(acquire("b:h1", 1, 1, WAIT).code()).isEqualTo("QUEUED");
        assertThat(acquire("c:h1", 1, 1, WAIT).code()).isEqualTo("QUEUED");
        pass(2_000);
        resize(2);
        assertThat(redis.heldMessages()).hasSize(3).last().asString().contains(" 1 1");
        assertThat(acquire("d:h1", 1, 1, TRY).code())
                .as("b has number 0, c has number 1")
                .isEqualTo("BUSY");
        assertThat(renew("b:h1", 1, 30_000).code()).isEqualTo("OK");
    }

    @Test
    void acquire_ofFreePermits_givesTheLowestNumbers_andARisingToken() {
        assertThat(acquire("a:h1", 1, 2, TRY)).isEqualTo(new Reply("OK", List.of(START, 0L, START, 0L, 1L)));
        assertThat(acquire("b:h1", 1, 1, WAIT)).isEqualTo(new Reply("OK", List.of(START + 1, 0L, START, 2L)));
        assertThat(pool())
                .containsExactly(
                        Map.entry("0", "a:h1:1"),
                        Map.entry("1", "a:h1:1"),
                        Map.entry("2", "b:h1:1"),
                        Map.entry("a:h1:1", START + " " + (START + 30_000_000) + " 0 0 1"),
                        Map.entry("b:h1:1", (START + 1) + " " + (START + 30_000_000) + " 0 2"),
                        Map.entry("size", "3"));
        assertThat(redis.string(keys.fence())).isEqualTo("" + (START + 1));
        assertThat(redis.pttl(keys.lock())).isEqualTo(100_000_000);
        assertThat(redis.pttl(keys.fence())).isEqualTo(100_000_000);
        assertThat(redis.zset(queue)).isEmpty();
        assertThat(redis.hash(waiters)).isEmpty();
    }

    @Test
    void acquire_withALeaseOfHours_keepsThePoolLonger() {
        run("permits_acquire", "a:h1", "1", "20000000", FOR_EVER, TRY, "1", "3", "0");
        assertThat(redis.pttl(keys.lock())).isEqualTo(120_000_000);
        assertThat(redis.pttl(keys.fence())).isEqualTo(120_000_000);
        pass(10_000_000);
        renew("a:h1", 1, 30_000_000);
        assertThat(redis.pttl(keys.lock())).isEqualTo(130_000_000);
        assertThat(redis.pttl(keys.fence())).isEqualTo(130_000_000);
        acquire("b:h1", 1, 1, TRY);
        renew("b:h1", 1, 30_000);
        resize(4);
        assertThat(redis.pttl(keys.lock())).as("others want less").isEqualTo(130_000_000);
    }

    @Test
    void grant_withAShortLease_keepsTheLastTokenLongerThanTheLongLeaseOfAnother() {
        run("permits_acquire", "a:h1", "1", "200000000", FOR_EVER, TRY, "1", "3", "0");
        pass(1_000);
        acquire("b:h1", 1, 1, TRY);
        assertThat(redis.pttl(keys.fence())).isEqualTo(299_999_000);
        assertThat(redis.pttl(keys.lock())).isEqualTo(299_999_000);
    }

    @Test
    void renew_withAnotherToken_findsNothing() {
        acquire("a:h1", 1, 1, TRY);
        assertThat(run("permits_renew", "a:h1", "1", "60000", "" + (START - 1)).code())
                .isEqualTo("GONE");
        assertThat(pool().get("a:h1:1")).isEqualTo(START + " " + (START + 30_000_000) + " 0 0");
    }

    @Test
    void resize_ofAnUnknownPool_keepsTheSizeForADay() {
        assertThat(resize(5).number(0)).isZero();
        assertThat(redis.pttl(keys.lock())).isEqualTo(100_000_000);
    }

    @Test
    void acquire_ofMoreThanAreFree_isBusy_orTakesAPlace_andSaysWhenTheFirstLeaseEnds() {
        acquire("a:h1", 1, 1, TRY);
        pass(10_000);
        acquire("b:h1", 1, 1, TRY);
        assertThat(acquire("c:h1", 1, 2, TRY)).isEqualTo(new Reply("BUSY", List.of(20_000L, micros.get())));
        assertThat(acquire("c:h1", 2, 2, WAIT))
                .isEqualTo(new Reply("QUEUED", List.of(START + 10_000_000, 20_000L, micros.get())));
        assertThat(redis.zset(queue)).containsOnlyKeys("c:h1:2");
        assertThat(redis.hash(waiters)).containsEntry("c:h1:2", (micros.get() + 4_500_000) + " 4500 2");
        assertThat(redis.pttl(queue)).isEqualTo(30_000);
        assertThat(redis.pttl(waiters)).isEqualTo(30_000);
        assertThat(pool()).doesNotContainKey("2");
    }

    @Test
    void acquire_again_extendsTheLease_andRepeatsTheReply() {
        Reply first = acquire("a:h1", 1, 2, TRY);
        pass(1_000);
        Reply second = acquire("a:h1", 1, 2, WAIT);
        assertThat(second.values().subList(0, 2)).isEqualTo(first.values().subList(0, 2));
        assertThat(second.values().subList(3, 5)).isEqualTo(List.of(0L, 1L));
        assertThat(pool().get("a:h1:1")).isEqualTo(START + " " + (micros.get() + 30_000_000) + " 0 0 1");
        beat("a:h1", 1, 2);
        assertThat(pool().get("a:h1:1"))
                .as("a heartbeat asks for a claim, and shortens nothing")
                .isEqualTo(START + " " + (micros.get() + 30_000_000) + " 0 0 1");
    }

    @Test
    void acquire_afterItsTime_changesNothing() {
        assertThat(run("permits_acquire", "a:h1", "1", "30000", "" + (START - 1), WAIT, "1", "3", "0"))
                .isEqualTo(new Reply("LATE", List.of(START)));
        assertThat(redis.keys()).isEmpty();
        assertThat(run("permits_acquire", "a:h1", "1", "30000", "" + START, WAIT, "1", "3", "0")
                        .code())
                .isEqualTo("OK");
    }

    @Test
    void acquire_ofAPoolOfAnotherSize_saysTheSize_andOnlyIfItIsToCheck() {
        acquire("a:h1", 1, 1, TRY);
        assertThat(run("permits_acquire", "b:h1", "1", "30000", FOR_EVER, TRY, "1", "4", "1"))
                .isEqualTo(new Reply("SIZE", List.of(3L)));
        assertThat(run("permits_acquire", "b:h1", "1", "30000", FOR_EVER, TRY, "4", "4", "0"))
                .isEqualTo(new Reply("SIZE", List.of(3L)));
        assertThat(run("permits_acquire", "b:h1", "1", "30000", FOR_EVER, TRY, "1", "4", "0")
                        .code())
                .isEqualTo("OK");
        assertThat(run("permits_acquire", "c:h1", "1", "30000", FOR_EVER, TRY, "1", "3", "1")
                        .code())
                .isEqualTo("OK");
        assertThat(pool()).containsEntry("size", "3");
    }

    @Test
    void release_servesWaitersInOrder_asFarAsPermitsGo() {
        listen("b", "c", "d");
        acquire("a:h1", 1, 3, TRY);
        acquire("b:h1", 1, 1, WAIT);
        acquire("c:h1", 1, 2, WAIT);
        acquire("d:h1", 1, 1, WAIT);
        assertThat(release("a:h1", 1)).isEqualTo(new Reply("FREED", List.of(0L)));
        assertThat(redis.heldMessages()).containsExactly("1 " + (START + 1) + " 0 0", "1 " + (START + 2) + " 0 1 2");
        assertThat(pool())
                .containsEntry("b:h1:1", (START + 1) + " " + (START + 4_500_000) + " 0 0")
                .containsEntry("c:h1:1", (START + 2) + " " + (START + 4_500_000) + " 0 1 2")
                .doesNotContainKey("a:h1:1");
        assertThat(redis.zset(queue)).containsOnlyKeys("d:h1:1");
        assertThat(redis.hash(waiters)).containsOnlyKeys("d:h1:1");
        assertThat(renew("b:h1", 1, 30_000).code()).isEqualTo("OK");
        assertThat(pool().get("b:h1:1")).isEqualTo((START + 1) + " " + (START + 30_000_000) + " 0 0");
    }

    @Test
    void release_doesNotServeASmallRequestBeforeALargeOneThatCameFirst() {
        listen("b", "c");
        acquire("a:h1", 1, 1, TRY);
        acquire("a:h2", 1, 1, TRY);
        acquire("b:h1", 1, 3, WAIT);
        acquire("c:h1", 1, 1, WAIT);
        assertThat(redis.heldMessages()).as("one is free").isEmpty();
        release("a:h1", 1);
        assertThat(redis.heldMessages()).isEmpty();
        assertThat(acquire("d:h1", 1, 1, TRY).code()).as("a try").isEqualTo("BUSY");
        release("a:h2", 1);
        assertThat(redis.heldMessages()).containsExactly("1 " + (START + 2) + " 0 0 1 2");
    }

    @Test
    void release_ofWhatIsGone_endsNothing() {
        acquire("a:h1", 1, 1, TRY);
        assertThat(release("a:h1", 2).code()).isEqualTo("GONE");
        assertThat(release("a:h1", 1).code()).isEqualTo("FREED");
        acquire("b:h1", 1, 1, TRY);
        assertThat(release("a:h1", 1).code()).isEqualTo("GONE");
        assertThat(renew("a:h1", 1, 30_000).code()).isEqualTo("GONE");
        assertThat(pool()).containsKey("b:h1:1").containsEntry("0", "b:h1:1");
    }

    @Test
    void lease_thatEnds_makesTheNumbersFree_andTheNextOwnerLearnsOfIt_once() {
        acquire("a:h1", 1, 2, TRY);
        pass(30_000);
        assertThat(acquire("b:h1", 1, 3, TRY).code()).as("its last microsecond").isEqualTo("BUSY");
        micros.incrementAndGet();
        assertThat(renew("a:h1", 1, 30_000).code()).isEqualTo("GONE");
        Reply next = acquire("b:h1", 1, 2, TRY);
        assertThat(next.number(1)).isOne();
        assertThat(pool()).doesNotContainKey("a:h1:1").containsEntry("0", "b:h1:1");
        release("b:h1", 1);
        assertThat(acquire("c:h1", 1, 2, TRY).number(1)).isZero();
    }

    @Test
    void leave_beforeTheCallerHadThePermits_passesTheNewsOfALossOn() {
        acquire("a:h1", 1, 3, TRY);
        pass(30_001);
        assertThat(acquire("b:h1", 1, 3, TRY).number(1)).isOne();
        assertThat(leave("b:h1", 1, false)).isEqualTo(new Reply("DONE", List.of(0L)));
        assertThat(acquire("c:h1", 1, 3, TRY).number(1)).isOne();
        assertThat(leave("c:h1", 1, true).code()).isEqualTo("DONE");
        assertThat(acquire("d:h1", 1, 3, TRY).number(1))
                .as("that was a loss too")
                .isOne();
        release("d:h1", 1);
        acquire("e:h1", 1, 3, TRY);
        leave("e:h1", 1, false);
        assertThat(acquire("f:h1", 1, 3, TRY).number(1)).isZero();
    }

    @Test
    void leave_beforeTheCallerHadThePermits_marksOnlyTheNumbersThatFollowedALoss() {
        acquire("a:h1", 1, 1, TRY);
        acquire("b:h1", 1, 1, TRY);
        acquire("c:h1", 1, 1, TRY);
        release("a:h1", 1);
        release("c:h1", 1);
        pass(30_001);
        assertThat(acquire("d:h1", 1, 3, TRY).number(1)).isOne();
        assertThat(acquire("d:h1", 1, 3, TRY).number(1)).as("repeated").isOne();
        leave("d:h1", 1, false);
        assertThat(acquire("e:h1", 1, 1, TRY).values()).endsWith(0L, micros.get(), 0L);
        pass(1_000);
        assertThat(acquire("f:h1", 1, 1, TRY).values()).endsWith(1L, micros.get(), 1L);
        assertThat(acquire("g:h1", 1, 1, TRY).values()).endsWith(0L, micros.get(), 2L);
    }

    @Test
    void grant_ofNumbersThatWereLost_saysSoOnce() {
        listen("b");
        acquire("a:h1", 1, 2, TRY);
        acquire("c:h1", 1, 1, TRY);
        leave("a:h1", 1, true);
        acquire("b:h1", 1, 3, WAIT);
        release("c:h1", 1);
        assertThat(redis.heldMessages()).containsExactly("1 " + (START + 2) + " 1 0 1 2");
        assertThat(beat("b:h1", 1, 3).number(1)).isOne();
        release("b:h1", 1);
        assertThat(acquire("d:h1", 1, 3, TRY).number(1)).isZero();
    }

    @Test
    void leave_ofAPlace_servesThoseBehindIt_andSaysHowLongItMayHaveToBeRepeated() {
        listen("b", "c");
        acquire("a:h1", 1, 1, TRY);
        acquire("b:h1", 1, 3, WAIT);
        acquire("c:h1", 1, 2, WAIT);
        assertThat(run("permits_leave", "b:h1", "1", "0", "" + (START + 1_500)))
                .isEqualTo(new Reply("DONE", List.of(2L)));
        assertThat(redis.heldMessages()).containsExactly("1 " + (START + 1) + " 0 1 2");
        assertThat(redis.zset(queue)).isEmpty();
        assertThat(redis.hash(waiters)).isEmpty();
    }

    @Test
    void place_ofADeadWaiter_isDropped_andAnUnreachableOneIsPassedOver() {
        listen("c", "d");
        acquire("a:h1", 1, 3, TRY);
        acquire("b:h1", 1, 3, WAIT);
        pass(4_501);
        acquire("x:h1", 1, 2, WAIT);
        acquire("c:h1", 1, 1, WAIT);
        release("a:h1", 1);
        assertThat(redis.heldMessages()).containsExactly("1 " + micros.get() + " 0 0");
        assertThat(redis.zset(queue)).containsOnlyKeys("x:h1:1");
        assertThat(beat("x:h1", 1, 2).code()).as("it lives, and asks").isEqualTo("OK");
        assertThat(redis.zset(queue)).isEmpty();
        assertThat(pool().get("x:h1:1")).as("for a claim").endsWith(" " + (micros.get() + 4_500_000) + " 0 1 2");
    }

    @Test
    void beat_keepsThePlaceInTheOrder() {
        listen("b", "c");
        acquire("a:h1", 1, 3, TRY);
        acquire("b:h1", 1, 1, WAIT);
        pass(1);
        acquire("c:h1", 1, 1, WAIT);
        pass(4_000);
        assertThat(beat("b:h1", 1, 1).code()).isEqualTo("QUEUED");
        beat("c:h1", 1, 1);
        pass(4_000);
        release("a:h1", 1);
        assertThat(redis.heldMessages()).hasSize(2);
        assertThat(pool()).containsEntry("0", "b:h1:1").containsEntry("1", "c:h1:1");
    }

    @Test
    void tryWithoutAPlace_takesWhatDeadWaitersLeft() {
        acquire("a:h1", 1, 3, TRY);
        acquire("b:h1", 1, 3, WAIT);
        pass(30_001);
        assertThat(acquire("c:h1", 1, 1, TRY).code()).isEqualTo("OK");
        assertThat(redis.zset(queue)).isEmpty();
    }

    @Test
    void resize_servesWaiters_andDropsThoseWhoWantMoreThanThereAre() {
        listen("b", "c");
        acquire("a:h1", 1, 3, TRY);
        acquire("b:h1", 1, 2, WAIT);
        assertThat(resize(5)).isEqualTo(new Reply("OK", List.of(3L, 5L, micros.get())));
        assertThat(redis.heldMessages()).containsExactly("1 " + (START + 1) + " 0 3 4");
        acquire("c:h1", 1, 3, WAIT);
        resize(2);
        release("a:h1", 1);
        release("b:h1", 1);
        assertThat(redis.zset(queue)).isEmpty();
        assertThat(acquire("d:h1", 1, 2, TRY).values().subList(3, 5)).isEqualTo(List.of(0L, 1L));
        assertThat(redis.pttl(keys.lock())).isEqualTo(100_000_000);
    }

    @Test
    void show_showsOwnersAndWaiters_andChangesNothing() {
        acquire("a:h1", 1, 2, TRY);
        acquire("b:h1", 1, 2, WAIT);
        pass(1_000);
        Map<String, String> before = pool();
        assertThat(run("permits_show"))
                .isEqualTo(new Reply("OK", List.of(3L, 1L, "a:h1:1", "0 1", "" + START, 29_000L, "b:h1:1", 2L)));
        pass(3_500);
        assertThat(run("permits_show").values()).as("its last moment").hasSize(8);
        pass(1);
        assertThat(run("permits_show").values()).as("the waiter is dead").hasSize(6);
        pass(30_000);
        assertThat(run("permits_show")).isEqualTo(new Reply("OK", List.of(3L, 0L)));
        assertThat(pool()).isEqualTo(before);
    }

    @Test
    void acquire_again_afterAResize_repeatsTheReply() {
        acquire("a:h1", 1, 2, TRY);
        resize(1);
        assertThat(run("permits_acquire", "a:h1", "1", "30000", FOR_EVER, TRY, "2", "3", "1")
                        .code())
                .isEqualTo("OK");
    }

    @Test
    void resize_afterItsTime_changesNothing() {
        acquire("a:h1", 1, 2, TRY);
        assertThat(run("permits_resize", "5", "" + (START - 1))).isEqualTo(new Reply("LATE", List.of(START)));
        assertThat(pool()).containsEntry("size", "3");
    }

    @Test
    void resize_toFewer_countsPermitsAboveTheSize_andShowsTheirOwners() {
        listen("c");
        acquire("a:h1", 1, 1, TRY);
        acquire("b:h1", 1, 2, TRY);
        resize(2);
        release("a:h1", 1);
        assertThat(acquire("c:h1", 1, 1, TRY).code()).isEqualTo("BUSY");
        assertThat(run("permits_show").values().subList(0, 4)).isEqualTo(List.of(2L, 1L, "b:h1:1", "1 2"));
        acquire("c:h1", 2, 1, WAIT);
        release("b:h1", 1);
        assertThat(redis.heldMessages()).containsExactly("2 " + (START + 2) + " 0 0");
        resize(1);
        assertThat(acquire("d:h1", 1, 1, TRY).code()).isEqualTo("BUSY");
        release("c:h1", 2);
        assertThat(pool()).containsOnlyKeys("size");
    }

    @Test
    void release_behindManyPlacesOfTheDead_servesTheFirstThatLives() {
        listen("b");
        acquire("a:h1", 1, 3, TRY);
        for (int i = 0; i < 100; i++) {
            acquire("x:h" + i, 1, 1, WAIT);
        }
        pass(4_501);
        acquire("b:h1", 1, 1, WAIT);
        release("a:h1", 1);
        assertThat(redis.heldMessages()).hasSize(1);
        assertThat(redis.zset(queue)).isEmpty();
    }

    @Test
    void renew_onAFullServer_extendsTheLease() {
        acquire("a:h1", 1, 1, TRY);
        redis.full(true);
        pass(20_000);
        assertThat(renew("a:h1", 1, 30_000).code()).isEqualTo("OK");
        assertThat(pool().get("a:h1:1")).isEqualTo(START + " " + (micros.get() + 30_000_000) + " 0 0");
    }

    @Test
    void release_onAFullServer_ends() {
        acquire("a:h1", 1, 1, TRY);
        redis.full(true);
        assertThat(release("a:h1", 1).code()).isEqualTo("FREED");
        redis.full(false);
        assertThat(acquire("b:h1", 1, 1, TRY).values().get(3)).isEqualTo(0L);
    }

    /** Others release and acquire all the time, and each waits for less than the time to its heartbeat. */
    @Test
    void theNumberOfADeadOwner_comesBack_howeverFastTheOthersGoRound() {
        listen("b", "c", "d", "e");
        acquire("x:h1", 1, 1, TRY);
        acquire("b:h1", 1, 1, TRY);
        acquire("c:h1", 1, 1, TRY);
        acquire("d:h1", 1, 1, WAIT);
        acquire("e:h1", 1, 1, WAIT);
        for (int turn = 0; turn < 320; turn++) {
            pass(100);
            // The last in line is the one that released before.
            String owner = List.of("b:h1", "c:h1", "d:h1", "e:h1").get(turn % 4);
            release(owner, 1 + turn / 4);
            acquire(owner, 2 + turn / 4, 1, WAIT);
        }
        assertThat(pool().get("0")).as("the owner of number 0").doesNotStartWith("x:");
    }

    /** In the second of the last grant a script goes a short way, in the next second the long one. */
    @Test
    void shortWays_doWhatTheLongOnesDo() {
        listen("a", "b", "c", "d");
        for (int seed = 1; seed <= 20; seed++) {
            assertThat(transcript(new Random(seed), 7))
                    .as("seed %d", seed)
                    .isEqualTo(transcript(new Random(seed), 1_000_001));
        }
    }

    /** How many permits each owner has: a way may choose other numbers. */
    private Map<String, Integer> owners() {
        Map<String, Integer> owners = new TreeMap<>();
        pool().forEach((number, owner) -> {
            if (owner.contains(":")) {
                owners.merge(owner, 1, Integer::sum);
            }
        });
        return owners;
    }

    /** The replies to random calls, one every {@code stepMicros}, and the state of Redis after each. */
    private List<String> transcript(Random random, long stepMicros) {
        redis.flushAll();
        List<String> transcript = new ArrayList<>();
        int[] attempts = new int[5];
        for (int step = 0; step < 40; step++) {
            micros.addAndGet(stepMicros);
            int who = random.nextInt(5);
            String owner = "abcde".charAt(who) + ":h1";
            Reply reply =
                    switch (random.nextInt(3)) {
                        case 0 -> release(owner, attempts[who]);
                        case 1 -> leave(owner, attempts[who], false);
                        default ->
                            run(
                                    "permits_acquire",
                                    owner,
                                    "" + ++attempts[who],
                                    "999000",
                                    FOR_EVER,
                                    random.nextInt(4) == 0 ? TRY : "999000",
                                    "" + (1 + random.nextInt(3)),
                                    "3",
                                    "0");
                    };
            checkNumbers("step " + step);
            transcript.add(owner + attempts[who] + " " + reply.code() + owners()
                    + redis.zset(queue).keySet()
                    + new TreeMap<>(redis.hash(waiters)).toString().replaceAll("=\\d+ ", "="));
        }
        return transcript;
    }

    /** Whatever happens: no number has two owners that are valid, and nothing is left once all have gone. */
    @Test
    void randomCalls_giveNoNumberTwice() {
        listen("a", "b", "c", "d");
        for (int seed = 1; seed <= 12; seed++) {
            redis.flushAll();
            storm(new Random(seed), "seed " + seed);
        }
    }

    private void storm(Random random, String seed) {
        int[] attempts = new int[6];
        int[] wanted = new int[6];
        List<String> clients = List.of("a", "b", "c", "d", "e", "f");
        for (int step = 0; step < 80; step++) {
            micros.addAndGet(random.nextInt(20));
            int who = random.nextInt(6);
            String owner = clients.get(who) + ":h1";
            switch (random.nextInt(7)) {
                case 0, 1 -> {
                    attempts[who]++;
                    wanted[who] = 1 + random.nextInt(3);
                    acquire(owner, attempts[who], wanted[who], random.nextBoolean() ? WAIT : TRY);
                }
                case 2 -> beat(owner, attempts[who], Math.max(1, wanted[who]));
                case 3 -> release(owner, attempts[who] - random.nextInt(2));
                case 4 -> leave(owner, attempts[who] - random.nextInt(2), random.nextBoolean());
                case 5 -> renew(owner, attempts[who], 30_000);
                default -> pass(random.nextInt(3) == 0 ? 20_000 : 100);
            }
            checkNumbers(seed + ", step " + step);
        }
        for (int who = 0; who < 6; who++) {
            for (int attempt = 0; attempt <= attempts[who]; attempt++) {
                leave(clients.get(who) + ":h1", attempt, true);
            }
        }
        assertThat(redis.zset(queue)).as(seed).isEmpty();
        assertThat(acquire("z:h1", 1, 3, TRY).code()).as(seed).isEqualTo("OK");
    }

    private void checkNumbers(String when) {
        List<String> taken = new ArrayList<>();
        for (Map.Entry<String, String> entry : pool().entrySet()) {
            String[] parts = entry.getValue().split(" ");
            if (entry.getKey().contains(":") && Long.parseLong(parts[1]) >= micros.get()) {
                List<String> numbers = List.of(parts).subList(3, parts.length);
                taken.addAll(numbers);
                assertThat(numbers).as(when).allMatch(number -> entry.getKey().equals(pool().get(number)));
            }
        }
        assertThat(taken).as(when).doesNotHaveDuplicates();
    }
}
