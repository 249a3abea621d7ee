package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What the scripts promise of a lock that clients share to read: by a clock that the test moves. Clients {@code a},
 * {@code b} and {@code c} read; owners {@code w:1} and {@code x:1} are threads of clients that write.
 */
@Timeout(30)
class ShareScriptTest {

    private static final long SECOND = 1_000_000_000;
    private static final String FOR_EVER = "8000000000000000";
    private static final long START = 1_790_000_000_000_000L;
    private static final long LEASE = 30_000;
    private static final long CLAIM = 4_500;

    private final LockKeys keys = LockKeys.of("p", "lock");
    private final AtomicLong micros = new AtomicLong(START);
    private final InMemoryRedis redis = new InMemoryRedis(micros::get);
    private final List<Redis.Subscription> mailboxes = new ArrayList<>();

    @AfterEach
    void close() {
        mailboxes.forEach(Redis.Subscription::close);
        redis.close();
    }

    private Reply run(List<String> some, String script, String... args) {
        return redis.run(new Call(Script.load(Scripts.class, script), some, List.of(args)), SECOND);
    }

    private Reply run(String script, String... args) {
        return run(keys.all(), script, args);
    }

    private Reply share(String client, int attempt) {
        return run("share", client, "" + attempt, "" + LEASE, FOR_EVER, "" + CLAIM, "77" + attempt);
    }

    private Reply tryShare(String client, int attempt, String... mode) {
        List<String> args = new ArrayList<>(List.of(client, "" + attempt, "" + LEASE, FOR_EVER, "", "1"));
        args.addAll(List.of(mode));
        return run("share", args.toArray(String[]::new));
    }

    private Reply unshare(String client, int attempt) {
        return run("unshare", client, "" + attempt, "0");
    }

    /** The keys of a renewal. */
    private static List<String> renewed(LockKeys... locks) {
        return Stream.of(locks)
                .flatMap(each -> Stream.of(each.lock(), each.fence(), each.queue(), each.waiters()))
                .toList();
    }

    private Reply renew(String client, int attempt) {
        return run(renewed(keys), "renew_shares", client, "" + LEASE, "" + attempt);
    }

    private Reply downgrade(String owner, int attempt, String client, int share) {
        return run("downgrade", owner, "" + attempt, client, "" + share, "" + LEASE);
    }

    private Reply acquire(String owner, int attempt) {
        return run("acquire", owner, "" + attempt, "" + LEASE, FOR_EVER, "" + CLAIM, "0", "barge");
    }

    private Reply tryAcquire(String owner, int attempt, String mode) {
        return run("acquire", owner, "" + attempt, "" + LEASE, FOR_EVER, "", "0", mode);
    }

    private Reply take(String owner, int attempt) {
        return run(List.of(keys.lock(), keys.fence()), "take", owner, "" + attempt, "" + LEASE, FOR_EVER);
    }

    private Reply free(String owner, int attempt) {
        return run(List.of(keys.lock(), keys.fence()), "free", owner, "" + attempt);
    }

    private Reply heartbeat(String owner, int attempt) {
        return run("heartbeat", owner, "" + attempt, FOR_EVER, "1", "" + CLAIM);
    }

    private Reply release(String owner, int attempt) {
        return run("release", owner, "" + attempt);
    }

    private Reply leave(String owner, int attempt) {
        return run("leave", owner, "" + attempt, "0", "0", "", "", "", "");
    }

    private void pass(long millis) {
        micros.addAndGet(millis * 1_000);
    }

    private void listen(String... clients) {
        for (String client : clients) {
            mailboxes.add(redis.subscribe(LockKeys.mailbox("p", client), SECOND));
        }
        redis.holdMessages();
    }

    private List<String> heard() {
        List<String> heard = List.copyOf(redis.heldMessages());
        redis.deliverMessages();
        redis.holdMessages();
        return heard;
    }

    private String field(String name) {
        return redis.hash(keys.lock()).get(name);
    }

    private String holder() {
        return field("owner");
    }

    private String fence() {
        return redis.string(keys.fence());
    }

    private static void isGranted(Reply reply, boolean recalled) {
        assertThat(reply.code()).isEqualTo("OK");
        assertThat(reply.values().get(3)).as("recalled").isEqualTo(recalled ? 1L : 0L);
    }

    @Test
    void share_ofAFreeLock_isGrantedToEachClient_andWritesAVersionThatNoTakeGoesBy() {
        Reply first = share("a", 1);
        assertThat(first.code()).isEqualTo("OK");
        assertThat(first.values()).containsExactly(START, 0L, START, 0L);
        pass(1);
        assertThat(share("b", 1).values()).containsExactly(START, 0L, START + 1_000, 0L);
        assertThat(holder()).isEqualTo("readers");
        assertThat(field("holds")).isEqualTo("0");
        assertThat(fence()).isEqualTo(START + "-");
        assertThat(take("w:1", 1).code()).isEqualTo("LINE");
        assertThat(redis.hash(keys.lock())).containsKeys("s:a", "s:b").doesNotContainKeys("waited", "lost");
    }

    @Test
    void share_afterAWriter_hasTheTokenOfThatWriterAsItsVersion() {
        long token = take("w:1", 1).number(0);
        free("w:1", 1);
        pass(5);
        assertThat(share("a", 1).number(0)).isEqualTo(token);
        unshare("a", 1);
        assertThat(fence()).isEqualTo(token + "+");
        assertThat(take("w:1", 2).number(0)).isGreaterThan(token);
    }

    @Test
    void share_ofALockThatAWriterHolds_waits_andTheReleaseLetsAllIn() {
        long token = take("w:1", 1).number(0);
        assertThat(share("a", 1).code()).isEqualTo("QUEUED");
        assertThat(share("b", 4).values()).containsExactly(token, LEASE, START);
        assertThat(free("w:1", 1).code()).as("somebody waits").isEqualTo("LINE");
        listen("a", "b");
        assertThat(release("w:1", 1).code()).isEqualTo("GRANTED");
        assertThat(heard()).containsExactlyInAnyOrder("1 share " + token + " 771 0 0", "4 share " + token + " 774 0 0");
        assertThat(redis.hash(keys.shares())).isEmpty();
        assertThat(field("s:a")).isEqualTo("1 " + (START + CLAIM * 1_000));
    }

    @Test
    void share_thatIsRead_isTakenByNoWriter_untilTheLastLeaves() {
        share("a", 1);
        share("b", 1);
        assertThat(acquire("w:1", 1).code()).isEqualTo("QUEUED");
        listen("w");
        assertThat(unshare("a", 1).code()).isEqualTo("DONE");
        assertThat(holder()).isEqualTo("readers");
        assertThat(unshare("b", 1).code()).isEqualTo("DONE");
        assertThat(holder()).isEqualTo("w:1");
        assertThat(heard()).hasSize(1);
        assertThat(redis.hash(keys.lock())).doesNotContainKeys("s:a", "s:b");
    }

    @Test
    void writerInLine_recallsEachShareOnce_andEachHeartbeatAnew() {
        share("a", 3);
        share("b", 4);
        listen("a", "b");
        acquire("w:1", 1);
        assertThat(heard()).containsExactlyInAnyOrder("3 recall " + keys.lock(), "4 recall " + keys.lock());
        acquire("x:1", 1);
        assertThat(heard()).as("recalled already").isEmpty();
        heartbeat("w:1", 1);
        assertThat(heard()).hasSize(2);
        assertThat(renew("a", 3).values()).as("renewal").containsExactly(1L);
    }

    @Test
    void share_whileAWriterIsInLine_waitsBehindIt_andATryIsBusy() {
        share("a", 1);
        acquire("w:1", 1);
        assertThat(tryShare("b", 1).code()).isEqualTo("BUSY");
        assertThat(redis.hash(keys.shares())).isEmpty();
        assertThat(share("b", 2).code()).isEqualTo("QUEUED");
        listen("w", "b");
        unshare("a", 1);
        assertThat(holder()).as("the writer first").isEqualTo("w:1");
        heard();
        release("w:1", 1);
        assertThat(holder()).isEqualTo("readers");
        assertThat(heard()).hasSize(1);
    }

    @Test
    void batchOfShares_withAWriterInLine_isRecalled_inMessagesAndReplies() {
        take("w:1", 1);
        share("a", 1);
        share("b", 1);
        acquire("x:1", 1);
        listen("a", "b");
        release("w:1", 1);
        assertThat(heard()).hasSize(2).allMatch(message -> message.matches("1 share \\d+ 771 1 0"));
        isGranted(share("a", 1), true);
        assertThat(renew("b", 1).values()).containsExactly(1L);
    }

    @Test
    void share_ofAReleasedLock_withAWriterThatLeft_isNotRecalled() {
        share("a", 1);
        acquire("w:1", 1);
        share("b", 1);
        listen("b");
        leave("w:1", 1);
        assertThat(heard()).as("let in").hasSize(1).allMatch(message -> message.endsWith(" 0 0"));
        isGranted(share("b", 1), false);
        assertThat(renew("a", 1).values()).isEmpty();
        assertThat(field("waited")).isNull();
    }

    @Test
    void leave_ofAWriterInLine_letsNobodyIntoAnotherWritersHold() {
        take("w:1", 1);
        acquire("x:1", 1);
        share("a", 1);
        listen("a");
        leave("x:1", 1);
        assertThat(holder()).isEqualTo("w:1");
        assertThat(heard()).isEmpty();
        assertThat(unshare("a", 1).code()).isEqualTo("DONE");
        assertThat(holder()).isEqualTo("w:1");
        assertThat(redis.hash(keys.shares())).isEmpty();
    }

    @Test
    void leave_ofTheOnlyWriterInLine_tellsReadersOnceThatTheyMayOpenTheirShares() {
        share("a", 3);
        acquire("w:1", 1);
        listen("a");
        leave("w:1", 1);
        assertThat(heard()).containsExactly("3 0 " + START);
        leave("w:1", 1);
        assertThat(heard()).isEmpty();
    }

    @Test
    void leave_ofAWriter_letsInSharesThatReadAfterALostWriter() {
        take("w:1", 1);
        pass(LEASE + 1);
        share("a", 1);
        acquire("x:1", 1);
        share("b", 1);
        listen("b");
        leave("x:1", 1);
        assertThat(heard()).hasSize(1).allMatch(message -> message.endsWith(" 0 1"));
    }

    @Test
    void leave_ofTheLastWriterInLineForAFreeLock_letsSharesIn() {
        share("a", 1);
        acquire("w:1", 1);
        acquire("x:1", 1);
        share("b", 1);
        unshare("a", 1);
        assertThat(holder()).as("nobody was told").isNull();
        listen("b");
        leave("x:1", 1);
        assertThat(heard()).as("another writer is in line").isEmpty();
        leave("w:1", 1);
        assertThat(heard()).hasSize(1).allMatch(message -> message.startsWith("1 share "));
        assertThat(holder()).isEqualTo("readers");
    }

    @Test
    void endOfOneOfTwoShares_letsInWhoWaitsBehindAWriterThatDied() {
        take("v:1", 1);
        pass(LEASE + 1);
        share("a", 1);
        share("b", 1);
        acquire("w:1", 1);
        pass(1_000);
        share("c", 1);
        pass(CLAIM - 500);
        listen("c");
        unshare("a", 1);
        assertThat(heard()).hasSize(1).allMatch(message -> message.endsWith(" 0 1"));
        assertThat(field("waited")).isNull();
    }

    @Test
    void leave_ofOneOfTwoWriters_letsNobodyIn() {
        share("a", 1);
        acquire("w:1", 1);
        acquire("x:1", 1);
        share("b", 1);
        listen("b");
        leave("w:1", 1);
        assertThat(heard()).isEmpty();
        assertThat(field("s:b")).isNull();
    }

    @Test
    void lateCopies_ofAnEarlierAttempt_touchNoLaterShare() {
        share("a", 7);
        unshare("a", 7);
        share("a", 9);
        String mine = field("s:a");
        pass(10);
        assertThat(share("a", 7).code()).isEqualTo("STALE");
        assertThat(unshare("a", 7).code()).isEqualTo("GONE");
        assertThat(renew("a", 7).code()).isEqualTo("GONE");
        assertThat(field("s:a")).isEqualTo(mine);
        assertThat(redis.hash(keys.shares())).isEmpty();
    }

    @Test
    void lateCopies_ofAnEarlierAttempt_touchNoLaterPlace() {
        take("w:1", 1);
        share("a", 9);
        String mine = redis.hash(keys.shares()).get("a");
        pass(10);
        assertThat(share("a", 7).code()).isEqualTo("STALE");
        assertThat(unshare("a", 7).code()).isEqualTo("GONE");
        assertThat(redis.hash(keys.shares())).containsEntry("a", mine);
    }

    @Test
    void share_ofALaterAttempt_endsTheEarlierOne() {
        share("a", 7);
        acquire("w:1", 1);
        listen("w");
        assertThat(share("a", 9).code()).as("the writer was first").isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("w:1");
        share("a", 10);
        assertThat(redis.hash(keys.shares()).get("a")).startsWith("10 ");
    }

    @Test
    void share_ofALaterAttempt_whileOthersRead_endsItsOwnOnly() {
        share("a", 1);
        share("b", 1);
        acquire("w:1", 1);
        listen("w");
        assertThat(share("a", 2).code()).isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("readers");
        assertThat(redis.hash(keys.lock())).containsKey("s:b").doesNotContainKey("s:a");
    }

    @Test
    void share_ofALaterAttempt_saysWhetherTheLastWriterWasLost() {
        share("a", 1);
        assertThat(share("a", 2).number(1)).isZero();
        unshare("a", 2);
        take("w:1", 1);
        acquire("w:1", 1);
        pass(LEASE + 1);
        share("a", 3);
        assertThat(share("a", 4).values().get(1)).isEqualTo(1L);
    }

    @Test
    void share_ofALaterAttempt_letsInWhoWaitsBehindAWriterThatDied() {
        share("a", 1);
        acquire("w:1", 1);
        pass(1_000);
        share("b", 1);
        pass(CLAIM - 500);
        listen("b");
        isGranted(share("a", 2), false);
        assertThat(heard()).hasSize(1).allMatch(message -> message.endsWith(" 0 0"));
    }

    @Test
    void share_thatIsAskedForAgain_lastsForAnotherLease() {
        share("a", 1);
        pass(20_000);
        share("a", 1);
        pass(20_000);
        assertThat(renew("a", 1).code()).isEqualTo("OK");
    }

    @Test
    void shareOfAFreeLock_letsInAllThatWait() {
        take("w:1", 1);
        share("a", 1);
        release("w:1", 1);
        listen("a");
        isGranted(share("b", 1), false);
        assertThat(heard()).hasSize(1).allMatch(message -> message.endsWith(" 0 0"));
    }

    @Test
    void shareOfALockThatWasLost_letsInAllThatWait_andTellsThem() {
        take("w:1", 1);
        pass(LEASE - 1_000);
        share("a", 1);
        pass(1_001);
        listen("a");
        assertThat(share("b", 1).number(1)).isEqualTo(1);
        assertThat(heard()).hasSize(1).allMatch(message -> message.endsWith(" 0 1"));
    }

    /** A writer in line does not hear that the last reader has left, so the lock is free. */
    private void freeTheLockThoughAWriterWaits() {
        share("a", 1);
        acquire("w:1", 1);
        unshare("a", 1);
        assertThat(holder()).isNull();
    }

    @Test
    void shareOfAFreeLock_behindAWriterThatListens_waits() {
        freeTheLockThoughAWriterWaits();
        listen("w");
        assertThat(share("b", 1).code()).isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("w:1");
    }

    @Test
    void shareOfAFreeLock_behindAWriterOfWhomNobodyHears_getsItsWholeLease() {
        freeTheLockThoughAWriterWaits();
        isGranted(share("b", 1), true);
        assertThat(field("s:b")).isEqualTo("1 " + (START + LEASE * 1_000));
    }

    @Test
    void shareWhoseClientDied_isLetInByNobody_andItsPlaceIsRemoved() {
        take("w:1", 1);
        share("a", 1);
        pass(CLAIM + 1);
        share("b", 1);
        listen("a", "b");
        release("w:1", 1);
        assertThat(heard()).hasSize(1);
        assertThat(redis.hash(keys.shares())).isEmpty();
    }

    @Test
    void placeOfAShare_andAReadPhase_expire() {
        take("w:1", 1);
        share("a", 1);
        pass(LEASE + 1);
        assertThat(redis.hash(keys.shares())).isEmpty();
        share("b", 1);
        pass(LEASE + 1);
        assertThat(acquire("x:1", 1).code()).isEqualTo("OK");
    }

    @Test
    void share_inTheLastMomentOfAWriterInLine_waits() {
        share("a", 1);
        acquire("w:1", 1);
        pass(CLAIM);
        assertThat(share("b", 1).code()).isEqualTo("QUEUED");
    }

    @Test
    void tryToRead_thatDoesNotAsk_sendsNothingToTheClientThatKeepsTheLock() {
        take("w:r1", 1);
        listen("w");
        tryShare("a", 5);
        assertThat(heard()).isEmpty();
    }

    @Test
    void share_afterItsNotAfter_changesNothing() {
        Reply late = run("share", "a", "1", "30000", "" + (START - 1), "4500", "0");
        assertThat(late.code()).isEqualTo("LATE");
        assertThat(late.now()).isEqualTo(START);
        assertThat(redis.hash(keys.lock())).isEmpty();
        assertThat(run("share", "a", "1", "30000", "" + START, "4500", "0").code())
                .isEqualTo("OK");
    }

    @Test
    void renewal_raisesItsOwnDeadlineOnly() {
        share("a", 1);
        share("b", 1);
        pass(20_000);
        assertThat(renew("a", 1).code()).isEqualTo("OK");
        assertThat(field("s:b")).isEqualTo("1 " + (START + LEASE * 1_000));
        pass(10_001);
        assertThat(renew("b", 1).code()).as("its time is over").isEqualTo("GONE");
        acquire("w:1", 1);
        listen("w");
        unshare("a", 1);
        assertThat(holder()).as("a dead share holds nobody up").isEqualTo("w:1");
    }

    @Test
    void share_thatIsAskedForAgain_isPutOff_andNeverShortened() {
        share("a", 1);
        pass(10_000);
        share("a", 1);
        assertThat(field("s:a")).isEqualTo("1 " + (START + 10_000_000 + LEASE * 1_000));
        run("share", "a", "1", "1000", FOR_EVER, "4500", "0");
        assertThat(field("s:a")).isEqualTo("1 " + (START + 10_000_000 + LEASE * 1_000));
    }

    @Test
    void renewal_withAShorterLease_neverShortens() {
        share("a", 1);
        run(renewed(keys), "renew_shares", "a", "1000", "1");
        assertThat(field("s:a")).isEqualTo("1 " + (START + LEASE * 1_000));
        pass(LEASE);
        assertThat(renew("a", 1).code()).as("the last moment").isEqualTo("OK");
    }

    @Test
    void phase_lastsAsLongAsItsLongestShare_andNoLonger() {
        share("a", 1);
        pass(10_000);
        share("b", 1);
        unshare("b", 1);
        acquire("w:1", 1);
        assertThat(heartbeat("w:1", 1).number(1)).isEqualTo(20_000);
        for (int i = 0; i < 5; i++) {
            pass(4_000);
            heartbeat("w:1", 1);
        }
        assertThat(holder()).as("the last moment").isEqualTo("readers");
        pass(1);
        assertThat(heartbeat("w:1", 1).code()).as("a has died").isEqualTo("GRANTED");
    }

    @Test
    void shareWhoseClientDied_isRemovedWhenAnotherEnds() {
        share("a", 1);
        pass(20_000);
        share("b", 1);
        share("c", 1);
        pass(10_001);
        unshare("c", 1);
        assertThat(redis.hash(keys.lock())).containsKey("s:b").doesNotContainKeys("s:a", "s:c");
    }

    @Test
    void writerThatDied_holdsNoShareUp() {
        share("a", 1);
        acquire("w:1", 1);
        pass(CLAIM + 1);
        isGranted(share("b", 1), false);
        assertThat(renew("a", 1).values()).as("nobody waits any more").isEmpty();
    }

    @Test
    void writerInLine_ofWhomNobodyHears_isPassedOver_oncePhaseEnds() {
        share("a", 1);
        acquire("w:1", 1);
        share("b", 1);
        listen("b");
        unshare("a", 1);
        assertThat(heard()).hasSize(1).allMatch(message -> message.contains(" share ") && message.endsWith(" 1 0"));
        assertThat(holder()).isEqualTo("readers");
    }

    @Test
    void shareOfWhomNobodyHears_getsInByItsHeartbeat() {
        take("w:1", 1);
        share("a", 1);
        release("w:1", 1);
        assertThat(holder()).as("nobody was told").isNull();
        assertThat(fence()).endsWith("-");
        isGranted(share("a", 1), false);
        assertThat(redis.hash(keys.shares())).isEmpty();
    }

    @Test
    void lostWriter_isReportedToReaders_andToTheNextWriter() {
        take("w:1", 1);
        pass(LEASE + 1);
        assertThat(share("a", 1).values().get(1)).as("lost").isEqualTo(1L);
        assertThat(share("b", 1).values().get(1)).as("lost").isEqualTo(1L);
        unshare("a", 1);
        unshare("b", 1);
        assertThat(take("w:1", 2).code()).isEqualTo("LINE");
        assertThat(acquire("w:1", 2).number(1)).as("lost").isEqualTo(1);
    }

    @Test
    void lostWriter_isReportedToTheNextWriter_evenIfTheReadersDie() {
        take("w:1", 1);
        pass(LEASE + 1);
        share("a", 1);
        pass(LEASE + 1);
        assertThat(acquire("w:1", 2).number(1)).as("lost").isEqualTo(1);
    }

    @Test
    void afterALostWriter_waitingSharesGoFirst_evenIfANewWriterAsksFirst() {
        take("w:1", 1);
        pass(LEASE - 1_000);
        share("a", 1);
        pass(1_001);
        listen("a", "x");
        assertThat(acquire("x:1", 1).code()).isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("readers");
        assertThat(heard()).hasSize(1).allMatch(message -> message.endsWith(" 1 1"));
        unshare("a", 1);
        assertThat(holder()).as("then the writer").isEqualTo("x:1");
        assertThat(field("holds")).isEqualTo("1");
        assertThat(field("lost")).isEqualTo("1");
    }

    /** A writer's release keeps the lock for a second; then another writer and a share wait for its end. */
    private void awaitEndOfAKeptLock() {
        listen("a", "v");
        take("w:1", 1);
        share("a", 1);
        acquire("v:1", 1);
        assertThat(run("release_after", "w:1", "1", "1000").code()).isEqualTo("KEPT");
        pass(1_001);
        assertThat(holder()).isNull();
    }

    @Test
    void afterAKeptLock_aShareGoesInBeforeAWriter() {
        awaitEndOfAKeptLock();
        isGranted(share("a", 1), true);
        assertThat(field("s:a")).isEqualTo("1 " + (START + 1_001_000 + LEASE * 1_000));
    }

    @Test
    void afterAKeptLock_aWriterThatAsksLetsTheSharesInFirst() {
        awaitEndOfAKeptLock();
        assertThat(acquire("u:1", 1).code()).isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("readers");
        assertThat(field("lost")).isNull();
    }

    @Test
    void afterAKeptLock_aHeartbeatOfAWriterLetsTheSharesInFirst() {
        awaitEndOfAKeptLock();
        assertThat(heartbeat("v:1", 1).code()).isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("readers");
        unshare("a", 1);
        assertThat(holder()).isEqualTo("v:1");
    }

    @Test
    void afterALostWriter_aTryAndAHeartbeatLetTheSharesInToo() {
        take("w:1", 1);
        pass(LEASE - 1_000);
        acquire("x:1", 1);
        share("a", 1);
        pass(1_001);
        listen("a", "x");
        assertThat(tryAcquire("y:1", 1, "barge").code()).isEqualTo("BUSY");
        assertThat(holder()).isEqualTo("readers");
        assertThat(heartbeat("x:1", 1).code()).isEqualTo("QUEUED");
    }

    @Test
    void afterALostWriter_aHeartbeatOfAWriterLetsTheSharesInFirst() {
        take("w:1", 1);
        pass(LEASE - 1_000);
        acquire("x:1", 1);
        share("a", 1);
        pass(1_001);
        listen("a", "x");
        assertThat(heartbeat("x:1", 1).code()).isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("readers");
        assertThat(heard()).hasSize(1).allMatch(message -> message.endsWith(" 1 1"));
    }

    @Test
    void afterALostWriter_aWaiterThatLeavesItsConditionLetsTheSharesInFirst() {
        take("w:1", 1);
        run("await", "w:1", "1", "2", FOR_EVER, "c", "1", "4500", "", "", "", "", "0");
        take("x:1", 1);
        acquire("x:1", 1);
        pass(LEASE - 1_000);
        heartbeat("w:1", 2);
        share("a", 1);
        pass(1_001);
        listen("a", "w");
        assertThat(run("rejoin", "w:1", "2", FOR_EVER, "1", "4500").code()).isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("readers");
        unshare("a", 1);
        assertThat(holder()).isEqualTo("w:1");
    }

    @Test
    void unshare_saysForHowLongARequestMayStillRun() {
        share("a", 1);
        assertThat(run("unshare", "a", "1", "" + (START + 7_000)).values()).containsExactly(8L);
        assertThat(run("unshare", "a", "1", "" + START).values()).containsExactly(1L);
        assertThat(run("unshare", "a", "1", "" + (START - 5_000)).values()).containsExactly(0L);
    }

    @Test
    void downgrade_makesTheHoldAShare_andLetsInWhoWaits() {
        long token = take("w:1", 1).number(0);
        share("a", 1);
        listen("a");
        Reply reply = downgrade("w:1", 1, "w", 2);
        assertThat(reply.values()).containsExactly(token, 0L, START, 0L);
        assertThat(heard()).containsExactly("1 share " + token + " 771 0 0");
        assertThat(redis.hash(keys.lock())).containsKeys("s:w", "s:a");
        assertThat(downgrade("w:1", 1, "w", 2).code()).as("a second copy").isEqualTo("OK");
        assertThat(run("signal", "w:1", "1", "2", "c", "0").code()).isEqualTo("GONE");
        assertThat(release("w:1", 1).code()).isEqualTo("GONE");
        unshare("w", 2);
        unshare("a", 1);
        assertThat(downgrade("w:1", 1, "w", 2).code()).as("a late copy").isEqualTo("GONE");
    }

    @Test
    void downgrade_withAWriterInLine_isRecalled() {
        take("w:1", 1);
        acquire("x:1", 1);
        isGranted(downgrade("w:1", 1, "w", 2), true);
        listen("x");
        unshare("w", 2);
        assertThat(holder()).isEqualTo("x:1");
    }

    @Test
    void downgrade_ofAnotherHold_orByALateCopyForAnotherShare_isGone() {
        take("w:1", 5);
        assertThat(downgrade("w:1", 4, "w", 6).code()).as("an earlier attempt").isEqualTo("GONE");
        assertThat(downgrade("w:2", 5, "w", 6).code()).as("another owner").isEqualTo("GONE");
        assertThat(holder()).isEqualTo("w:1");
        pass(1);
        assertThat(downgrade("w:1", 5, "w", 6).now()).isEqualTo(START + 1_000);
        assertThat(downgrade("w:1", 5, "w", 7).code()).as("another share").isEqualTo("GONE");
        assertThat(field("s:w")).startsWith("6 ");
    }

    @Test
    void downgrade_behindWhichAWriterDied_isNotRecalled() {
        take("w:1", 1);
        acquire("x:1", 1);
        pass(CLAIM + 1);
        isGranted(downgrade("w:1", 1, "w", 2), false);
    }

    @Test
    void downgrade_takesItsClientsPlaceAlong_andTheLastTokenOfAResidence() {
        take("w:r1", 1);
        share("w", 2);
        Reply reply = run("downgrade", "w:r1", "1", "w", "2", "30000", "" + (START + 50));
        assertThat(reply.number(0)).isEqualTo(START + 50);
        assertThat(redis.hash(keys.shares())).isEmpty();
        assertThat(fence()).isEqualTo((START + 50) + "-");
    }

    @Test
    void tryToWrite_asksEachClientThatReads_andSaysHowMany() {
        share("a", 3);
        share("b", 4);
        listen("a", "b");
        Reply asked = tryAcquire("w:1", 9, "try");
        assertThat(asked.code()).isEqualTo("RESIDENT");
        assertThat(asked.number(2)).isEqualTo(2);
        assertThat(heard()).containsExactlyInAnyOrder("3 try 9 w " + keys.lock(), "4 try 9 w " + keys.lock());
        assertThat(tryAcquire("w:1", 9, "barge").number(2)).isEqualTo(0);
        assertThat(heard()).isEmpty();
        assertThat(redis.hash(keys.lock())).doesNotContainKey("waited");
    }

    @Test
    void tryToRead_asksTheClientThatKeepsTheLock() {
        take("w:r1", 1);
        listen("w");
        assertThat(tryShare("a", 5, "try").code()).isEqualTo("RESIDENT");
        assertThat(heard()).containsExactly("1 try 5 a " + keys.lock());
        share("a", 6);
        assertThat(heard()).containsExactly("1 recall " + keys.lock());
        unshare("a", 6);
        release("w:r1", 1);
        take("w:1", 2);
        assertThat(tryShare("b", 7, "try").code()).isEqualTo("BUSY");
    }

    @Test
    void force_ofReaders_tellsEach_andGrantsToTheWriter() {
        share("a", 3);
        share("b", 4);
        acquire("w:1", 1);
        listen("a", "b", "w");
        String phase = field("attempt");
        assertThat(run("force", "" + START, "1").code()).as("another phase").isEqualTo("GONE");
        assertThat(run("force", "" + START, phase).code()).isEqualTo("GRANTED");
        assertThat(heard()).hasSize(3).contains("3 0 " + START, "4 0 " + START);
        assertThat(holder()).isEqualTo("w:1");
        assertThat(renew("a", 3).code()).isEqualTo("GONE");
        assertThat(unshare("b", 4).code()).isEqualTo("GONE");
        assertThat(field("lost")).as("readers change nothing").isNull();
    }

    @Test
    void successorOfTheSameClient_goesBehindSharesThatWait_evenInItsLocalTurn() {
        take("w:1", 1);
        share("a", 1);
        listen("a");
        Reply reply = run("release", "w:1", "1", "w:2", "5", "30000", "4500", "1");
        assertThat(reply.code()).isEqualTo("QUEUED");
        assertThat(holder()).isEqualTo("readers");
        assertThat(heard()).hasSize(1).allMatch(message -> message.endsWith(" 1 0"));
        listen("w");
        unshare("a", 1);
        assertThat(holder()).isEqualTo("w:2");
    }

    @Test
    void releaseAfter_tellsSharesThatWait_butNotThoseWhoseTimeIsOver() {
        take("w:1", 1);
        share("a", 1);
        pass(CLAIM + 1);
        share("b", 2);
        listen("a", "b");
        assertThat(run("release_after", "w:1", "1", "60000").code()).isEqualTo("KEPT");
        assertThat(heard()).containsExactly("2 0 0");
        assertThat(share("b", 2).code()).isEqualTo("QUEUED");
    }

    @Test
    void waiterInACondition_leavesItsConditionAfterALostWriter_alsoWhileOthersRead() {
        take("w:1", 1);
        run("await", "w:1", "1", "2", FOR_EVER, "c", "1", "4500", "", "", "", "", "0");
        acquire("x:1", 3);
        pass(4_000);
        heartbeat("w:1", 2);
        pass(26_001);
        assertThat(share("a", 1).values().get(1)).as("lost").isEqualTo(1L);
        assertThat(heartbeat("w:1", 2).code()).isEqualTo("QUEUED");
    }

    @Test
    void version_isThatOfTheLastWriter_andZeroWhileOneWrites() {
        pass(1);
        assertThat(run("version").values()).containsExactly(START + 1_000, 0L, START + 1_000);
        assertThat(fence()).isEqualTo((START + 1_000) + "+");
        pass(1);
        long token = take("w:1", 1).number(0);
        assertThat(run("version").number(0)).isZero();
        free("w:1", 1);
        assertThat(run("version").number(0)).isEqualTo(token);
        share("a", 1);
        assertThat(run("version").number(0)).isEqualTo(token);
        unshare("a", 1);
        long last = take("w:1", 2).number(0);
        run("release_after", "w:1", "2", "1000");
        assertThat(run("version").number(0)).as("kept by nobody").isEqualTo(last);
    }

    @Test
    void inspect_countsTheSharesThatLast() {
        share("a", 1);
        pass(20_000);
        share("b", 1);
        List<String> some = List.of(keys.lock(), keys.queue(), keys.conditions());
        pass(10_000);
        assertThat(run(some, "inspect", "10").number(1)).as("the last moment").isEqualTo(2);
        pass(1);
        Reply reply = run(some, "inspect", "10");
        assertThat(reply.code()).isEqualTo("SHARED");
        assertThat(reply.values().subList(0, 3)).containsExactly("readers", 1L, START);
    }

    @Test
    void renewalOfManyShares_saysWhichAreGone_andWhichAreRecalled() {
        LockKeys other = LockKeys.of("p", "other");
        LockKeys third = LockKeys.of("p", "third");
        share("a", 1);
        run(third.all(), "share", "a", "3", "30000", FOR_EVER, "4500", "0");
        run(third.all(), "acquire", "w:1", "1", "30000", FOR_EVER, "4500", "0", "barge");
        List<String> some = renewed(keys, other, third);
        Reply reply = run(some, "renew_shares", "a", "30000", "1", "2", "3");
        assertThat(reply.code()).isEqualTo("GONE");
        assertThat(reply.values()).containsExactlyInAnyOrder(1L, 5L);
        assertThat(redis.hash(other.lock())).isEmpty();
    }

    @Test
    void renewal_keepsTheVersionsAliveAsLongAsSomebodyReads() {
        LockKeys other = LockKeys.of("p", "other");
        share("a", 1);
        run(other.all(), "share", "a", "2", "30000", FOR_EVER, "4500", "0");
        List<String> both = renewed(keys, other);
        for (int hours = 0; hours < 60; hours += 4) {
            assertThat(run(both, "renew_shares", "a", "14400001", "1", "2").code())
                    .isEqualTo("OK");
            pass(14_400_000);
            assertThat(fence()).isNotNull();
            assertThat(redis.string(other.fence())).isNotNull();
        }
        run(both, "renew_shares", "a", "200000000", "1", "2");
        pass(199_999_999);
        assertThat(fence()).isNotNull();
    }

    @Test
    void renewal_isRecalled_untilTheWriterInLineIsPast_andAgainByTheNext() {
        share("a", 1);
        acquire("w:1", 1);
        assertThat(renew("a", 1).values()).containsExactly(1L);
        pass(CLAIM);
        assertThat(renew("a", 1).values()).as("the last moment").containsExactly(1L);
        assertThat(field("waited")).isNotNull();
        pass(1);
        assertThat(renew("a", 1).values()).isEmpty();
        assertThat(field("waited")).isNull();
        listen("a");
        acquire("x:1", 1);
        assertThat(heard()).containsExactly("1 recall " + keys.lock());
        assertThat(renew("a", 1).values()).containsExactly(1L);
    }

    @Test
    void renewal_besideAKeyOfAnotherType_renewsTheOthers() {
        share("a", 1);
        pass(1);
        List<String> some = List.of(
                keys.fence(),
                keys.fence(),
                keys.queue(),
                keys.waiters(),
                keys.lock(),
                keys.fence(),
                keys.queue(),
                keys.waiters());
        Reply reply = run(some, "renew_shares", "a", "" + LEASE, "1", "1");
        assertThat(reply.code()).isEqualTo("GONE");
        assertThat(reply.values()).containsExactly(0L);
        assertThat(field("s:a")).isEqualTo("1 " + (START + 1_000 + LEASE * 1_000));
    }

    @Test
    void clockSetBack_leavesAShareUntilItsClientEndsIt() {
        share("a", 1);
        pass(-3_600_000);
        assertThat(renew("a", 1).code()).isEqualTo("OK");
        isGranted(share("b", 1), false);
        acquire("w:1", 1);
        listen("w");
        unshare("a", 1);
        unshare("b", 1);
        assertThat(holder()).isEqualTo("w:1");
        assertThat(Long.parseLong(field("token"))).isGreaterThan(START);
    }

    @Test
    void fullMemory_refusesANewShare_butEndsRenewsAndHandsOn() {
        share("a", 1);
        acquire("w:1", 1);
        share("b", 1);
        listen("w", "b");
        redis.full(true);
        assertThat(renew("a", 1).code()).isEqualTo("OK");
        unshare("a", 1);
        assertThat(holder()).isEqualTo("w:1");
        release("w:1", 1);
        assertThat(holder()).isEqualTo("readers");
        redis.full(false);
    }
}
