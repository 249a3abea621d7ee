package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The votes that a master may have of an attempt, given its requests and answers. */
class UnansweredVotesTest {

    private static final long SECOND = ThreeMasters.SECOND;
    private static final long ATTEMPT = ThreeMasters.ATTEMPT;
    private static final Outcome VOTED = Outcome.of(ThreeMasters.voted(10, 0, 0));
    private static final Outcome TAKEN = Outcome.of(ThreeMasters.takenBy("a:1"));

    private final UnansweredVotes votes = new UnansweredVotes();
    private final long soon = System.nanoTime() + 10 * SECOND;

    private UnansweredVotes.Question question(long ballot, boolean place) {
        return new UnansweredVotes.Question(ATTEMPT, ballot, place, 30_000, soon);
    }

    private void answer(UnansweredVotes.Question question, Outcome outcome) {
        votes.asking(question);
        votes.settled(question, outcome);
    }

    @Test
    void vote_unanswered_mayBeThere() {
        UnansweredVotes.Question question = question(1, false);
        assertThat(votes.mayHave(ATTEMPT)).isFalse();
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isZero();
        votes.asking(question);
        assertThat(votes.mayHaveVote(ATTEMPT)).isTrue();
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isEqualTo(soon);
        votes.settled(question, TAKEN);
        assertThat(votes.mayHave(ATTEMPT)).isFalse();
        assertThat(votes.size()).isZero();
    }

    @Test
    void placeBesideAVoteOfAnother_isThereWithoutAVote() {
        answer(question(1, true), TAKEN);
        assertThat(votes.mayHaveVote(ATTEMPT)).isFalse();
        assertThat(votes.mayHave(ATTEMPT)).isTrue();
        votes.withdrawn(ATTEMPT, 1, false);
        assertThat(votes.mayHave(ATTEMPT)).isTrue();
        votes.withdrawn(ATTEMPT, 1, true);
        assertThat(votes.mayHave(ATTEMPT)).isFalse();
    }

    @Test
    void placeThatWasNotWanted_isNotThere() {
        answer(question(1, false), VOTED);
        votes.withdrawn(ATTEMPT, 1, false);
        assertThat(votes.mayHave(ATTEMPT)).isFalse();
    }

    @Test
    void placeOfAVoteThatWasNotSent_isNotThere() {
        answer(question(1, true), ThreeMasters.unanswered(false));
        assertThat(votes.mayHave(ATTEMPT)).isFalse();
    }

    @Test
    void voteThatWasGiven_isThereUntilItsBallotIsWithdrawn() {
        answer(question(2, false), VOTED);
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isZero();
        votes.withdrawn(ATTEMPT, 1, true);
        assertThat(votes.mayHaveVote(ATTEMPT)).isTrue();
        votes.withdrawn(ATTEMPT, 2, true);
        assertThat(votes.mayHave(ATTEMPT)).isFalse();
    }

    @Test
    void earlierBallot_doesNotHideALaterOne() {
        votes.renewed(question(2, false));
        votes.renewed(question(1, false));
        votes.withdrawn(ATTEMPT, 1, true);
        assertThat(votes.mayHaveVote(ATTEMPT)).isTrue();
    }

    @Test
    void vote_mayStillBeGiven_isNotForgottenWithTheWithdrawal() {
        answer(question(1, false), ThreeMasters.unanswered(true));
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isEqualTo(soon);
        votes.withdrawn(ATTEMPT, 1, true);
        assertThat(votes.mayHaveVote(ATTEMPT)).isTrue();
    }

    @Test
    void vote_cannotBeGivenAnyMore_isForgottenWithTheWithdrawal() {
        long past = System.nanoTime() - SECOND;
        votes.asking(new UnansweredVotes.Question(ATTEMPT, 1, false, 30_000, past));
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isZero();
        answer(new UnansweredVotes.Question(ATTEMPT, 1, false, 30_000, past), ThreeMasters.unanswered(true));
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isZero();
        votes.settled(new UnansweredVotes.Question(ATTEMPT, 1, false, 30_000, past), VOTED);
        votes.withdrawn(ATTEMPT, 1, true);
        assertThat(votes.mayHave(ATTEMPT)).isFalse();
    }

    @Test
    void copyThatWasSentBefore_mayBeGivenAfterTheAnswer() {
        answer(question(1, false), Outcome.of(new Reply("TAKEN", List.of("a:1", 1L, 1L), true)));
        assertThat(votes.mayHaveVote(ATTEMPT)).isTrue();
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isEqualTo(soon);
    }

    @Test
    void lastOfWhatMayRun_isTheLaterOfCopiesAndOfWhatIsUnderWay() {
        answer(question(1, false), ThreeMasters.unanswered(true));
        votes.asking(new UnansweredVotes.Question(ATTEMPT, 2, false, 30_000, soon - SECOND));
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isEqualTo(soon);
        votes.asking(new UnansweredVotes.Question(ATTEMPT, 3, false, 30_000, soon + SECOND));
        assertThat(votes.mayRunUntilNanos(ATTEMPT)).isEqualTo(soon + SECOND);
    }

    @Test
    void attempt_isForgottenWithItsLease() {
        long past = System.nanoTime() - 3 * SECOND;
        votes.asking(new UnansweredVotes.Question(1, 1, false, 2_999, past));
        votes.asking(new UnansweredVotes.Question(2, 1, false, 60_000, past));
        votes.asking(new UnansweredVotes.Question(3, 1, false, 2_999, past));
        votes.asking(new UnansweredVotes.Question(3, 2, false, 60_000, past));
        votes.asking(new UnansweredVotes.Question(3, 3, false, 2_999, past));
        assertThat(votes.mayHave(1)).isFalse();
        assertThat(votes.mayHave(2)).isTrue();
        assertThat(votes.mayHave(3)).as("the longest counts").isTrue();
        assertThat(votes.size()).isEqualTo(2);
        votes.forget(3);
        assertThat(votes.mayHave(3)).isFalse();
    }

    @Test
    void attempt_isRememberedAsLongAsTheLongestThatItWasAskedFor() {
        long past = System.nanoTime() - SECOND;
        for (long attempt : List.of(1L, 2L, 3L)) {
            votes.asking(new UnansweredVotes.Question(attempt, 1, false, 1_200, past));
        }
        votes.asking(new UnansweredVotes.Question(2, 2, false, 60_000, past));
        votes.renewed(new UnansweredVotes.Question(3, 2, false, 60_000, past));
        await().until(() -> !votes.mayHave(1));
        assertThat(votes.mayHave(2)).isTrue();
        assertThat(votes.mayHave(3)).isTrue();
    }
}
