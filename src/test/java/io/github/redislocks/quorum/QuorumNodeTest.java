package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Holds;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A master of a quorum: the outcome of each question of a batch, whatever happens to the others. */
@Timeout(30)
class QuorumNodeTest extends OneMaster {

    private final long deadline = System.nanoTime() + 10 * SECOND;

    private NotedQuestion question() {
        return new NotedQuestion(keys);
    }

    private void heardItsOwnAnswer(NotedQuestion question) {
        assertThat(question.outcome(deadline).reply()).isNotNull();
    }

    /** At once, not at the deadline. A question that an error left open may have run. */
    @Test
    void question_throwsAtItsAnswer_leavesNoOtherWithoutAnOutcome() {
        NotedQuestion before = question();
        NotedQuestion after = question();
        Poll broken = new NotedQuestion(keys) {
            @Override
            public void settled(PolledMaster from, long mayRunUntilNanos, Outcome outcome) {
                throw new InternalError("of the test");
            }
        };
        node.ask(List.of(before, broken, after), deadline, true);
        heardItsOwnAnswer(before);
        assertThat(after.outcome(deadline).failure())
                .isInstanceOfSatisfying(
                        RedisException.Unanswered.class,
                        failure -> assertThat(failure.sent()).isTrue());
        assertThat(broken.await(deadline, LockSupport::parkNanos).outcome().reply())
                .isNotNull();
    }

    @Test
    void question_throwsAtItsFailure_leavesNoOtherWithoutAnOutcome() {
        NotedQuestion after = question();
        Poll broken = new NotedQuestion(keys) {
            @Override
            public void settled(PolledMaster from, long mayRunUntilNanos, Outcome outcome) {
                throw new InternalError("of the test");
            }
        };
        master.down(true);
        node.ask(List.of(broken, after), deadline, true);
        assertThat(after.outcome(deadline).failure()).isInstanceOf(RedisException.Unanswered.class);
    }

    @Test
    void check_unanswered_leavesTheOthersTheirAnswers() {
        server.checkOnce(SECOND);
        master.promoteReplica(true);
        master.failNext(call -> call.script().name().equals("check"), Fault.REQUEST_LOST);
        NotedQuestion before = question();
        NotedQuestion after = question();
        Poll vote = new VotePoll(calls, candidate, 1);
        node.ask(List.of(before, vote, after), deadline, true);
        assertThat(vote.await(deadline, LockSupport::parkNanos).outcome().failure())
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("broke during check");
        heardItsOwnAnswer(before);
        heardItsOwnAnswer(after);
    }

    /** The remembered refusal does not mean that the server answers. */
    @Test
    void serverWithAnObjection_away_doesNotCountAsAnswering() {
        master.replica(true);
        NotedQuestion replica = question();
        node.ask(List.of(replica), deadline, false);
        assertThat(replica.outcome(deadline).failure()).hasMessageContaining("is a replica");
        node.health.note(List.of(Outcome.of(new RedisException.Unanswered("away", true, null))), SECOND);
        Awaitility.await().until(() -> {
            NotedQuestion again = question();
            node.ask(List.of(again), deadline, false);
            return again.outcome(deadline).failure() instanceof RedisException.Refused;
        });
        assertThat(node.health.isSound()).isFalse();
    }

    @Test
    void questions_whileOneIsUnderWay_areAskedByTheSameThread() {
        HeldCalls held = master.hold(call -> call.script().name().equals("locked"));
        NotedQuestion first = question();
        node.ask(List.of(first), deadline, false);
        held.awaitParked(1, Duration.ofSeconds(10));
        List<NotedQuestion> others = Stream.generate(this::question).limit(100).toList();
        others.forEach(question -> node.ask(List.of(question), deadline, false));
        held.release();
        heardItsOwnAnswer(first);
        others.forEach(this::heardItsOwnAnswer);
        assertThat(node.calls.getLargestPoolSize()).isEqualTo(1);
    }

    /** The watchdog had found the hold open, and sent the renewal when the release had been made. */
    @Test
    void release_madeBeforeARenewalThatRanFirst_freesTheLock() {
        server.checkOnce(SECOND);
        QuorumCalls.At at = new QuorumCalls.At(server.runId(), server.votesFromMicros(), Long.MAX_VALUE / 4);
        master.run(calls.vote(candidate, calls.nextBallot(), 1, at), SECOND);
        Holds.Released held = new Holds.Released(keys, candidate.owner(), candidate.attempt(), 0, 0);
        Call release = calls.poll(Scripts.releaseAgain(held)).call(node, server.runId(), 0, 0);
        Reply renewed = master.run(calls.renewal(candidate, calls.nextBallot(), 1, 0, at), SECOND);
        assertThat(renewed.code()).isEqualTo("VOTED");
        assertThat(master.run(release, SECOND).code()).isEqualTo("ENDED");
        assertThat(master.hash(keys.lock())).isEmpty();
    }

    @Test
    void withdrawal_voteOfTheSameAttemptUnderWay_isSentOnce() {
        HeldCalls held = master.hold(call -> call.script().name().equals("vote"));
        node.ask(List.of(new VotePoll(calls, candidate, 1)), deadline, false);
        assertWithdrawnOnce(held);
    }

    @Test
    void withdrawal_voteOfTheSameAttemptWaiting_isSentOnce() {
        HeldCalls held = master.hold(call -> call.script().name().equals("locked"));
        node.ask(List.of(question()), deadline, false);
        held.awaitParked(1, Duration.ofSeconds(10));
        node.ask(List.of(new VotePoll(calls, candidate, 1)), deadline, false);
        assertWithdrawnOnce(held);
    }

    /** The connection breaks once more, before the late request can be sent again. */
    @Test
    void vote_givenToTheFirstCopy_secondCopyLate_isWithdrawn() {
        server.checkOnce(SECOND);
        master.failNext(call -> call.script().name().equals("vote"), Fault.SENT_AGAIN_LATE);
        master.failNext(call -> call.script().name().equals("vote"), Fault.REFUSED_CONNECTION);
        VotePoll vote = new VotePoll(calls, candidate, 1);
        node.ask(List.of(vote), deadline, false);
        assertThat(vote.await(deadline, LockSupport::parkNanos).outcome().failure())
                .isNotNull();
        assertThat(master.hash(keys.lock())).as("the vote of the first copy").isNotEmpty();
        WithdrawPoll withdrawal = new WithdrawPoll(
                calls,
                new Withdrawal(
                        candidate.keys(),
                        candidate.owner(),
                        candidate.attempt(),
                        calls.nextBallot(),
                        Withdrawal.End.UNHELD,
                        Withdrawal.Place.DROP));
        node.ask(List.of(withdrawal), deadline, false);
        // At once, or by a retry if the master still counts as away.
        Awaitility.await().until(() -> master.hash(keys.lock()).isEmpty());
    }

    /** The first copy got the vote, or the last one did: the reply does not say which. */
    @Test
    void answer_afterALateCopy_saysThatAnEarlierCopyMayHaveRun() {
        server.checkOnce(SECOND);
        master.failNext(call -> call.script().name().equals("vote"), Fault.SENT_AGAIN_LATE);
        RenewPoll renewal = new RenewPoll(calls, Inspections.locked(keys), candidate, 1, RenewPoll.Round.NONE);
        node.ask(List.of(renewal), deadline, false);
        Reply reply = renewal.await(deadline, LockSupport::parkNanos).outcome().reply();
        assertThat(reply).isNotNull();
        assertThat(reply.resent()).isTrue();
    }

    private void assertWithdrawnOnce(HeldCalls held) {
        held.awaitParked(1, Duration.ofSeconds(10));
        WithdrawPoll withdrawal = new WithdrawPoll(
                calls,
                new Withdrawal(
                        candidate.keys(),
                        candidate.owner(),
                        candidate.attempt(),
                        calls.nextBallot(),
                        Withdrawal.End.RELEASED,
                        Withdrawal.Place.DROP));
        node.ask(List.of(withdrawal), deadline, false);
        held.release();
        assertThat(withdrawal.await(deadline, LockSupport::parkNanos).outcome().reply())
                .isNotNull();
        assertThat(node.remembered()).isZero();
        assertThat(master.hash(keys.lock())).isEmpty();
    }
}
