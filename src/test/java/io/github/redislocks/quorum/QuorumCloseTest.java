package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The votes that a closing quorum leaves on its masters. */
@Timeout(30)
class QuorumCloseTest {

    private static final long SECOND = ThreeMasters.SECOND;
    private static final Duration SOON = Duration.ofSeconds(10);

    private final LockKeys keys = LockKeys.of("redis-locks:quorum", "job");
    private final QuorumCalls calls = new QuorumCalls(3);
    private final VotePoll.Candidate candidate = new VotePoll.Candidate(keys.all(), "client:1", 7, 60_000, 0, 0, "OK");
    private final List<InMemoryRedis> masters =
            Stream.generate(InMemoryRedis::new).limit(3).toList();
    private final List<InMemoryRedis> servers =
            masters.stream().map(InMemoryRedis::another).toList();
    private final Quorum quorum = new Quorum(servers, Settings.DEFAULTS, 0);
    private final long deadline = System.nanoTime() + 20 * SECOND;

    @BeforeEach
    void meet() {
        quorum.nodes.forEach(node -> node.server.checkOnce(SECOND));
    }

    @AfterEach
    void close() {
        servers.forEach(InMemoryRedis::heal);
        masters.forEach(InMemoryRedis::close);
    }

    private void vote(int index) {
        quorum.nodes.get(index).ask(List.of(new VotePoll(calls, candidate, 1)), deadline, false);
    }

    private void voted(int index) {
        vote(index);
        await().until(() -> hasVoted(index));
    }

    private boolean hasVoted(int index) {
        return !masters.get(index).hash(keys.lock()).isEmpty();
    }

    private Withdrawal withdrawal() {
        return new Withdrawal(
                candidate.keys(),
                candidate.owner(),
                candidate.attempt(),
                calls.nextBallot(),
                Withdrawal.End.UNHELD,
                Withdrawal.Place.DROP);
    }

    @Test
    void close_whileAVoteIsToBeWithdrawnOnceMore_withdrawsIt() {
        voted(0);
        quorum.nodes.get(0).again(withdrawal(), System.nanoTime() + 3_600 * SECOND);
        quorum.close();
        assertThat(hasVoted(0)).isFalse();
    }

    @Test
    void close_whileAVoteIsUnderWay_withdrawsItWhenItHasBeenAnswered() {
        HeldCalls held = servers.get(0).hold(call -> call.script().name().equals("vote"));
        vote(0);
        held.awaitParked(1, SOON);
        QuorumNode node = quorum.nodes.get(0);
        node.shutDown(deadline);
        node.ask(List.of(new WithdrawPoll(calls, withdrawal())), deadline, false);
        held.release();
        quorum.close();
        assertThat(hasVoted(0)).isFalse();
    }

    @Test
    void close_whileOneMasterHangs_withdrawsFromTheOthers() {
        voted(1);
        voted(2);
        HeldCalls held = servers.get(0).hold(call -> true);
        vote(0);
        held.awaitParked(1, SOON);
        quorum.nodes.forEach(node -> node.again(withdrawal(), System.nanoTime()));
        quorum.close();
        assertThat(hasVoted(1)).isFalse();
        assertThat(hasVoted(2)).isFalse();
    }

    @Test
    void close_byAThreadThatIsInterrupted_withdrawsAndKeepsTheInterrupt() {
        voted(0);
        quorum.nodes.get(0).again(withdrawal(), System.nanoTime() + 3_600 * SECOND);
        Thread.currentThread().interrupt();
        quorum.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(hasVoted(0)).isFalse();
    }

    @Test
    void close_whileTheMasterIsAway_asksItOnce() {
        voted(0);
        QuorumNode node = quorum.nodes.get(0);
        servers.get(0).down(true);
        node.again(withdrawal(), System.nanoTime() + 3_600 * SECOND);
        quorum.close();
        assertThat(hasVoted(0)).isTrue();
        assertThat(node.unanswered.mayHave(candidate.attempt())).isTrue();
    }
}
