package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.twin.TwinServers;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.cluster.ClusterRedis;
import io.github.redislocks.redis.topology.Topology;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Locks on a cluster of three nodes in memory, two of which are masters. */
@Timeout(60)
class ClusterLocksInMemoryTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final int SLOTS = 16_384;
    private static final Address LOW = new Address("low", 1);
    private static final Address HIGH = new Address("high", 2);
    private static final Address SPARE = new Address("spare", 3);
    /** Their slots are in the lower and in the upper half. */
    private static final String IN_LOW = "b";

    private static final String IN_HIGH = "a";

    private final TwinServers servers = new TwinServers();
    private final InMemoryRedis low = servers.start(LOW);
    private final InMemoryRedis high = servers.start(HIGH);
    private final InMemoryRedis spare = servers.start(SPARE);
    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    /** The master of the upper half, and its epoch. */
    private volatile Address upper = HIGH;

    private volatile int epoch = 2;
    private RedisLocks locks;

    @BeforeEach
    void connect() {
        List<Address> nodes = List.of(LOW, HIGH, SPARE);
        List.of(low, high, spare).forEach(node -> node.replies(this::reply));
        ClusterRedis cluster =
                new ClusterRedis(new Topology.Cluster(nodes), servers, TIMEOUT.toNanos(), Threads.DAEMONS);
        cluster.start();
        locks = RedisLocks.on(
                cluster, Settings.DEFAULTS.withCommandTimeout(TIMEOUT), LossListener.to(losses::add), Clock.SYSTEM);
    }

    @AfterEach
    void close() {
        locks.close();
        servers.close();
    }

    private Object reply(List<String> command) {
        if (command.get(1).equals("NODES")) {
            return node(LOW, 1) + node(upper, epoch);
        }
        return List.of(range(0, SLOTS / 2 - 1, LOW), range(SLOTS / 2, SLOTS - 1, upper));
    }

    private static String node(Address of, int epoch) {
        return "id-" + of + " " + of + "@9 master - 0 0 " + epoch + " connected\n";
    }

    private static List<Object> range(long first, long last, Address owner) {
        return List.of(first, last, List.of(owner.host(), (long) owner.port(), "id-" + owner));
    }

    private static boolean has(InMemoryRedis server, String name) {
        return !server.hash("redis-locks:{" + name + "}").isEmpty();
    }

    private RedisReentrantLock locked(String name) {
        RedisReentrantLock lock = locks.reentrantLock(name);
        lock.lock();
        return lock;
    }

    @Test
    void lock_isOnTheMasterOfItsSlot() {
        RedisReentrantLock first = locked(IN_LOW);
        RedisReentrantLock second = locked(IN_HIGH);
        assertThat(List.of(has(low, IN_LOW), has(high, IN_LOW), has(low, IN_HIGH), has(high, IN_HIGH)))
                .containsExactly(true, false, false, true);
        first.unlock();
        second.unlock();
        assertThat(has(low, IN_LOW) || has(high, IN_HIGH)).isFalse();
    }

    @Test
    void masterReplaced_locksThatTheNewOneDoesNotKnow_areLost_andNoOthers() {
        RedisReentrantLock kept = locked(IN_LOW);
        RedisReentrantLock lost = locked(IN_HIGH);
        servers.down(HIGH, true);
        epoch = 3;
        upper = SPARE;
        await().until(() -> !losses.isEmpty());
        assertThat(losses).singleElement().satisfies(loss -> {
            assertThat(loss.lockName()).isEqualTo(IN_HIGH);
            assertThat(loss.reason()).isEqualTo(LockLost.Reason.TAKEN);
        });
        assertThat(lost.isHeldByCurrentThread()).isFalse();
        assertThat(kept.isHeldByCurrentThread()).isTrue();
        kept.unlock();
    }

    @Test
    void masterReplaced_byOneWithItsKeys_losesNothing_andItsWaiterIsServed() {
        RedisReentrantLock lock = locked(IN_HIGH);
        RedisLocks others = RedisLocks.on(high.another(), Settings.DEFAULTS, List.of(), Clock.SYSTEM);
        RedisReentrantLock other = others.reentrantLock(IN_HIGH);
        lock.unlock();
        other.lock();
        CompletableFuture<LockHandle> waiter = lock.acquireAsync();
        await().until(() -> high.zset("redis-locks:{" + IN_HIGH + "}:queue").size() == 1);
        servers.start(SPARE, high);
        servers.down(HIGH, true);
        epoch = 3;
        upper = SPARE;
        other.unlock();
        waiter.join().close();
        assertThat(losses).isEmpty();
        others.close();
    }

    @Test
    void slotMoved_lock_followsTheReplyOfTheFormerMaster() {
        RedisReentrantLock lock = locks.reentrantLock(IN_HIGH);
        lock.runWithLock(() -> {});
        List<InMemoryRedis> former = new ArrayList<>(servers.clientsOf(HIGH));
        former.forEach(client -> client.failNext(
                1_000_000, call -> true, Fault.refused("MOVED " + servers.slotOf("{" + IN_HIGH + "}") + " " + SPARE)));
        epoch = 3;
        upper = SPARE;
        lock.lock();
        assertThat(has(spare, IN_HIGH)).isTrue();
        lock.unlock();
    }
}
