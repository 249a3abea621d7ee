package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.quorum.Quorum;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client of a quorum remembers nothing about attempts that are over, whatever its masters do. */
@Timeout(60)
@Tag("long")
class QuorumMemoryTest {

    private static final int ROUNDS = 5;
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration SOON = Duration.ofSeconds(10);
    private static final int TIMES = 3_000;

    private final QuorumTwins masters = new QuorumTwins(LEASE, LEASE);
    private final QuorumTwins.Client client = masters.connect();

    @AfterEach
    void close() {
        masters.close();
    }

    private void lockAndUnlock(int times) {
        for (int i = 0; i < times; i++) {
            client.lock.lock();
            client.lock.unlock();
        }
    }

    private int remembered() {
        return ((Quorum) Inside.of(client.locks.client()).redis()).remembered();
    }

    @Test
    void acquisitions_allMastersThere_leaveNothing() {
        lockAndUnlock(TIMES);
        await().atMost(SOON).untilAsserted(() -> assertThat(remembered()).isZero());
    }

    @Test
    void acquisitions_oneMasterDead_leaveNothing() {
        client.reachOnly("ABCD");
        lockAndUnlock(TIMES);
        await().atMost(SOON).untilAsserted(() -> assertThat(remembered()).isZero());
    }

    @Test
    void acquisitions_oneMasterFrozen_leaveOnlyWhatItWasSent() {
        HeldCalls held = client.nodes.get(4).hold(call -> true);
        lockAndUnlock(TIMES);
        // The master was sent a vote on each connection, and then one at a time; the client remembers each twice.
        await().atMost(SOON).untilAsserted(() -> assertThat(remembered()).isLessThan(100));
        held.release();
        client.nodes.get(4).heal();
        await().atMost(Duration.ofSeconds(30))
                .untilAsserted(() -> assertThat(remembered()).isZero());
    }

    @Test
    void failedTries_leaveNothing() {
        QuorumTwins.Client holder = masters.connect();
        holder.lock.lock();
        for (int i = 0; i < 500; i++) {
            assertThat(client.lock.tryLock()).isFalse();
        }
        await().atMost(SOON).untilAsserted(() -> assertThat(remembered()).isZero());
    }

    @Test
    void refusedTries_leaveNothing() {
        client.nodes.forEach(node -> node.failNext(Integer.MAX_VALUE, call -> true, Fault.refused("NOPERM no")));
        for (int i = 0; i < 20; i++) {
            assertThatThrownBy(client.lock::tryLock).isInstanceOf(LockUnavailableException.class);
        }
        await().atMost(SOON).untilAsserted(() -> assertThat(remembered()).isZero());
    }

    @Test
    void failedTries_askThoseMastersThatGaveAVoteToTakeItBackAndNoOthers() {
        QuorumTwins.Client holder = masters.connect();
        holder.reachOnly("ABC");
        holder.lock.lock();
        for (int i = 0; i < 40; i++) {
            assertThat(client.lock.tryLock()).isFalse();
        }
        // A master that has not answered yet is asked as well, which happens if this machine stalls.
        assertThat(client.nodes.subList(0, 3)).allMatch(node -> node.log().count("withdraw") < 20);
        await().atMost(SOON).until(() -> masters.votes().equals("ABC"));
        assertThat(client.nodes.subList(3, 5)).allMatch(node -> node.log().count("withdraw") >= 20);
    }

    @Test
    void waiter_asksTheMastersOncePerHeartbeat() {
        QuorumTwins.Client holder = masters.connect();
        holder.lock.lock();
        Thread waiter = new Thread(() -> {
            client.lock.lock();
            client.lock.unlock();
        });
        waiter.start();
        await().atMost(SOON).until(() -> client.runs("vote") >= 2 * QuorumTwins.NODES);
        boolean withdrawn = true;
        // A stall of this machine makes a vote late, and the vote is withdrawn; but not in each round.
        for (int round = 0; withdrawn && round < ROUNDS; round++) {
            client.nodes.forEach(node -> node.log().clear());
            await().atMost(SOON).until(() -> client.runs("vote") >= 2 * QuorumTwins.NODES);
            withdrawn = client.runs("withdraw") > 0;
        }
        assertThat(withdrawn).as("votes that nobody gave are taken back").isFalse();
        holder.lock.unlock();
        await().atMost(SOON).until(() -> !waiter.isAlive());
        await().atMost(SOON).untilAsserted(() -> assertThat(remembered()).isZero());
        assertThat(masters.servers).allMatch(server -> server.keys().size() == 1);
    }
}
