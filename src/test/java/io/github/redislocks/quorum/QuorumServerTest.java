package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.fixture.twin.TwoServers;
import io.github.redislocks.health.ServerRequirements;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which server behind one node of a quorum is asked for new votes, and from when on. */
@Timeout(30)
class QuorumServerTest extends OneMaster {

    private static final long NEVER_LATE = Long.MAX_VALUE / 4;

    private final Call check = Scripts.check("redis-locks:quorum", "mailbox");

    private Reply vote() {
        return vote(master, server);
    }

    private Reply vote(Redis redis, QuorumServer known) {
        QuorumCalls.At at = new QuorumCalls.At(known.runId(), NEVER_LATE);
        return redis.run(calls.vote(candidate, calls.nextBallot(), 1, at), SECOND);
    }

    private Outcome votedByTheNode() {
        long deadline = System.nanoTime() + 10 * SECOND;
        Poll poll = new VotePoll(calls, candidate, 1);
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
    void masterThatIsFailedBackTo_givesNoVoteUntilTheDelayIsOver() {
        InMemoryRedis replica = new InMemoryRedis();
        replica.restart();
        replica.stepMillis(HOUR_MILLIS);
        AtomicBoolean failedOver = new AtomicBoolean();
        Redis address = new TwoServers(master, replica, key -> failedOver.get());
        QuorumServer behind =
                new QuorumServer(address, "redis-locks:quorum", DELAY_MILLIS, new ConcurrentHashMap<>(), now::get);
        behind.checkOnce(SECOND);
        master.replica(true);
        replica.promoteReplica(true);
        failedOver.set(true);
        Reply promoted = vote(address, behind);
        assertThat(promoted.code()).isEqualTo("OTHER");
        assertThat(behind.meet(promoted.text(0), SECOND)).isEqualTo(DELAY_MILLIS);
        // Clients that are made now have votes of the promoted one, which the first does not know.
        master.replica(false);
        failedOver.set(false);
        Reply back = vote(address, behind);
        assertThat(back.code()).isEqualTo("OTHER");
        assertThat(behind.meet(back.text(0), SECOND)).isEqualTo(DELAY_MILLIS);
        address.close();
    }

    /** A virtual address may lead to any server. */
    @Test
    void serverThatRanWhileTheMasterAnswered_metInItsPlace_givesNoVoteUntilTheDelayIsOver() {
        InMemoryRedis other = new InMemoryRedis();
        other.restart();
        other.stepMillis(HOUR_MILLIS);
        AtomicBoolean moved = new AtomicBoolean();
        Redis address = new TwoServers(master, other, key -> moved.get());
        QuorumServer behind =
                new QuorumServer(address, "redis-locks:quorum", DELAY_MILLIS, new ConcurrentHashMap<>(), now::get);
        behind.checkOnce(SECOND);
        moved.set(true);
        Reply met = vote(address, behind);
        assertThat(met.code()).isEqualTo("OTHER");
        assertThat(behind.meet(met.text(0), SECOND)).isEqualTo(DELAY_MILLIS);
        now.addAndGet(DELAY_MILLIS * 1_000_000);
        assertThat(behind.meet(met.text(0), SECOND)).isZero();
        assertThat(vote(address, behind).code()).isEqualTo("VOTED");
        address.close();
    }

    @Test
    void masterThatWasRestarted_givesItsVoteAsSoonAsItsUptimeAllows() {
        server.checkOnce(SECOND);
        assertThat(vote().code()).isEqualTo("VOTED");
        master.restart();
        assertThat(vote().code()).isEqualTo("YOUNG");
        master.stepMillis(DELAY_MILLIS + 2_000);
        Reply other = vote();
        assertThat(other.code()).isEqualTo("OTHER");
        assertThat(server.meet(other.text(0), SECOND)).isZero();
        assertThat(vote().code()).isEqualTo("VOTED");
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
        known.put(new ServerRequirements("", answer).runId(), face);
        server.time.forget(System.nanoTime());
        server.time.saw(answer, System.nanoTime());
        assertThat(votedByTheNode().failure())
                .isInstanceOf(RedisException.Refused.class)
                .hasMessageContaining("is the same server as");
        assertThat(master.hash(keys.lock())).isEmpty();
        face.close();
    }
}
