package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.fixture.twin.InMemoryRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which server behind one node of a quorum is asked for new votes, and from when on. */
@Timeout(30)
class QuorumServerTest {

    private static final long SECOND = 1_000_000_000;
    private static final long DELAY_MILLIS = 3_000;
    /** So long that no vote is late on a busy machine. */
    private static final long LEASE_MILLIS = 60_000;

    private static final long HOUR_MILLIS = 3_600_000;
    private static final long NEVER_LATE = Long.MAX_VALUE / 4;

    private final AtomicLong now = new AtomicLong(1);
    private final ConcurrentMap<String, Redis> known = new ConcurrentHashMap<>();
    private final QuorumCalls calls = new QuorumCalls(1, DELAY_MILLIS);
    private final Keys keys = Keys.of("redis-locks:quorum", "job");
    private final Call check = Protocol.check("redis-locks:quorum", "mailbox");
    private final Vote.Candidate candidate =
            new Vote.Candidate(keys.all(), "client:1", 7, LEASE_MILLIS, null, "0", "OK");
    private final InMemoryRedis master = new InMemoryRedis();
    private final QuorumServer server = new QuorumServer(master, "redis-locks:quorum", DELAY_MILLIS, known, now::get);
    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
    private final QuorumNode node = new QuorumNode(0, server, LockOptions.DEFAULTS, calls, scheduler);

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

    private Reply vote() {
        QuorumCalls.At at = new QuorumCalls.At(server.runId(), NEVER_LATE);
        return master.run(calls.vote(candidate, calls.nextBallot(), 1, at), SECOND);
    }

    private Outcome votedByTheNode() {
        long deadline = System.nanoTime() + 10 * SECOND;
        Poll poll = new Vote(calls, candidate, 1);
        node.ask(List.of(poll), deadline, false);
        return poll.await(deadline).outcome();
    }

    /** It may not know the votes that were given; what it does not know has ended after the delay. */
    private void givesNoVoteUntilTheDelayIsOver() {
        Reply other = vote();
        assertThat(other.code()).isEqualTo("OTHER");
        assertThat(server.meet(other.text(0), SECOND)).isEqualTo(DELAY_MILLIS);
        now.addAndGet(DELAY_MILLIS * 1_000_000 - 1);
        assertThat(server.meet(other.text(0), SECOND)).isEqualTo(1);
        assertThat(vote().code()).isEqualTo("OTHER");
        now.addAndGet(1);
        assertThat(server.meet(other.text(0), SECOND)).isZero();
        assertThat(vote().code()).isEqualTo("VOTED");
    }

    private void lookAgain() {
        now.addAndGet(11 * SECOND);
        server.checkOnce(SECOND);
    }

    private void isRefusedAsAReplica() {
        assertThatThrownBy(() -> server.checkOnce(SECOND))
                .isInstanceOf(RedisException.Refused.class)
                .hasMessageContaining("is a replica");
    }

    @Test
    void replicaAtFirst_thatIsPromoted_givesNoVoteUntilTheDelayIsOver() {
        master.replica(true);
        isRefusedAsAReplica();
        master.replica(false);
        lookAgain();
        givesNoVoteUntilTheDelayIsOver();
    }

    @Test
    void replicaMetInPlaceOfTheMaster_thatIsPromoted_givesNoVoteUntilTheDelayIsOver() {
        server.checkOnce(SECOND);
        master.promoteReplica(true);
        master.replica(true);
        Reply other = vote();
        assertThat(server.meet(other.text(0), SECOND)).isZero();
        isRefusedAsAReplica();
        now.addAndGet(DELAY_MILLIS * 1_000_000);
        master.replica(false);
        lookAgain();
        givesNoVoteUntilTheDelayIsOver();
    }

    @Test
    void masterThatBecameAReplica_andIsPromotedAgain_givesNoVoteUntilTheDelayIsOver() {
        server.checkOnce(SECOND);
        assertThat(vote().code()).isEqualTo("VOTED");
        master.flushAll();
        master.replica(true);
        assertThat(votedByTheNode().failure()).hasMessageContaining("READONLY");
        master.replica(false);
        server.checkOnce(SECOND);
        givesNoVoteUntilTheDelayIsOver();
    }

    @Test
    void promotedLongAgo_whenItIsLookedAtFirst_givesItsVote() {
        master.promoteReplica(true);
        server.checkOnce(SECOND);
        assertThat(vote().code()).isEqualTo("VOTED");
    }

    @Test
    void replicaAtFirst_thatIsStartedAnewAsAMaster_givesItsVote() {
        master.replica(true);
        isRefusedAsAReplica();
        master.replica(false);
        master.restart();
        master.stepMillis(HOUR_MILLIS);
        lookAgain();
        assertThat(vote().code()).isEqualTo("VOTED");
    }

    @Test
    void serverOfAnotherNode_metInPlaceOfTheMaster_givesNoSecondVote() {
        server.checkOnce(SECOND);
        master.restart();
        master.stepMillis(HOUR_MILLIS);
        InMemoryRedis face = master.another();
        Reply answer = face.run(check, SECOND);
        known.put(new ServerCheck("", answer).runId(), face);
        server.time.forget(System.nanoTime());
        server.time.saw(answer, System.nanoTime());
        assertThat(votedByTheNode().failure())
                .isInstanceOf(RedisException.Refused.class)
                .hasMessageContaining("is the same server as");
        assertThat(master.hash(keys.lock())).isEmpty();
        face.close();
    }
}
