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
import io.github.redislocks.script.Inspections;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which server behind a node is asked for new votes, and from when on. */
@Timeout(30)
class QuorumServerTest extends OneMaster {

    private static final long NEVER_LATE = Long.MAX_VALUE / 4;

    private final Call check = Inspections.check("redis-locks:quorum", "mailbox");

    private Reply vote() {
        return vote(master, server);
    }

    /** Asks for a vote as a node does. */
    private Reply vote(Redis redis, QuorumServer known) {
        QuorumCalls.At at = new QuorumCalls.At(known.runId(), known.votesFromMicros(), NEVER_LATE);
        return redis.run(calls.vote(candidate, calls.nextBallot(), 1, at), SECOND);
    }

    /** Another server than the known one answers, and is checked. */
    private Reply voteOfAnother(Redis redis, QuorumServer known) {
        assertThat(vote(redis, known).code()).isEqualTo("OTHER");
        known.doubt();
        known.checkOnce(SECOND);
        return vote(redis, known);
    }

    private Outcome votedByTheNode() {
        long deadline = System.nanoTime() + 10 * SECOND;
        Poll poll = new VotePoll(calls, candidate, 1);
        node.ask(List.of(poll), deadline, false);
        return poll.await(deadline, LockSupport::parkNanos).outcome();
    }

    /** The promoted server may not know the votes given before; all of these have expired after the delay. */
    private void givesNoVoteUntilTheDelayIsOver(InMemoryRedis promoted, Redis address, QuorumServer behind) {
        isForTheDelay(vote(address, behind));
        promoted.stepMillis(DELAY_MILLIS - 10_000);
        assertThat(vote(address, behind).code()).isEqualTo("YOUNG");
        promoted.stepMillis(10_000);
        assertThat(vote(address, behind).code()).isEqualTo("VOTED");
        now.addAndGet(2 * DELAY_MILLIS * 1_000_000 + 1);
        assertThat(behind.votesFromMicros()).as("nor asked any more").isZero();
    }

    private static void isForTheDelay(Reply young) {
        assertThat(young.code()).isEqualTo("YOUNG");
        assertThat(young.number(0)).isBetween(DELAY_MILLIS - 5_000, DELAY_MILLIS + 1_000);
    }

    private QuorumServer behind(Redis address) {
        return new QuorumServer(
                address, "redis-locks:quorum", DELAY_MILLIS, DELAY_MILLIS, new ConcurrentHashMap<>(), now::get);
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
        givesNoVoteUntilTheDelayIsOver(master, master, server);
    }

    @Test
    void replicaMetInPlaceOfTheMaster_thatIsPromoted_givesNoVoteUntilTheDelayIsOver() {
        server.checkOnce(SECOND);
        master.promoteReplica(true);
        master.replica(true);
        assertThat(vote().code()).isEqualTo("OTHER");
        server.doubt();
        isRefusedAsAReplica();
        now.addAndGet(DELAY_MILLIS * 1_000_000);
        master.replica(false);
        lookAgain();
        givesNoVoteUntilTheDelayIsOver(master, master, server);
    }

    @Test
    void masterThatBecameAReplica_andIsPromotedAgain_givesNoVoteUntilTheDelayIsOver() {
        server.checkOnce(SECOND);
        assertThat(vote().code()).isEqualTo("VOTED");
        master.flushAll();
        master.replica(true);
        assertThat(votedByTheNode().failure()).hasMessageContaining("READONLY");
        master.replica(false);
        isForTheDelay(voteOfAnother(master, server));
        givesNoVoteUntilTheDelayIsOver(master, master, server);
    }

    @Test
    void master_afterAFailback_givesNoVoteUntilTheDelayIsOver() {
        InMemoryRedis replica = new InMemoryRedis();
        replica.restart();
        replica.stepMillis(HOUR_MILLIS);
        AtomicBoolean failedOver = new AtomicBoolean();
        Redis address = new TwoServers(master, replica, key -> failedOver.get());
        QuorumServer behind = behind(address);
        behind.checkOnce(SECOND);
        master.replica(true);
        replica.promoteReplica(true);
        failedOver.set(true);
        isForTheDelay(voteOfAnother(address, behind));
        // Clients that connect now have votes of the promoted server, which the old one does not know.
        master.replica(false);
        failedOver.set(false);
        isForTheDelay(voteOfAnother(address, behind));
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
        QuorumServer behind = behind(address);
        behind.checkOnce(SECOND);
        moved.set(true);
        isForTheDelay(voteOfAnother(address, behind));
        givesNoVoteUntilTheDelayIsOver(other, address, behind);
        address.close();
    }

    @Test
    void masterThatWasRestarted_givesItsVoteAsSoonAsItsUptimeAllows() {
        server.checkOnce(SECOND);
        assertThat(vote().code()).isEqualTo("VOTED");
        master.restart();
        isForTheDelay(voteOfAnother(master, server));
        master.stepMillis(DELAY_MILLIS + 1_000);
        assertThat(vote().code()).isEqualTo("VOTED");
    }

    /** Redis says 3 s after 2.001 s, the difference of two times in whole seconds. */
    @Test
    void masterThatWasRestarted_givesNoVoteBeforeItHasRunForTheDelayForSure() {
        AtomicLong micros = new AtomicLong(1_790_000_000_999_000L);
        InMemoryRedis exact = new InMemoryRedis(micros::get);
        exact.restart();
        QuorumServer known = behind(exact);
        micros.addAndGet(2_001_000);
        known.checkOnce(SECOND);
        micros.addAndGet((DELAY_MILLIS - 2_001) * 1_000);
        assertThat(vote(exact, known).code()).isEqualTo("YOUNG");
        micros.addAndGet(1_000_000);
        assertThat(vote(exact, known).code()).isEqualTo("VOTED");
        exact.close();
    }

    /** A restart does not give the other server votes that it did not know before. */
    @Test
    void anotherServer_restartedMeanwhile_stillWaits_ifARestartForgetsNothing() {
        InMemoryRedis other = new InMemoryRedis();
        other.restart();
        other.stepMillis(HOUR_MILLIS);
        AtomicBoolean moved = new AtomicBoolean();
        Redis address = new TwoServers(master, other, key -> moved.get());
        QuorumServer behind =
                new QuorumServer(address, "redis-locks:quorum", 0, DELAY_MILLIS, new ConcurrentHashMap<>(), now::get);
        behind.checkOnce(SECOND);
        moved.set(true);
        isForTheDelay(voteOfAnother(address, behind));
        other.restart();
        isForTheDelay(voteOfAnother(address, behind));
        other.stepMillis(DELAY_MILLIS);
        assertThat(vote(address, behind).code()).isEqualTo("VOTED");
        address.close();
    }

    /** Without a run id, nobody notices a restart. */
    @Test
    void server_hidesItsRunId_isRefused_unlessARestartForgetsNothing() {
        Redis silent = (Redis) Proxy.newProxyInstance(
                Redis.class.getClassLoader(), new Class<?>[] {Redis.class}, (proxy, method, args) -> {
                    Object result = method.invoke(master, args);
                    if (result instanceof Reply reply && reply.is("CHECKED")) {
                        List<Object> values = new ArrayList<>(reply.values());
                        values.set(6, "");
                        return new Reply("CHECKED", values);
                    }
                    return result;
                });
        assertThatThrownBy(() -> behind(silent).checkOnce(SECOND))
                .isInstanceOf(RedisException.Refused.class)
                .hasMessageContaining("does not report its run id");
        QuorumServer durable =
                new QuorumServer(silent, "redis-locks:quorum", 0, DELAY_MILLIS, new ConcurrentHashMap<>(), now::get);
        durable.checkOnce(SECOND);
        assertThat(vote(silent, durable).code()).isEqualTo("VOTED");
    }

    @Test
    void promotedLongAgo_whenItIsLookedAtFirst_givesItsVote() {
        master.promoteReplica(true);
        server.checkOnce(SECOND);
        assertThat(vote().code()).isEqualTo("VOTED");
    }

    @Test
    void replicaAtFirst_restartedAsAMaster_givesItsVote() {
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
