package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One master of a quorum: what each question of a batch hears, whatever befalls the others. */
@Timeout(30)
class QuorumNodeTest extends OneMaster {

    private final long deadline = System.nanoTime() + 10 * SECOND;

    private NotedQuestion question() {
        return new NotedQuestion(keys);
    }

    private void heardItsOwnAnswer(NotedQuestion question) {
        assertThat(question.outcome(deadline).reply()).isNotNull();
    }

    /** Not only at the deadline. What an error left open may have run. */
    @Test
    void questionThatThrows_whenItIsAnswered_leavesNoOtherWithoutAnOutcome() {
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
    void questionThatThrows_whenNothingWasSent_leavesNoOtherWithoutAnOutcome() {
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
    void serverThatIsMetAndDoesNotSayWhatItIs_leavesTheOthersTheirAnswers() {
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
    void serverToWhichThereIsAnObjection_andThatIsAway_isNotTakenForOneThatAnswers() {
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
    void questionsThatCome_whileOneIsUnderWay_areAskedByTheSameThread() {
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

    @Test
    void withdrawal_behindTheVoteOfTheSameAttemptThatIsUnderWay_isAskedOnce() {
        HeldCalls held = master.hold(call -> call.script().name().equals("vote"));
        node.ask(List.of(new VotePoll(calls, candidate, 1)), deadline, false);
        assertWithdrawnOnce(held);
    }

    @Test
    void withdrawal_behindTheVoteOfTheSameAttemptThatWaits_isAskedOnce() {
        HeldCalls held = master.hold(call -> call.script().name().equals("locked"));
        node.ask(List.of(question()), deadline, false);
        held.awaitParked(1, Duration.ofSeconds(10));
        node.ask(List.of(new VotePoll(calls, candidate, 1)), deadline, false);
        assertWithdrawnOnce(held);
    }

    /** The connection breaks once more, before what was late can be sent again. */
    @Test
    void vote_givenToAFirstCopy_ofWhichTheSecondWasLate_isWithdrawn() {
        server.checkOnce(SECOND);
        master.failNext(call -> call.script().name().equals("vote"), Fault.SENT_AGAIN_LATE);
        master.failNext(call -> call.script().name().equals("vote"), Fault.REFUSED_CONNECTION);
        VotePoll vote = new VotePoll(calls, candidate, 1);
        node.ask(List.of(vote), deadline, false);
        assertThat(vote.await(deadline, LockSupport::parkNanos).outcome().failure())
                .isNotNull();
        assertThat(master.hash(keys.lock())).as("what the first copy left").isNotEmpty();
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
        // At once, or by a retry if the master is taken to be away still.
        Awaitility.await().until(() -> master.hash(keys.lock()).isEmpty());
    }

    /** The first copy was given the vote, and the last one found it: which of the two is not known. */
    @Test
    void answer_behindASecondCopyThatWasLate_saysThatAnEarlierOneMayHaveRun() {
        server.checkOnce(SECOND);
        master.failNext(call -> call.script().name().equals("vote"), Fault.SENT_AGAIN_LATE);
        RenewPoll renewal = new RenewPoll(calls, Scripts.locked(keys), candidate, 1, RenewPoll.Round.NONE);
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
