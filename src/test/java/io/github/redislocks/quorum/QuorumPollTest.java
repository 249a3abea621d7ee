package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Owner;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The results of the answers of three masters, and the requests to repeat. */
class QuorumPollTest extends ThreeMasters {

    private static final Reply YOUNG = new Reply("YOUNG", List.of(1_000L, 1L));

    private final Call check = Inspections.check("redis-locks:quorum", "mailbox");

    private Outcome renewal(Reply... replies) {
        Call renew = new Call(check.script(), List.of(keys.lock()), List.of());
        return result(new RenewPoll(calls, renew, candidate, 10, RenewPoll.Round.NONE), replies)
                .outcome();
    }

    /** The argument of a renewal that follows one with these replies, of which the first came from this node. */
    private String lapsedAfter(Reply... replies) {
        Call renew = new Call(check.script(), List.of(keys.lock()), List.of());
        RenewPoll first = new RenewPoll(calls, renew, candidate, 10, RenewPoll.Round.NONE);
        for (int i = 0; i < replies.length; i++) {
            first.settled(nodes.get(i), 0, Outcome.of(replies[i]));
        }
        RenewPoll second = new RenewPoll(calls, renew, candidate, 10, first.round());
        return second.call(nodes.get(0), "", 0, 0).args().get(10);
    }

    private static Reply kept(boolean resent) {
        return new Reply("VOTED", List.of(10L, 0L, 0L, 1L, 1L), resent);
    }

    @Test
    void renewal_afterAMajorityKeptTheirVotes_saysWhichLaterVoteWasNone() {
        Reply lapsed = new Reply("GONE", List.of(20L));
        assertThat(lapsedAfter(lapsed, kept(false), kept(false))).isEqualTo("20");
        assertThat(lapsedAfter(lapsed, kept(false), voted(10, 0, 0)))
                .as("one master may have voted for the later owner")
                .isEqualTo("0");
        assertThat(lapsedAfter(lapsed, kept(false), kept(true)))
                .as("the copy before may have been given it")
                .isEqualTo("0");
        assertThat(lapsedAfter(new Reply("GONE", List.of(0L)), kept(false), kept(false)))
                .isEqualTo("0");
    }

    @Test
    void renewal_thatAMajorityCouldStillConfirmLater_isUnanswered() {
        assertThat(renewal(voted(10, 0, 0), YOUNG, takenBy("other:1")).failure())
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("has just started");
        assertThat(renewal(voted(10, 0, 0), takenBy("other:1"), takenBy("another:1"))
                        .failure())
                .as("a candidate without a majority withdraws its votes")
                .isInstanceOf(RedisException.Unanswered.class);
    }

    @Test
    void renewal_thatNoMajorityCanConfirmAnyMore_isGone() {
        Reply gone = new Reply("GONE", List.of());
        assertThat(renewal(voted(10, 0, 0), takenBy("other:1"), takenBy("other:1")))
                .isEqualTo(Outcome.of(gone));
        assertThat(renewal(voted(10, 0, 0), YOUNG, YOUNG)).isEqualTo(Outcome.of(gone));
        assertThat(renewal(voted(10, 0, 0), gone, takenBy("other:1"))).isEqualTo(Outcome.of(gone));
    }

    @Test
    void vote_holdBefore_isTheLatestThatAnyMasterKnows() {
        assertThat(lost(voted(30, 20, 1), voted(30, 10, 0), voted(30, 10, 0))).isEqualTo(1);
        assertThat(lost(voted(30, 20, 1), voted(30, 20, 0), voted(30, 10, 2))).isZero();
    }

    private long lost(Reply... votes) {
        return result(new VotePoll(calls, candidate, 30), votes)
                .outcome()
                .reply()
                .number(1);
    }

    @Test
    void vote_ofALockThatAnotherHas_isTakenBackQuietly() {
        Poll.Result busy = result(new VotePoll(calls, candidate, 30), voted(30, 0, 0), takenBy("a:1"), takenBy("a:1"));
        assertThat(busy.split()).isFalse();
        assertThat(place(busy)).isEqualTo("hush");
    }

    @Test
    void vote_thatWasSplit_isTakenBackSoThatTheFirstThatWaitsAsks() {
        Poll.Result split = result(new VotePoll(calls, candidate, 30), voted(30, 0, 0), takenBy("a:1"), takenBy("b:1"));
        assertThat(split.split()).isTrue();
        assertThat(place(split)).isEqualTo("keep");
    }

    /** The word of the withdrawal for the place in line. */
    private String place(Poll.Result lost) {
        return lost.after().call(node, "", 0, 0).args().get(4);
    }

    private UnansweredVotes.Question question(long ballot, boolean place) {
        return new UnansweredVotes.Question(ATTEMPT, ballot, place, 3_000, System.nanoTime() + SECOND);
    }

    /** Notes a request for a vote and its outcome. */
    private void voted(Outcome outcome, boolean place) {
        UnansweredVotes.Question question = question(1, place);
        node.unanswered.asking(question);
        node.unanswered.settled(question, outcome);
    }

    /** Whether the withdrawal is repeated after it did not reach the master. */
    private boolean isRepeated(Withdrawal.End end, Withdrawal.Place place) {
        withdrawal(end, place).settled(node, System.nanoTime() + SECOND, unanswered(false));
        return !retries.isEmpty();
    }

    private boolean isRepeated(Withdrawal.End end) {
        return isRepeated(end, Withdrawal.Place.DROP);
    }

    private WithdrawPoll withdrawal(Withdrawal.End end, Withdrawal.Place place) {
        return new WithdrawPoll(
                calls, new Withdrawal(keys.all(), candidate.owner(), ATTEMPT, calls.nextBallot(), end, place));
    }

    private WithdrawPoll withdrawal(Withdrawal.End end) {
        return withdrawal(end, Withdrawal.Place.DROP);
    }

    @Test
    void withdrawal_ofAVoteThatWasNeverSent_isNotRepeated() {
        voted(unanswered(false), true);
        assertThat(isRepeated(Withdrawal.End.UNHELD)).isFalse();
        assertThat(isRepeated(Withdrawal.End.RELEASED)).isFalse();
        assertThat(isRepeated(Withdrawal.End.LOST)).isFalse();
        assertThat(node.remembered()).isZero();
    }

    @Test
    void withdrawal_ofAVoteThatMayHaveBeenGiven_isRepeated() {
        voted(unanswered(true), false);
        assertThat(isRepeated(Withdrawal.End.UNHELD)).isTrue();
    }

    @Test
    void withdrawal_ofAVoteOnItsWay_isRepeated() {
        node.unanswered.asking(question(1, false));
        assertThat(isRepeated(Withdrawal.End.UNHELD)).isTrue();
    }

    @Test
    void withdrawal_ofAVoteThatWasGiven_isRepeated() {
        voted(Outcome.of(voted(10, 0, 0)), false);
        assertThat(isRepeated(Withdrawal.End.RELEASED)).isTrue();
    }

    @Test
    void withdrawal_ofAVoteThatAnotherHas_isRepeatedForThePlaceAlone() {
        voted(Outcome.of(takenBy("other:1")), true);
        assertThat(isRepeated(Withdrawal.End.UNHELD, Withdrawal.Place.KEEP)).isFalse();
        assertThat(isRepeated(Withdrawal.End.UNHELD, Withdrawal.Place.DROP)).isTrue();
    }

    @Test
    void withdrawal_concernsOnlyMastersThatMayHaveTheVote() {
        assertThat(withdrawal(Withdrawal.End.UNHELD).concerns(node)).isFalse();
        assertThat(withdrawal(Withdrawal.End.RELEASED).concerns(node)).isTrue();
        voted(Outcome.of(takenBy("other:1")), true);
        assertThat(withdrawal(Withdrawal.End.UNHELD, Withdrawal.Place.HUSH).concerns(node))
                .isFalse();
        assertThat(withdrawal(Withdrawal.End.UNHELD).concerns(node)).isTrue();
        voted(Outcome.of(voted(10, 0, 0)), true);
        assertThat(withdrawal(Withdrawal.End.UNHELD, Withdrawal.Place.HUSH).concerns(node))
                .isTrue();
    }

    /** The master may have given the vote after the withdrawal ran, though the withdrawal's answer came later. */
    @Test
    void withdrawal_sentBeforeAVoteWasAnswered_isRepeatedOnce() {
        Outcome ended = Outcome.of(new Reply("ENDED", List.of()));
        UnansweredVotes.Question question = question(1, false);
        WithdrawPoll withdrawal = withdrawal(Withdrawal.End.RELEASED);
        node.unanswered.asking(question);
        withdrawal.sending(node);
        node.unanswered.settled(question, Outcome.of(takenBy("other:1")));
        withdrawal.settled(node, 0, ended);
        assertThat(retries).hasSize(1);
        withdrawal.sending(node);
        withdrawal.settled(node, 0, ended);
        assertThat(retries).hasSize(1);
    }

    @Test
    void withdrawal_sentAfterAllVotesWereAnswered_isNotRepeated() {
        WithdrawPoll withdrawal = withdrawal(Withdrawal.End.RELEASED);
        voted(Outcome.of(voted(10, 0, 0)), true);
        withdrawal.sending(node);
        withdrawal.settled(node, 0, Outcome.of(new Reply("ENDED", List.of())));
        assertThat(retries).isEmpty();
        assertThat(node.remembered()).isZero();
    }

    @Test
    void withdrawal_behindAVoteThatWasSentTwice_isRepeatedWhenTheFirstCopyCannotRun() {
        WithdrawPoll withdrawal = withdrawal(Withdrawal.End.RELEASED);
        voted(Outcome.of(new Reply("VOTED", List.of(10L, 0L, 0L, 0L, 1L), true)), false);
        withdrawal.sending(node);
        withdrawal.settled(node, 0, Outcome.of(new Reply("ENDED", List.of())));
        assertThat(retries).hasSize(1);
    }

    @Test
    void withdrawal_behindAVoteThatMayStillBeGiven_waitsUntilItCannot() {
        voted(unanswered(true), false);
        withdrawal(Withdrawal.End.RELEASED).settled(node, 0, Outcome.of(new Reply("ENDED", List.of())));
        assertThat(node.remembered()).as("the vote, and its withdrawal").isEqualTo(2);
        retries.forEach(Runnable::run);
        assertThat(node.remembered()).isEqualTo(2);
    }

    @Test
    void withdrawal_followsTheVotesOfItsAttempt() {
        WithdrawPoll withdrawal = withdrawal(Withdrawal.End.UNHELD);
        assertThat(withdrawal.follows(new VotePoll(calls, candidate, 30))).isTrue();
        VotePoll.Candidate another = new VotePoll.Candidate(keys.all(), "client:1", ATTEMPT + 1, 3_000, 0, 0, "OK");
        assertThat(withdrawal.follows(new VotePoll(calls, another, 30))).isFalse();
        assertThat(withdrawal.follows(withdrawal)).isFalse();
    }

    @Test
    void withdrawal_succeedsIfTheHoldWasReleased_orThereWasNone() {
        Reply ended = new Reply("ENDED", List.of());
        Reply gone = new Reply("GONE", List.of());
        Outcome freed = Outcome.of(new Reply("FREED", List.of()));
        Outcome done = Outcome.of(new Reply("DONE", List.of()));
        assertThat(result(withdrawal(Withdrawal.End.RELEASED), ended, gone, ended)
                        .outcome())
                .isEqualTo(freed);
        assertThat(result(withdrawal(Withdrawal.End.RELEASED), ended, gone, gone)
                        .outcome())
                .isEqualTo(Outcome.of(gone));
        assertThat(result(withdrawal(Withdrawal.End.LOST), ended, gone).outcome())
                .isEqualTo(done);
        assertThat(result(withdrawal(Withdrawal.End.UNHELD), gone, gone).outcome())
                .isEqualTo(done);
    }

    /** The master may have given the vote of the later ballot after the withdrawal ran. */
    @Test
    void withdrawal_ofAnEarlierBallot_doesNotForgetALaterVote() {
        WithdrawPoll earlier = withdrawal(Withdrawal.End.UNHELD, Withdrawal.Place.KEEP);
        earlier.sending(node);
        UnansweredVotes.Question later = question(calls.nextBallot(), false);
        node.unanswered.asking(later);
        node.unanswered.settled(later, Outcome.of(voted(10, 0, 0)));
        earlier.settled(node, 0, Outcome.of(new Reply("GONE", List.of())));
        assertThat(node.unanswered.mayHaveVote(ATTEMPT)).isTrue();
    }

    @Test
    void lease_thatWasMadeLonger_isRememberedForAsLong() {
        long past = System.nanoTime() - 3 * SECOND;
        node.unanswered.renewed(new UnansweredVotes.Question(1, 1, false, 2_999, past));
        node.unanswered.renewed(new UnansweredVotes.Question(2, 1, false, 2_999, past));
        node.unanswered.renewed(new UnansweredVotes.Question(2, 2, false, 60_000, past));
        assertThat(node.unanswered.mayHave(1)).isFalse();
        assertThat(node.unanswered.mayHave(2)).isTrue();
    }

    @Test
    void withdrawals_beyondABound_areForgotten() {
        for (int attempt = 0; attempt < WithdrawRetries.MOST + 100; attempt++) {
            node.unanswered.renewed(new UnansweredVotes.Question(attempt, 1, false, 60_000, System.nanoTime()));
            Withdrawal order = new Withdrawal(
                    keys.all(), candidate.owner(), attempt, 2, Withdrawal.End.LOST, Withdrawal.Place.DROP);
            new WithdrawPoll(calls, order).settled(node, 0, unanswered(false));
        }
        assertThat(node.remembered()).isEqualTo(2 * WithdrawRetries.MOST);
    }

    @Test
    void votesThatWereNotAnswered_areLateUntilTheLastCannotBeGiven() {
        long soon = System.nanoTime() + 10 * SECOND;
        for (long mayRunUntil : List.of(soon, soon + 2 * SECOND, soon + SECOND)) {
            UnansweredVotes.Question question = new UnansweredVotes.Question(ATTEMPT, 1, false, 3_000, mayRunUntil);
            node.unanswered.asking(question);
            node.unanswered.settled(question, unanswered(true));
        }
        assertThat(node.unanswered.mayRunUntilNanos(ATTEMPT)).isEqualTo(soon + 2 * SECOND);
    }

    @Test
    void votesUnderWay_areLateUntilTheLastCannotBeGiven() {
        long soon = System.nanoTime() + 10 * SECOND;
        List<UnansweredVotes.Question> questions = List.of(
                new UnansweredVotes.Question(ATTEMPT, 1, false, 3_000, soon + SECOND),
                new UnansweredVotes.Question(ATTEMPT, 2, false, 3_000, soon));
        questions.forEach(node.unanswered::asking);
        assertThat(node.unanswered.mayRunUntilNanos(ATTEMPT)).isEqualTo(soon + SECOND);
        node.unanswered.settled(questions.get(0), unanswered(false));
        assertThat(node.unanswered.mayRunUntilNanos(ATTEMPT)).isEqualTo(soon);
        node.unanswered.settled(questions.get(1), unanswered(false));
        assertThat(node.unanswered.mayRunUntilNanos(ATTEMPT)).isZero();
    }

    private String endOf(Call call) {
        return calls.poll(call).call(node, "", 0, 0).args().get(3);
    }

    @Test
    void withdrawal_saysWhetherTheCallerEverHeldTheLock() {
        assertThat(endOf(Scripts.leave(keys, new Owner("client:1"), ATTEMPT, true)))
                .isEqualTo("lost");
        assertThat(endOf(Scripts.leave(keys, new Owner("client:1"), ATTEMPT, false)))
                .isEqualTo("unheld");
    }
}
