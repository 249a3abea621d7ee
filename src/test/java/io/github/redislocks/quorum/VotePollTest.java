package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The results of the votes of three masters. */
class VotePollTest extends ThreeMasters {

    private final VotePoll poll = new VotePoll(calls, candidate, 30);

    private static Reply taken(String owner, long pttl) {
        return new Reply("TAKEN", List.of(owner, pttl, 1L));
    }

    private static Reply young(long wait) {
        return new Reply("YOUNG", List.of(wait, 1L));
    }

    private static Poll.@Nullable Result judge(Poll poll, boolean closed, @Nullable Reply... replies) {
        return poll.judge(new Poll.Answers(
                Arrays.stream(replies)
                        .map(reply -> reply == null ? null : Outcome.of(reply))
                        .toList(),
                closed));
    }

    private static Outcome ok(long token) {
        return Outcome.of(new Reply("OK", List.of(token, 0L, QuorumCalls.NOW)));
    }

    private static Outcome busy(long wait) {
        return Outcome.of(new Reply("BUSY", List.of(wait, QuorumCalls.NOW)));
    }

    @Test
    void majorityWithOneToken_hasWon() {
        assertThat(judge(poll, false, voted(30, 0, 0), null, voted(30, 0, 0)).outcome())
                .isEqualTo(ok(30));
        assertThat(judge(poll, false, voted(30, 0, 0), null, taken("a:1", 1))).isNull();
        assertThat(judge(poll, false, null, null, taken("a:1", 1))).isNull();
    }

    @Test
    void majorityWithSeveralTokens_isAskedForTheGreatest() {
        Poll.Result first = judge(poll, false, voted(30, 0, 0), voted(40, 0, 0), taken("a:1", 1));
        assertThat(first.outcome()).isEqualTo(busy(0));
        assertThat(first.after()).isNull();
        assertThat(first.split()).isFalse();
        Poll second = first.next();
        assertThat(second.call(node, "", 0, 0).args().get(5)).isEqualTo("40");
        assertThat(second.call(node, "", 0, 0).args().get(2))
                .as("the same ballot")
                .isEqualTo(poll.call(node, "", 0, 0).args().get(2));
        assertThat(judge(second, true, voted(40, 0, 0), voted(40, 0, 0), null).outcome())
                .isEqualTo(ok(40));
        Poll.Result another = judge(second, true, voted(40, 0, 0), voted(41, 0, 0), null);
        assertThat(another.next()).as("a vote with another token is none").isNull();
        assertThat(another.split()).isTrue();
    }

    @Test
    void laterAttemptOfTheSameOwner_makesThisOneStale() {
        Reply stale = new Reply("STALE", List.of());
        assertThat(judge(poll, false, stale, stale, null).outcome()).isEqualTo(Outcome.of(stale));
        assertThat(judge(poll, false, stale, null, null)).isNull();
    }

    @Test
    void lockOfAnother_isFreeOnceEnoughOfItsVotesHaveExpired() {
        assertThat(judge(poll, false, taken("a:1", 70), taken("a:1", 50), null).outcome())
                .as("two are wanted")
                .isEqualTo(busy(70));
        assertThat(judge(poll, true, taken("a:1", 70), taken("a:1", 50), taken("a:1", 90))
                        .outcome())
                .isEqualTo(busy(70));
        assertThat(judge(poll, true, taken("a:1", 70), taken("a:1", 50), voted(30, 0, 0))
                        .outcome())
                .as("one vote is here")
                .isEqualTo(busy(50));
    }

    @Test
    void lockWithoutAMajority_isBusyForAMomentOnceNobodyElseMayAnswer() {
        assertThat(judge(poll, false, taken("a:1", 70), taken("b:1", 50), null)).isNull();
        Poll.Result split = judge(poll, true, taken("a:1", 70), taken("b:1", 50), null);
        assertThat(split.split()).isTrue();
        assertThat(split.outcome().reply().number(0)).isBetween(1L, 20L);
        assertThat(split.after()).isInstanceOf(WithdrawPoll.class);
    }

    @Test
    void waiterThatWantsAPlace_isQueued() {
        VotePoll.Candidate waiter = new VotePoll.Candidate(keys.all(), "client:1", ATTEMPT, 3_000, 500, 0, "OK");
        VotePoll queueing = new VotePoll(calls, waiter, 30);
        assertThat(judge(queueing, true, taken("a:1", 70), taken("a:1", 50), null)
                        .outcome())
                .isEqualTo(Outcome.of(new Reply("QUEUED", List.of(0L, 70L, QuorumCalls.NOW))));
        assertThat(waiter.question(1, 2).place()).isTrue();
        assertThat(candidate.question(1, 2).place()).isFalse();
    }

    @Test
    void mastersThatHaveJustStarted_sayWhenAsManyVoteAsAreWanted() {
        assertThat(unready(voted(30, 0, 0), young(70), young(50))).isEqualTo(50);
        assertThat(unready(young(90), young(70), young(50))).isEqualTo(70);
        assertThat(unready(taken("a:1", 1), young(70), young(50))).isEqualTo(50);
        assertThat(unready(voted(30, 0, 0), young(70), null)).isEqualTo(70);
        assertThat(judge(poll, true, young(70), null, null).outcome().failure())
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageStartingWith("the lock needs 2 of 3 masters: 2 did not answer in time");
    }

    private long unready(@Nullable Reply... replies) {
        Poll.Result result = judge(poll, true, replies);
        assertThat(result.after()).isInstanceOf(WithdrawPoll.class);
        assertThat(result.outcome().failure())
                .hasMessageContainingAll("the lock needs 2 of 3 masters: ", "one has just started");
        return ((RedisException.Unready) result.outcome().failure()).waitMillis();
    }

    @Test
    void stragglers_areWaitedForThriceAsLongAsTheMajority() {
        assertThat(poll.stragglersNanos(1)).isEqualTo(20_000_000);
        assertThat(poll.stragglersNanos(SECOND)).isEqualTo(3 * SECOND);
        assertThat(poll.patienceNanos()).isEqualTo(QuorumCalls.patienceNanos(3_000));
    }

    /** A master that gives no vote does not end the wait for a slower one. */
    @Test
    void masterJustStarted_countsAsAwayForTheWait() {
        long deadline = System.nanoTime() + 10 * poll.stragglersNanos(0);
        poll.answered(nodes.get(0), Outcome.of(young(70)));
        poll.answered(nodes.get(1), Outcome.of(voted(30, 0, 0)));
        assertThat(poll.await(deadline, LockSupport::parkNanos).outcome().failure())
                .isInstanceOf(RedisException.Unready.class);
        assertThat(System.nanoTime() - deadline).isNotNegative();
    }

    @Test
    void majorityThatHasJustStarted_isNotWaitedForTheOthers() {
        assertThat(judge(poll, false, young(90), null, young(70)).outcome().failure())
                .isInstanceOf(RedisException.Unready.class);
    }

    @Test
    void vote_isRememberedFromTheAskingToTheAnswer() {
        long until = System.nanoTime() + 10 * SECOND;
        poll.asking(node, until);
        assertThat(node.unanswered.mayRunUntilNanos(ATTEMPT)).isEqualTo(until);
        poll.settled(node, until, Outcome.of(taken("a:1", 1)));
        assertThat(node.remembered()).isZero();
    }

    @Test
    void renewal_isRememberedFromTheAskingToTheAnswer() {
        RenewPoll renewal = new RenewPoll(calls, poll.call(node, "", 0, 0), candidate, 30, RenewPoll.Round.NONE);
        long until = System.nanoTime() + 10 * SECOND;
        renewal.asking(node, until);
        assertThat(node.unanswered.mayRunUntilNanos(ATTEMPT)).isEqualTo(until);
        renewal.settled(node, until, Outcome.of(taken("a:1", 1)));
        assertThat(node.remembered()).isZero();
    }
}
