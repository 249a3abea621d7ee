package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node to which callers submit calls. The test decides when they are answered, and how. */
@Timeout(30)
class QuickNodeTest {

    private static final long SECOND = 1_000_000_000;
    private static final long LEASE_MILLIS = 60_000;

    private final LockKeys keys = LockKeys.of("redis-locks:quorum", "job");
    private final InMemoryRedis master = new InMemoryRedis();
    private final QuickMaster quick = new QuickMaster(master);
    private final QuorumCalls calls = new QuorumCalls(1);
    private final VotePoll.Candidate candidate =
            new VotePoll.Candidate(keys.all(), "client:1", 7, LEASE_MILLIS, 0, 0, "OK");
    private final QuorumServer server = new QuorumServer(quick, "redis-locks:quorum", 0, 0, new ConcurrentHashMap<>());
    private final RetryTimer timer = new RetryTimer(Threads.DAEMONS);
    private final QuorumNode node = new QuorumNode(0, server, Settings.DEFAULTS, calls, timer, Threads.DAEMONS);
    private final long deadline = System.nanoTime() + 20 * SECOND;

    /** Keeps the submitted calls until the test answers them. */
    private static final class QuickMaster extends ForwardingRedis {

        private record Submitted(List<Call> calls, Consumer<@Nullable List<Outcome>> receiver) {}

        private final BlockingQueue<Submitted> submitted = new LinkedBlockingQueue<>();
        private volatile @Nullable Error error;

        QuickMaster(InMemoryRedis master) {
            super(master);
        }

        @Override
        public boolean submit(
                String server, List<Call> some, long timeoutNanos, Consumer<@Nullable List<Outcome>> receiver) {
            Error thrown = error;
            if (thrown != null) {
                throw thrown;
            }
            return submitted.add(new Submitted(some, receiver));
        }

        private Submitted next() {
            try {
                Submitted next = submitted.poll(10, TimeUnit.SECONDS);
                assertThat(next).as("a batch submitted within 10 s").isNotNull();
                return next;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        /** Answers the oldest submitted calls with the replies of the master; returns the names of their scripts. */
        private List<String> answer() {
            Submitted next = next();
            next.receiver().accept(runAll(next.calls(), SECOND));
            return next.calls().stream().map(call -> call.script().name()).toList();
        }
    }

    @BeforeEach
    void look() {
        server.checkOnce(SECOND);
    }

    @AfterEach
    void close() {
        timer.close();
        node.shutDown(System.nanoTime() + SECOND);
        node.close(System.nanoTime() + SECOND);
    }

    private NotedQuestion ask() {
        NotedQuestion question = new NotedQuestion(keys);
        node.ask(List.of(question), deadline, false);
        return question;
    }

    private WithdrawPoll withdrawal() {
        return new WithdrawPoll(
                calls,
                new Withdrawal(
                        candidate.keys(),
                        candidate.owner(),
                        candidate.attempt(),
                        calls.nextBallot(),
                        Withdrawal.End.RELEASED,
                        Withdrawal.Place.DROP));
    }

    @Test
    void answer_reachesThePollWithoutAThreadOfTheNode() {
        NotedQuestion question = ask();
        quick.answer();
        assertThat(question.outcome(deadline).reply()).isNotNull();
        assertThat(node.calls.getLargestPoolSize()).isZero();
    }

    @Test
    void questions_whileOneIsUnderWay_areSubmittedTogetherAfterIt() {
        NotedQuestion first = ask();
        List<NotedQuestion> others = List.of(ask(), ask(), ask());
        assertThat(quick.submitted).hasSize(1);
        quick.answer();
        assertThat(quick.answer()).hasSize(3);
        assertThat(first.outcome(deadline).reply()).isNotNull();
        assertThat(others)
                .allSatisfy(other -> assertThat(other.outcome(deadline).reply()).isNotNull());
        assertThat(node.calls.getLargestPoolSize()).isZero();
    }

    @Test
    void withdrawal_voteOfTheSameAttemptUnderWay_isSubmittedAfterItsAnswer() {
        node.ask(List.of(new VotePoll(calls, candidate, 1)), deadline, false);
        WithdrawPoll withdrawal = withdrawal();
        node.ask(List.of(withdrawal), deadline, false);
        assertThat(quick.answer()).containsExactly("vote");
        assertThat(quick.answer()).containsExactly("withdraw");
        assertThat(withdrawal.await(deadline, LockSupport::parkNanos).outcome().reply())
                .isNotNull();
        assertThat(node.remembered()).isZero();
        assertThat(master.hash(keys.lock())).isEmpty();
    }

    @Test
    void withdrawal_besideTheVoteOfTheSameAttempt_isNotInItsPipeline() {
        ask();
        node.ask(List.of(new VotePoll(calls, candidate, 1)), deadline, false);
        node.ask(List.of(withdrawal()), deadline, false);
        assertThat(quick.answer()).containsExactly("locked");
        assertThat(quick.answer()).containsExactly("vote");
        assertThat(quick.answer()).containsExactly("withdraw");
        await().until(() -> node.remembered() == 0);
    }

    /** The first copy may have run, so the answer to the second copy does not say that it has not. */
    @Test
    void connectionThatBreaks_isAskedAgainByAThreadOfTheNode() {
        RenewPoll renewal = new RenewPoll(calls, Inspections.locked(keys), candidate, 1, RenewPoll.Round.NONE);
        node.ask(List.of(renewal), deadline, false);
        quick.next().receiver().accept(null);
        Reply reply = renewal.await(deadline, LockSupport::parkNanos).outcome().reply();
        assertThat(reply).isNotNull();
        assertThat(reply.resent()).isTrue();
        assertThat(node.calls.getLargestPoolSize()).isEqualTo(1);
    }

    @Test
    void connectionThatBreaks_andAServerThatIsAway_mayHaveGivenTheVote() {
        VotePoll vote = new VotePoll(calls, candidate, 1);
        node.ask(List.of(vote), deadline, false);
        master.down(true);
        quick.next().receiver().accept(null);
        assertThat(vote.await(deadline, LockSupport::parkNanos).outcome().failure())
                .isNotNull();
        assertThat(node.unanswered.mayHaveVote(candidate.attempt())).isTrue();
        assertThat(node.health.isSound()).isFalse();
    }

    @Test
    void noAnswerInTime_isReported_andTheNodeIsAskedSlowlyUntilItAnswers() {
        NotedQuestion lost = ask();
        RedisException silence = new RedisException.Unanswered("of the test", true, null);
        quick.next().receiver().accept(List.of(Outcome.of(silence)));
        assertThat(lost.outcome(deadline).failure()).hasMessageContaining("of the test");
        await().until(() -> !node.health.isSound());
        await().until(() -> {
            NotedQuestion next = ask();
            return next.outcome(deadline).reply() != null;
        });
        NotedQuestion quickly = ask();
        quick.answer();
        assertThat(quickly.outcome(deadline).reply()).isNotNull();
    }

    /** A vote that was sent must not count as unsent, whatever is known of the node since. */
    @Test
    void noAnswerInTime_ofANodeThatHasFailedMeanwhile_mayHaveGivenTheVote() {
        VotePoll vote = new VotePoll(calls, candidate, 1);
        node.ask(List.of(vote), deadline, false);
        RedisException silence = new RedisException.Unanswered("of the test", true, null);
        // As a call in the background would; then another call probes the node.
        node.health.note(List.of(Outcome.of(silence)), SECOND);
        await().until(() -> node.health.enter(System.nanoTime(), SECOND));
        quick.next().receiver().accept(List.of(Outcome.of(silence)));
        assertThat(vote.await(deadline, LockSupport::parkNanos).outcome().failure())
                .isNotNull();
        assertThat(node.unanswered.mayHaveVote(candidate.attempt())).isTrue();
    }

    /** The news that the node is back is logged, which may take long. */
    @Test
    void answer_nodeHasFailedMeanwhile_isHandledByAThreadOfTheNode() {
        NotedQuestion question = ask();
        node.health.note(List.of(Outcome.of(new RedisException.Unanswered("of the test", true, null))), SECOND);
        quick.answer();
        assertThat(question.outcome(deadline).reply()).isNotNull();
        assertThat(node.calls.getLargestPoolSize()).isEqualTo(1);
        assertThat(node.health.isSound()).isTrue();
    }

    @Test
    void vote_late_isAskedForAgain() {
        master.failNext(call -> call.script().name().equals("vote"), Fault.SENT_AGAIN_LATE);
        VotePoll vote = new VotePoll(calls, candidate, 1);
        node.ask(List.of(vote), deadline, false);
        quick.answer();
        assertThat(vote.await(deadline, LockSupport::parkNanos).outcome().reply())
                .isNotNull();
        assertThat(master.hash(keys.lock())).isNotEmpty();
    }

    @Test
    void send_meetsAnError_answersTheQuestionAndHoldsUpNobody() {
        quick.error = new OutOfMemoryError("of the test");
        NotedQuestion question = new NotedQuestion(keys);
        assertThatThrownBy(() -> node.ask(List.of(question), deadline, false)).isSameAs(quick.error);
        assertThat(question.outcome(deadline).failure())
                .isInstanceOfSatisfying(
                        RedisException.Unanswered.class,
                        failure -> assertThat(failure.sent()).isTrue());
        quick.error = null;
        NotedQuestion next = ask();
        quick.answer();
        assertThat(next.outcome(deadline).reply()).isNotNull();
    }

    @Test
    void questionThatThrows_holdsUpNobody() {
        Poll broken = new MajorityPoll(1, Inspections.locked(keys), Set.of("FREE"), "FREE", Long.MAX_VALUE) {
            @Override
            public void settled(PolledMaster from, long mayRunUntilNanos, Outcome outcome) {
                throw new InternalError("of the test");
            }
        };
        node.ask(List.of(broken), deadline, false);
        NotedQuestion next = ask();
        assertThatThrownBy(quick::answer).isInstanceOf(InternalError.class);
        quick.answer();
        assertThat(next.outcome(deadline).reply()).isNotNull();
    }

    @Test
    void close_waitsForWhatIsUnderWayAndWhatWaits() throws Exception {
        node.ask(List.of(new VotePoll(calls, candidate, 1)), deadline, false);
        node.ask(List.of(withdrawal()), deadline, false);
        node.shutDown(System.nanoTime() + SECOND);
        NotedQuestion late = ask();
        assertThat(late.outcome(deadline).failure()).hasMessageContaining("closed");
        CountDownLatch closed = new CountDownLatch(1);
        Thread closing = new Thread(() -> {
            node.close(deadline);
            closed.countDown();
        });
        closing.start();
        quick.answer();
        assertThat(closed.getCount()).isEqualTo(1);
        quick.answer();
        assertThat(closed.await(10, TimeUnit.SECONDS)).isTrue();
        closing.join();
    }
}
