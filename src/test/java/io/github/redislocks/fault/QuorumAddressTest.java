package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** Three masters A, B and C of a quorum, and addresses that lead to another server than before, for one client only. */
@Timeout(60)
@Tag("once")
@Tag("server")
class QuorumAddressTest {

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final int OFTEN = 20;

    private final QuorumServers masters = QuorumServers.start(3);
    private final FaultyProxy toA = FaultyProxy.to(masters.get(0));
    private final FaultyProxy toB = FaultyProxy.to(masters.get(1));
    private final FaultyProxy toC = FaultyProxy.to(masters.get(2));
    private final List<RedisLocks> clients = new ArrayList<>();
    private final List<LockLost> losses = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        clients.forEach(RedisLocks::close);
        List.of(toA, toB, toC).forEach(FaultyProxy::close);
        masters.close();
    }

    private RedisReentrantLock connect(int restartDelaySeconds, String... uris) {
        RedisLocks locks = RedisLocks.builder()
                .quorum(uris)
                .lease(LEASE)
                .restartDelay(Duration.ofSeconds(restartDelaySeconds))
                .onLockLost(losses::add)
                .build();
        clients.add(locks);
        return locks.reentrantLock("job");
    }

    /** A client with connections of all kinds to A and B, and to C by an address of its own. */
    private RedisReentrantLock victim(int restartDelaySeconds) {
        RedisReentrantLock lock =
                connect(restartDelaySeconds, toA.uri(), masters.get(1).uri(), toC.uri());
        for (int i = 0; i < OFTEN; i++) {
            lock.lock();
            lock.unlock();
        }
        return lock;
    }

    /** Gets the votes of A and C, and keeps the lock. */
    private RedisReentrantLock holderOfAAndC(int restartDelaySeconds) {
        RedisReentrantLock lock = connect(
                restartDelaySeconds,
                masters.get(0).uri(),
                toB.uri(),
                masters.get(2).uri());
        toB.refuse();
        toB.cut();
        lock.lock();
        return lock;
    }

    private static boolean acquires(RedisReentrantLock lock) {
        try {
            return lock.tryLock();
        } catch (LockUnavailableException noMajority) {
            return false;
        }
    }

    private static void assertNeverAcquires(RedisReentrantLock lock) {
        for (int i = 0; i < OFTEN; i++) {
            assertThat(acquires(lock)).isFalse();
        }
    }

    private static void awaitAge(RedisServer server, Duration age) {
        try (Jedis jedis = server.client()) {
            await().until(() ->
                    Integer.parseInt(jedis.info("server").replaceAll("(?s).*uptime_in_seconds:(\\d+).*", "$1"))
                            >= age.toSeconds());
        }
    }

    private static void awaitVote(RedisServer server) {
        try (Jedis jedis = server.client()) {
            await().atMost(Duration.ofSeconds(15)).until(() -> jedis.exists("redis-locks:quorum:{job}"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void addressThatLeadsToAMasterOfAnotherAddress_hasNoVote(int restartDelaySeconds) {
        RedisReentrantLock victim = victim(restartDelaySeconds);
        RedisReentrantLock holder = holderOfAAndC(restartDelaySeconds);
        String log = Logged.by(() -> {
            toC.retarget(masters.get(1));
            toC.cut();
            assertNeverAcquires(victim);
        });
        assertThat(holder.isHeldByCurrentThread()).isTrue();
        assertThat(log).contains("is the same server as");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void addressThatLeadsToAMasterOfAnotherAddress_renewsNoHold(int restartDelaySeconds) {
        RedisReentrantLock victim = victim(restartDelaySeconds);
        victim.lock();
        toC.retarget(masters.get(1));
        toC.cut();
        toA.refuse();
        toA.cut();
        await().atMost(Duration.ofSeconds(15)).until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        assertThat(victim.isHeldByCurrentThread()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void addressThatLeadsToAnotherServerThatHasRunForLong_givesNoVoteForAWhile(int restartDelaySeconds) {
        try (RedisServer other = RedisServer.start()) {
            awaitAge(other, LEASE.plusSeconds(3));
            RedisReentrantLock victim = victim(restartDelaySeconds);
            RedisReentrantLock holder = holderOfAAndC(restartDelaySeconds);
            String log = Logged.by(() -> {
                toC.retarget(other);
                toC.cut();
                assertThat(acquires(victim)).isFalse();
            });
            assertThat(log).contains("is another server than before");
            holder.unlock();
            await().pollInSameThread().atMost(Duration.ofSeconds(15)).until(() -> acquires(victim));
            awaitVote(other);
            toA.refuse();
            toA.cut();
            await().pollInSameThread()
                    .during(LEASE.plusSeconds(1))
                    .atMost(Duration.ofSeconds(15))
                    .until(victim::isHeldByCurrentThread);
        }
    }

    /** C always answers to the victim that the holder has the vote, as to a thread that waits. */
    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void addressThatLeadsToAnotherServer_ofAMasterThatGaveTheVictimNoVote_givesNoVoteForAWhile(
            int restartDelaySeconds) {
        RedisReentrantLock victim = connect(
                restartDelaySeconds, masters.get(0).uri(), masters.get(1).uri(), toC.uri());
        RedisReentrantLock holder = holderOfAAndC(restartDelaySeconds);
        try (RedisServer other = RedisServer.start()) {
            awaitAge(other, LEASE.plusSeconds(3));
            assertNeverAcquires(victim);
            String log = Logged.by(() -> {
                toC.retarget(other);
                toC.cut();
                assertThat(acquires(victim)).isFalse();
            });
            assertThat(holder.isHeldByCurrentThread()).isTrue();
            assertThat(log).contains("is another server than before");
        }
    }
}
