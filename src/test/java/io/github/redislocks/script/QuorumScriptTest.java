package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.health.ServerRequirements;
import io.github.redislocks.quorum.QuorumCalls;
import io.github.redislocks.quorum.VotePoll;
import io.github.redislocks.quorum.Withdrawal;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Branches of the scripts of one master of a quorum that its clients seldom reach, by a clock that the test moves. */
@Timeout(30)
class QuorumScriptTest {

    private static final long SECOND = 1_000_000_000;
    private static final long FOR_EVER = 8_000_000_000_000_000L;
    private static final long LEASE_MILLIS = 3_000;
    private static final String PREFIX = "redis-locks:quorum";
    /** Beyond the clock. Tokens in the tests count from here. */
    private static final long TOKENS = 2_000_000_000_000_000L;

    private final LockKeys keys = LockKeys.of(PREFIX, "job");
    /** A thousandth before a whole second. */
    private final AtomicLong micros = new AtomicLong(1_790_000_000_999_000L);

    private final InMemoryRedis redis = new InMemoryRedis(micros::get);
    private final QuorumCalls calls = new QuorumCalls(3);

    @AfterEach
    void close() {
        redis.close();
    }

    private void pass(long millis) {
        micros.addAndGet(millis * 1_000);
    }

    /** The reply, with tokens as the tests count them. */
    private Reply run(Call call, long timeoutNanos) {
        Reply reply = redis.run(call, timeoutNanos);
        List<Object> values = reply.values().stream()
                .map(value -> value instanceof Long number && number >= TOKENS ? (Object) (number - TOKENS) : value)
                .toList();
        return new Reply(reply.code(), values, reply.resent());
    }

    private static String counted(String text) {
        return Pattern.compile("\\d{16}")
                .matcher(text)
                .replaceAll(token -> Long.toString(Long.parseLong(token.group()) - TOKENS));
    }

    private String fence() {
        return counted(redis.string(keys.fence()));
    }

    private VotePoll.Candidate candidate(String owner, long claimMillis) {
        return new VotePoll.Candidate(keys.all(), owner, 1, LEASE_MILLIS, claimMillis, 0, "OK");
    }

    private static QuorumCalls.At at(long notAfter) {
        return new QuorumCalls.At("", 0, notAfter);
    }

    private Reply vote(QuorumCalls by, String owner, long token, long claimMillis, long notAfter) {
        return run(by.vote(candidate(owner, claimMillis), by.nextBallot(), TOKENS + token, at(notAfter)), SECOND);
    }

    private Reply vote(String owner, long token) {
        return vote(calls, owner, token, 0, FOR_EVER);
    }

    private Reply renew(String owner, long token) {
        return renew(owner, token, 0);
    }

    private Reply renew(String owner, long token, long lapsed) {
        return run(
                calls.renewal(
                        candidate(owner, 0),
                        calls.nextBallot(),
                        TOKENS + token,
                        lapsed == 0 ? 0 : TOKENS + lapsed,
                        at(FOR_EVER)),
                SECOND);
    }

    private Reply withdraw(String owner, Withdrawal.End end, Withdrawal.Place place) {
        Withdrawal order = new Withdrawal(keys.all(), owner, 1, calls.nextBallot(), end, place);
        return run(calls.withdraw(order), SECOND);
    }

    private void release(String owner) {
        assertThat(withdraw(owner, Withdrawal.End.RELEASED, Withdrawal.Place.DROP)
                        .code())
                .isEqualTo("ENDED");
    }

    private Reply voted(long token, long after, long lost) {
        return new Reply("VOTED", List.of(token, after, lost, 0L, micros.get()));
    }

    /** Lets a client stand in line behind the holder, and keeps what it is told. */
    private void lineUp(String client) {
        Redis.Subscription unused = redis.subscribe(LockKeys.mailbox(PREFIX, client), SECOND);
        redis.holdMessages();
        assertThat(vote(calls, client + ":1", 1, 4_500, FOR_EVER).code()).isEqualTo("TAKEN");
    }

    @Test
    void vote_beforeTheTimeFromWhichTheServerVotes_isNotGiven_butAVoteThatIsThereIsKept() {
        vote("a:1", 10);
        QuorumCalls.At from = new QuorumCalls.At("", micros.get() + 1_001, FOR_EVER);
        assertThat(run(calls.vote(candidate("a:1", 0), calls.nextBallot(), TOKENS + 10, from), SECOND)
                        .code())
                .isEqualTo("VOTED");
        release("a:1");
        Call vote = calls.vote(candidate("b:1", 0), calls.nextBallot(), TOKENS + 20, from);
        assertThat(run(vote, SECOND)).isEqualTo(new Reply("YOUNG", List.of(2L, micros.get())));
        Call renewal = calls.renewal(candidate("b:1", 0), calls.nextBallot(), TOKENS + 20, 0, from);
        assertThat(run(renewal, SECOND).code()).isEqualTo("YOUNG");
        micros.addAndGet(1_001);
        assertThat(run(vote, SECOND)).isEqualTo(voted(20, 10, 0));
    }

    @Test
    void vote_thatComesAfterItsTime_changesNothing() {
        assertThat(vote(calls, "a:1", 10, 0, micros.get() - 1)).isEqualTo(new Reply("LATE", List.of(micros.get())));
        assertThat(redis.keys()).isEmpty();
        assertThat(vote(calls, "a:1", 10, 0, micros.get())).isEqualTo(voted(10, 0, 0));
    }

    @Test
    void vote_withATokenBehindTheTime_isGivenOneThatIsNot() {
        for (long claim : new long[] {0, 4_500}) {
            assertThat(vote(calls, "a:1", -TOKENS, claim, FOR_EVER).number(0)).isEqualTo(micros.get());
            release("a:1");
            pass(60_000);
            long second = micros.get() - 1_000_000 - TOKENS;
            assertThat(vote(calls, "a:1", second - 1, claim, FOR_EVER).number(0))
                    .isEqualTo(micros.get());
            release("a:1");
            pass(60_000);
            second = micros.get() - 1_000_000 - TOKENS;
            assertThat(vote(calls, "a:1", second, claim, FOR_EVER).number(0))
                    .as("a request may have taken so long")
                    .isEqualTo(micros.get() - 1_000_000);
            release("a:1");
            pass(60_000);
        }
        assertThat(renew("b:1", 1 - TOKENS).code())
                .as("a hold has its token for ever")
                .isEqualTo("GONE");
        withdraw("a:1", Withdrawal.End.LOST, Withdrawal.Place.DROP);
        redis.flushAll();
        assertThat(renew("b:1", 1 - TOKENS).number(0)).isOne();
    }

    @Test
    void vote_askedForAgainWithAShorterLease_lastsAsLongAsBefore() {
        vote("a:1", 10);
        VotePoll.Candidate brief = new VotePoll.Candidate(keys.all(), "a:1", 1, 200, 0, 0, "OK");
        assertThat(run(calls.vote(brief, calls.nextBallot(), TOKENS + 10, at(FOR_EVER)), SECOND)
                        .code())
                .isEqualTo("VOTED");
        assertThat(redis.pttl(keys.lock())).isEqualTo(LEASE_MILLIS);
    }

    @Test
    void keep_withAShorterLease_leavesTheVoteAsLongAsBefore() {
        vote("a:1", 10);
        Script keep = Script.load(Scripts.class, "keep");
        List<String> args = List.of("a:1", "1", Long.toString(calls.nextBallot()), "200", "");
        assertThat(run(new Call(keep, List.of(keys.lock()), args), SECOND).code())
                .isEqualTo("OK");
        assertThat(redis.pttl(keys.lock())).isEqualTo(LEASE_MILLIS);
    }

    @Test
    void renewal_afterALaterHold_isGone() {
        vote("a:1", 10);
        pass(LEASE_MILLIS + 1);
        vote("b:1", 20);
        pass(LEASE_MILLIS + 1);
        assertThat(renew("a:1", 10).code()).as("the later vote lapsed").isEqualTo("GONE");
        vote("b:1", 30);
        release("b:1");
        assertThat(renew("a:1", 10).code()).as("the later vote was released").isEqualTo("GONE");
    }

    @Test
    void renewal_ofAHoldThatHasEnded_isGone() {
        vote("a:1", 10);
        release("a:1");
        assertThat(renew("a:1", 10).code()).isEqualTo("GONE");
        vote("a:1", 20);
        withdraw("a:1", Withdrawal.End.LOST, Withdrawal.Place.KEEP);
        assertThat(renew("a:1", 20).code()).isEqualTo("GONE");
    }

    @Test
    void renewal_ofAHoldThatLapsedHere_hasItsVoteAgain() {
        vote("a:1", 10);
        pass(LEASE_MILLIS + 1);
        assertThat(renew("a:1", 10)).isEqualTo(voted(10, 10, 1));
        assertThat(held("token")).isEqualTo("10");
    }

    @Test
    void renewal_whereTheHoldWasNotKnown_isAVoteBehindTheHoldBefore() {
        vote("b:1", 5);
        release("b:1");
        assertThat(renew("a:1", 10)).isEqualTo(voted(10, 5, 0));
    }

    @Test
    void renewal_whereTokensWereCountedFurther_keepsItsOwn() {
        vote("b:1", 20);
        withdraw("b:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP);
        assertThat(renew("a:1", 10)).isEqualTo(voted(10, 0, 0));
        assertThat(fence()).isEqualTo("20 10 1");
        release("a:1");
        assertThat(vote("c:1", 15).number(0)).as("greater than all").isEqualTo(21);
    }

    @Test
    void renewal_ofAVoteWithAGreaterToken_leavesItThatOfTheHold() {
        vote("b:1", 20);
        withdraw("b:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP);
        long ballot = calls.nextBallot();
        VotePoll.Candidate candidate = candidate("a:1", 0);
        Call vote = calls.vote(candidate, ballot, TOKENS + 10, at(FOR_EVER));
        assertThat(run(vote, SECOND).number(0)).as("greater than all").isEqualTo(21);
        assertThat(renew("a:1", 10).number(0)).isEqualTo(10);
        assertThat(held("token")).isEqualTo("10");
        assertThat(fence()).as("the greatest is counted all the same").isEqualTo("21 10 1");
        Call greater = calls.vote(candidate, ballot, TOKENS + 15, at(FOR_EVER));
        for (Call late : List.of(vote, greater)) {
            assertThat(run(late, SECOND).code()).isEqualTo("VOTED");
            assertThat(held("token")).as("a late copy changes nothing").isEqualTo("10");
            assertThat(fence()).isEqualTo("21 10 1");
        }
        release("a:1");
        assertThat(fence()).isEqualTo("21 10 0");
        assertThat(vote("c:1", 15)).as("of a later hold").isEqualTo(voted(22, 10, 0));
    }

    /** A holder whose other votes were never gone: then the later one cannot have been of a hold. */
    @Test
    void renewal_behindALaterVoteThatLapsed_isGivenIfThatCameToNothing() {
        vote("dead:1", 20);
        assertThat(renew("a:1", 10, 20).code()).as("not while it lasts").isEqualTo("TAKEN");
        pass(LEASE_MILLIS + 1);
        assertThat(renew("a:1", 10)).isEqualTo(new Reply("GONE", List.of(20L)));
        assertThat(renew("a:1", 10, 19)).isEqualTo(new Reply("GONE", List.of(20L)));
        assertThat(renew("a:1", 10, 20)).isEqualTo(voted(10, 20, 1));
        assertThat(fence()).isEqualTo("20 10 1");
        assertThat(renew("a:1", 10, 20)).isEqualTo(new Reply("VOTED", List.of(10L, 20L, 1L, 1L, micros.get())));
    }

    @Test
    void renewal_behindALaterHoldThatEnded_isGoneWhateverIsBelieved() {
        vote("b:1", 20);
        release("b:1");
        assertThat(renew("a:1", 10, 20)).isEqualTo(new Reply("GONE", List.of(0L)));
        vote("b:1", 30);
        withdraw("b:1", Withdrawal.End.LOST, Withdrawal.Place.KEEP);
        assertThat(renew("a:1", 10, 30)).isEqualTo(new Reply("GONE", List.of(0L)));
    }

    @Test
    void renewal_ofAHoldThatEndedHere_isGoneWhateverIsBelieved() {
        vote("a:1", 10);
        release("a:1");
        assertThat(renew("a:1", 10, 10)).isEqualTo(new Reply("GONE", List.of(0L)));
    }

    @Test
    void withdrawal_ofAVoteThatCameToNothing_leavesTheHoldBeforeAsItWas() {
        vote("a:1", 10);
        pass(LEASE_MILLIS + 1);
        assertThat(vote("b:1", 20)).isEqualTo(voted(20, 10, 1));
        withdraw("b:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP);
        assertThat(vote("c:1", 30)).isEqualTo(voted(30, 10, 1));
    }

    @Test
    void withdrawal_ofAVote_tellsTheFirstThatWaits() {
        vote("a:1", 10);
        lineUp("b");
        lineUp("c");
        withdraw("a:1", Withdrawal.End.UNHELD, Withdrawal.Place.KEEP);
        assertThat(redis.heldMessages()).containsExactly("1 0 0");
    }

    @Test
    void withdrawal_whereAnotherHasTheLock_tellsNobody() {
        vote("a:1", 10);
        lineUp("b");
        assertThat(withdraw("a:1", Withdrawal.End.UNHELD, Withdrawal.Place.HUSH).code())
                .isEqualTo("ENDED");
        assertThat(redis.heldMessages()).isEmpty();
    }

    @Test
    void withdrawal_ofAPlaceAlone_tellsTheNext() {
        vote("a:1", 10);
        lineUp("b");
        lineUp("c");
        redis.del(keys.lock());
        assertThat(withdraw("b:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP).code())
                .isEqualTo("GONE");
        assertThat(redis.heldMessages())
                .as("the waiter that leaves may have been notified")
                .hasSize(1);
        assertThat(redis.zset(keys.all().get(1))).containsOnlyKeys("c:1:1");
    }

    /** A vote of an attempt and a ballot of the test's choice. */
    private Reply vote(long attempt, long ballot, long token, long lastLostAttempt) {
        VotePoll.Candidate candidate =
                new VotePoll.Candidate(keys.all(), "a:1", attempt, LEASE_MILLIS, 0, lastLostAttempt, "OK");
        return run(calls.vote(candidate, ballot, TOKENS + token, at(FOR_EVER)), SECOND);
    }

    private Reply withdraw(long attempt, long ballot, Withdrawal.End end) {
        Withdrawal order = new Withdrawal(keys.all(), "a:1", attempt, ballot, end, Withdrawal.Place.KEEP);
        return run(calls.withdraw(order), SECOND);
    }

    /** A renewal as for a hold of which it is not known that it was won; or a re-entry, with the count before. */
    private Reply keep(long attempt, long ballot, String countBefore, boolean fence) {
        Script keep = Script.load(Scripts.class, "keep");
        List<String> touched = fence ? List.of(keys.lock(), keys.fence()) : List.of(keys.lock());
        List<String> args =
                List.of("a:1", Long.toString(attempt), Long.toString(ballot), Long.toString(LEASE_MILLIS), countBefore);
        return run(new Call(keep, touched, args), SECOND);
    }

    private String held(String field) {
        return counted(redis.hash(keys.lock()).get(field));
    }

    @Test
    void vote_ofAnEarlierAttempt_leavesTheLaterOneAsItIs() {
        vote(7, 1, 10, 0);
        assertThat(vote(6, 2, 20, 0)).isEqualTo(new Reply("STALE", List.of()));
        assertThat(redis.hash(keys.lock())).containsEntry("attempt", "7").containsEntry("ballot", "1");
        assertThat(fence()).isEqualTo("10 10 1");
    }

    @Test
    void vote_ofALaterAttempt_takesWhatTheEarlierOneLeft() {
        vote("b:1", 5);
        release("b:1");
        vote(6, 1, 10, 0);
        pass(1_000);
        assertThat(vote(7, 2, 20, 0)).as("no caller had the hold of 6").isEqualTo(voted(20, 5, 0));
        assertThat(redis.hash(keys.lock())).containsEntry("attempt", "7").containsEntry("ballot", "2");
        assertThat(redis.pttl(keys.lock())).isEqualTo(LEASE_MILLIS);
        assertThat(vote(8, 3, 30, 7))
                .as("a caller had the hold of 7, and lost it")
                .isEqualTo(voted(30, 20, 1));
    }

    @Test
    void vote_repeated_hasANewLeaseAndNoSmallerToken() {
        vote(7, 1, 20, 0);
        pass(1_000);
        assertThat(vote(7, 2, 10, 0).number(0)).isEqualTo(20);
        assertThat(redis.pttl(keys.lock())).isEqualTo(LEASE_MILLIS);
        assertThat(held("token")).isEqualTo("20");
        assertThat(fence()).isEqualTo("20 20 1");
        assertThat(vote(7, 3, 30, 0).number(0)).as("of a second round").isEqualTo(30);
        assertThat(held("token")).isEqualTo("30");
        assertThat(fence()).isEqualTo("30 30 1");
    }

    @Test
    void vote_repeatedWithAnEarlierBallot_isNotEndedByThatOne() {
        vote(7, 5, 10, 0);
        vote(7, 4, 10, 0);
        assertThat(withdraw(7, 4, Withdrawal.End.UNHELD).code()).isEqualTo("GONE");
        vote(7, 6, 10, 0);
        assertThat(withdraw(7, 5, Withdrawal.End.UNHELD).code()).isEqualTo("GONE");
        assertThat(withdraw(7, 6, Withdrawal.End.UNHELD).code()).isEqualTo("ENDED");
    }

    @Test
    void vote_repeatedWhereTokensWereCountedFurther_leavesTheCount() {
        vote("b:1", 50);
        withdraw("b:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP);
        vote(7, 1, 40, 0);
        withdraw(7, 1, Withdrawal.End.UNHELD);
        assertThat(fence()).startsWith("51 ");
        renew("a:1", 30);
        renew("a:1", 30);
        assertThat(fence()).isEqualTo("51 30 1");
    }

    @Test
    void vote_withAClaim_takesAPlaceForWhenItComesToNothing() {
        Reply vote = vote(calls, "a:1", 10, 4_500, FOR_EVER);
        assertThat(vote.code()).isEqualTo("VOTED");
        assertThat(redis.zset(keys.all().get(1))).containsOnlyKeys("a:1:1");
    }

    @Test
    void vote_keepsTheTokensOfADay() {
        vote("a:1", 10);
        assertThat(redis.pttl(keys.fence())).isEqualTo(100_000_000 + LEASE_MILLIS);
        pass(60_000);
        withdraw("a:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP);
        vote("b:1", 20);
        release("b:1");
        assertThat(redis.pttl(keys.fence())).isEqualTo(100_000_000);
    }

    @Test
    void keep_ofAnEarlierAttempt_isGoneAndChangesNothing() {
        vote(7, 1, 10, 0);
        pass(1_000);
        assertThat(keep(6, 2, "1", false).code()).isEqualTo("GONE");
        assertThat(redis.hash(keys.lock())).containsEntry("ballot", "1").containsEntry("holds", "1");
        assertThat(redis.pttl(keys.lock())).isEqualTo(LEASE_MILLIS - 1_000);
    }

    @Test
    void keep_makesTheVoteLastAndNoEarlierWithdrawalEndIt() {
        vote(7, 1, 10, 0);
        pass(1_000);
        assertThat(keep(7, 5, "", false).code()).isEqualTo("OK");
        assertThat(redis.pttl(keys.lock())).isEqualTo(LEASE_MILLIS);
        assertThat(keep(7, 3, "", false).code()).isEqualTo("OK");
        assertThat(withdraw(7, 4, Withdrawal.End.UNHELD).code()).isEqualTo("GONE");
        assertThat(held("holds")).isEqualTo("1");
    }

    private String runId() {
        return new ServerRequirements("", redis.run(Inspections.check(PREFIX, "mailbox"), SECOND)).runId();
    }

    @Test
    void vote_namedAnotherServer_changesNothing_whoeverHasTheLock() {
        QuorumCalls.At other = new QuorumCalls.At("0123", 0, FOR_EVER);
        QuorumCalls.At own = new QuorumCalls.At(runId(), 0, FOR_EVER);
        VotePoll.Candidate candidate = candidate("a:1", 0);
        assertThat(run(calls.vote(candidate, calls.nextBallot(), 10, other), SECOND))
                .isEqualTo(new Reply("OTHER", List.of()));
        assertThat(redis.keys()).isEmpty();
        assertThat(run(calls.vote(candidate, calls.nextBallot(), 10, own), SECOND)
                        .code())
                .isEqualTo("VOTED");
        pass(1_000);
        for (String owner : List.of("a:1", "b:1")) {
            assertThat(run(calls.renewal(candidate(owner, 0), calls.nextBallot(), 10, 0, other), SECOND)
                            .code())
                    .isEqualTo("OTHER");
        }
        assertThat(redis.pttl(keys.lock())).isEqualTo(LEASE_MILLIS - 1_000);
    }

    @Test
    void keep_namedAnotherServer_changesNothing() {
        vote(7, 1, 10, 0);
        pass(1_000);
        for (String named : List.of("0123", runId())) {
            Script keep = Script.load(Scripts.class, "keep");
            List<String> args = List.of("a:1", "7", "2", Long.toString(LEASE_MILLIS), "1", named);
            Reply reply = redis.run(new Call(keep, List.of(keys.lock()), args), SECOND);
            boolean other = named.equals("0123");
            assertThat(reply).isEqualTo(other ? new Reply("OTHER", List.of()) : new Reply("OK", List.of()));
            assertThat(held("holds")).isEqualTo(other ? "1" : "2");
        }
    }

    @Test
    void keep_ofAReentry_countsOnceHoweverOftenItRuns() {
        vote(7, 1, 10, 0);
        keep(7, 2, "1", false);
        keep(7, 2, "1", false);
        assertThat(held("holds")).isEqualTo("2");
    }

    @Test
    void keep_whenItIsTime_keepsTheTokensToo() {
        vote(7, 1, 10, 0);
        pass(1_000);
        keep(7, 2, "", false);
        assertThat(redis.pttl(keys.fence())).isEqualTo(100_000_000 + LEASE_MILLIS - 1_000);
        keep(7, 3, "", true);
        assertThat(redis.pttl(keys.fence())).isEqualTo(100_000_000 + LEASE_MILLIS);
    }

    @Test
    void withdrawal_saysHowTheHoldEnded() {
        vote("a:1", 10);
        release("a:1");
        assertThat(fence()).isEqualTo("10 10 0");
        vote("a:1", 20);
        withdraw("a:1", Withdrawal.End.LOST, Withdrawal.Place.DROP);
        assertThat(fence()).isEqualTo("20 20 2");
        vote("b:1", 30);
        withdraw("b:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP);
        assertThat(fence()).as("of the hold before").isEqualTo("30 20 2");
    }

    @Test
    void withdrawal_keptPlace_staysAndIsNotTold() {
        vote("x:1", 10);
        lineUp("a");
        lineUp("b");
        redis.del(keys.lock());
        vote(calls, "a:1", 20, 4_500, FOR_EVER);
        withdraw("a:1", Withdrawal.End.UNHELD, Withdrawal.Place.KEEP);
        assertThat(redis.zset(keys.all().get(1))).containsOnlyKeys("a:1:1", "b:1:1");
        assertThat(redis.heldMessages()).as("b, since a knows it").hasSize(1);
    }

    @Test
    void withdrawal_whoseOwnPlaceIsTheOnlyOne_tellsNobody() {
        vote("x:1", 10);
        lineUp("a");
        vote(calls, "deaf:1", 1, 4_500, FOR_EVER);
        redis.del(keys.lock());
        vote("a:1", 20);
        withdraw("a:1", Withdrawal.End.UNHELD, Withdrawal.Place.KEEP);
        assertThat(redis.heldMessages()).isEmpty();
    }

    @Test
    void withdrawal_ofAnEarlierAttempt_leavesTheVoteOfALaterOne() {
        vote(7, 1, 10, 0);
        assertThat(withdraw(6, 2, Withdrawal.End.RELEASED).code()).isEqualTo("GONE");
        assertThat(held("attempt")).isEqualTo("7");
    }

    @Test
    void keep_ofAnotherClientsAttemptWithTheSameNumber_isGone() {
        vote("b:1", 10);
        assertThat(keep(1, 2, "", false).code()).isEqualTo("GONE");
        assertThat(held("ballot")).isEqualTo("1");
    }

    @Test
    void withdrawal_ofWhatIsNotThere_tellsNobody() {
        vote("x:1", 10);
        lineUp("b");
        redis.del(keys.lock());
        assertThat(withdraw("a:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP).code())
                .isEqualTo("GONE");
        assertThat(redis.heldMessages()).isEmpty();
    }

    @Test
    void withdrawal_ofAPlaceWhileAnotherHasTheLock_tellsNobody() {
        vote("x:1", 10);
        lineUp("a");
        lineUp("b");
        withdraw("a:1", Withdrawal.End.UNHELD, Withdrawal.Place.DROP);
        assertThat(redis.zset(keys.all().get(1))).containsOnlyKeys("b:1:1");
        assertThat(redis.heldMessages()).isEmpty();
    }

    @Test
    void withdrawal_deadWaiters_arePassedByAndForgotten() {
        vote("x:1", 10);
        lineUp("a");
        pass(5_000);
        vote("x:1", 20);
        lineUp("b");
        withdraw("x:1", Withdrawal.End.RELEASED, Withdrawal.Place.DROP);
        assertThat(redis.zset(keys.all().get(1))).containsOnlyKeys("b:1:1");
        assertThat(redis.heldMessages()).hasSize(1);
    }

    @Test
    void withdrawal_waiterThatCannotBeTold_isPassedByAndKeepsItsPlace() {
        vote("x:1", 10);
        vote(calls, "deaf:1", 1, 4_500, FOR_EVER);
        lineUp("b");
        release("x:1");
        assertThat(redis.zset(keys.all().get(1))).containsOnlyKeys("deaf:1:1", "b:1:1");
        assertThat(redis.heldMessages()).hasSize(1);
    }

    @Test
    void withdrawal_ofAForcedHold_endsItWhateverItsBallot_andNoOther() {
        vote(7, 3, 10, 0);
        assertThat(withdraw(6, Long.MAX_VALUE, Withdrawal.End.LOST).code()).isEqualTo("GONE");
        assertThat(withdraw(7, Long.MAX_VALUE, Withdrawal.End.LOST).code()).isEqualTo("ENDED");
        assertThat(redis.hash(keys.lock())).isEmpty();
    }
}
