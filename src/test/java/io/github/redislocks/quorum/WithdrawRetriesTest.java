package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a withdrawal that did not reach a master is repeated. The test acts as the timer. */
@Timeout(30)
class WithdrawRetriesTest extends ThreeMasters {

    private final WithdrawRetries waiting = new WithdrawRetries(node, calls, timer);
    private final long past = System.nanoTime() - SECOND;

    private Withdrawal order(long attempt, long ballot) {
        return new Withdrawal(keys.all(), "client:1", attempt, ballot, Withdrawal.End.LOST, Withdrawal.Place.DROP);
    }

    private void remember(long attempt) {
        node.unanswered.renewed(new UnansweredVotes.Question(attempt, 1, false, 60_000, System.nanoTime()));
    }

    private void add(long attempt, long notBefore) {
        remember(attempt);
        waiting.add(order(attempt, 2), notBefore);
    }

    /** Runs the tasks that the timer has. */
    private void fire() {
        List<Runnable> due = List.copyOf(retries);
        retries.clear();
        due.forEach(Runnable::run);
    }

    private void assertWithdrawn(long attempt) {
        Awaitility.await().until(() -> !node.unanswered.mayHave(attempt));
    }

    @Test
    void withdrawals_areSentTogetherOnceTheyAreDue() {
        long inAnHour = System.nanoTime() + 3_600 * SECOND;
        add(1, past);
        add(2, past);
        add(3, inAnHour);
        assertThat(retries).as("one task for all withdrawals").hasSize(1);
        fire();
        assertWithdrawn(1);
        assertWithdrawn(2);
        assertThat(node.unanswered.mayHave(3)).isTrue();
        assertThat(waiting.size()).isEqualTo(1);
        assertThat(retries).as("for what is left").hasSize(1);
    }

    @Test
    void timer_isNotSetOnceNothingIsLeft() {
        waiting.resume();
        assertThat(retries).isEmpty();
        add(1, past);
        fire();
        assertWithdrawn(1);
        assertThat(retries).isEmpty();
        assertThat(waiting.size()).isZero();
    }

    @Test
    void withdrawal_ofWhatTheMasterHasNotGotAnyMore_isNotSent() {
        add(1, past);
        node.unanswered.forget(1);
        fire();
        assertThat(waiting.size()).isZero();
        assertThat(redis.log().count("withdraw")).isZero();
    }

    @Test
    void withdrawal_ofALaterBallot_takesThePlaceOfAnEarlierOne() {
        remember(1);
        waiting.add(order(1, 3), past);
        waiting.add(order(1, 2), System.nanoTime() + 3_600 * SECOND);
        assertThat(waiting.size()).isEqualTo(1);
        fire();
        assertWithdrawn(1);
    }

    @Test
    void withdrawal_ofTheSameBallot_takesTheTimeOfTheLast() {
        remember(1);
        waiting.add(order(1, 2), System.nanoTime() + 3_600 * SECOND);
        waiting.add(order(1, 2), past);
        fire();
        assertWithdrawn(1);
    }

    @Test
    void withdrawals_areSentFiveHundredAtATime() {
        for (long attempt = 1; attempt <= 501; attempt++) {
            add(attempt, past);
        }
        fire();
        assertThat(waiting.size()).isEqualTo(1);
        Awaitility.await().until(() -> node.unanswered.size() == 1);
        fire();
        Awaitility.await().until(() -> node.unanswered.size() == 0);
        assertThat(waiting.size()).isZero();
    }

    @Test
    void withdrawalBeyondTheBound_isForgotten_butNotOneOfAnAttemptThatWaits() {
        for (long attempt = 1; attempt <= WithdrawRetries.MOST; attempt++) {
            waiting.add(order(attempt, 2), past);
        }
        add(1, past);
        add(WithdrawRetries.MOST + 1, past);
        assertThat(waiting.size()).isEqualTo(WithdrawRetries.MOST);
        assertThat(node.unanswered.mayHave(1)).isTrue();
        assertThat(node.unanswered.mayHave(WithdrawRetries.MOST + 1)).isFalse();
    }
}
