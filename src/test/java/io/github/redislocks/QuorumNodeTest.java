package io.github.redislocks;

import static io.github.redislocks.QuorumTwins.script;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.twin.Fault;
import io.github.redislocks.fixture.twin.InMemoryRedis;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One master of a quorum: what each question of a batch hears, whatever befalls the others. */
@Timeout(30)
class QuorumNodeTest {

    private static final long SECOND = 1_000_000_000;
    private static final long DELAY_MILLIS = 3_000;
    /** So long that no vote is late on a busy machine. */
    private static final long LEASE_MILLIS = 60_000;

    private static final long HOUR_MILLIS = 3_600_000;

    private final QuorumCalls calls = new QuorumCalls(1, DELAY_MILLIS);
    private final Keys keys = Keys.of("redis-locks:quorum", "job");
    private final InMemoryRedis master = new InMemoryRedis();
    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
    private final QuorumServer server =
            new QuorumServer(master, "redis-locks:quorum", DELAY_MILLIS, new ConcurrentHashMap<>());
    private final QuorumNode node = new QuorumNode(0, server, LockOptions.DEFAULTS, calls, scheduler);
    private final long deadline = System.nanoTime() + 10 * SECOND;

    @BeforeEach
    void runForLong() {
        master.restart();
        master.stepMillis(HOUR_MILLIS);
    }

    @AfterEach
    void close() {
        scheduler.shutdownNow();
        node.shutDown();
        node.close(System.nanoTime() + SECOND);
    }

    /** Asks whether the lock is held, and notes each outcome that it is told. */
    private class Question extends Affirmation {

        final List<Outcome> told = new CopyOnWriteArrayList<>();

        Question() {
            super(1, Protocol.locked(keys), Set.of("FREE"), "FREE", Long.MAX_VALUE);
        }

        @Override
        void asked(QuorumNode from, long quietFromNanos, Outcome outcome) {
            told.add(outcome);
        }

        private void heardItsOwnAnswer() {
            assertThat(await(deadline).outcome().reply()).isNotNull();
            assertThat(told).hasSize(1);
        }
    }

    @Test
    void questionThatThrows_whenItIsTold_leavesTheOthersTheirAnswers() {
        Question before = new Question();
        Question after = new Question();
        Poll broken = new Question() {
            @Override
            void asked(QuorumNode from, long quietFromNanos, Outcome outcome) {
                throw new InternalError("of the test");
            }
        };
        node.ask(List.of(before, broken, after), deadline, true);
        before.heardItsOwnAnswer();
        after.heardItsOwnAnswer();
        assertThat(broken.await(deadline).outcome().reply()).isNotNull();
    }

    @Test
    void questionThatThrows_whenNothingWasSent_leavesTheOthersTheirAnswers() {
        Question after = new Question();
        Poll broken = new Question() {
            @Override
            void asked(QuorumNode from, long quietFromNanos, Outcome outcome) {
                throw new InternalError("of the test");
            }
        };
        master.down(true);
        node.ask(List.of(broken, after), deadline, true);
        assertThat(after.await(deadline).outcome().failure()).hasMessageContaining("Connection refused");
        assertThat(after.told).hasSize(1);
    }

    @Test
    void serverThatIsMetAndDoesNotSayWhatItIs_leavesTheOthersTheirAnswers() {
        server.checkOnce(SECOND);
        master.promoteReplica(true);
        master.failNext(script("check"), Fault.REQUEST_LOST);
        Question before = new Question();
        Question after = new Question();
        Poll vote = new Vote(calls, new Vote.Candidate(keys.all(), "client:1", 7, LEASE_MILLIS, null, "0", "OK"), 1);
        node.ask(List.of(before, vote, after), deadline, true);
        assertThat(vote.await(deadline).outcome().failure())
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("broke during check");
        before.heardItsOwnAnswer();
        after.heardItsOwnAnswer();
    }
}
