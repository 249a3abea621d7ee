package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.CommandCount;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.RequestCount;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Holds that count only when a replica has them, on a master and a replica that freezes. */
@Timeout(60)
@Tag("server")
class ReplicasTest {

    private static final Duration ACKS = Duration.ofMillis(500);
    private static final Duration SLACK = Duration.ofMillis(400);
    private static final String KEY = "redis-locks:{job}";

    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final List<RedisLocks> clients = new ArrayList<>();
    private RedisServer master;
    private RedisServer replica;
    private RedisReentrantLock lock;

    @BeforeEach
    void start() {
        master = RedisServer.start("--repl-diskless-sync-delay", "0");
        replica = RedisServer.start("--replicaof", "127.0.0.1", Integer.toString(master.port()));
        try (Jedis jedis = master.client()) {
            await().until(() -> jedis.waitReplicas(1, 10) == 1);
        }
        lock = connect(builder().replicaAcks(1)).reentrantLock("job");
        lock.lock();
        lock.unlock();
    }

    @AfterEach
    void stop() {
        replica.resume();
        clients.forEach(RedisLocks::close);
        replica.close();
        master.close();
    }

    private RedisLocksBuilder builder() {
        return RedisLocks.builder()
                .uri(master.uri())
                .lease(Duration.ofSeconds(2))
                .onLockLost(losses::add);
    }

    private RedisLocks connect(RedisLocksBuilder builder) {
        RedisLocks client = builder.build();
        clients.add(client);
        return client;
    }

    private static long pttl(RedisServer server) {
        try (Jedis jedis = server.client()) {
            return jedis.pttl(KEY);
        }
    }

    private static boolean exists(RedisServer server) {
        try (Jedis jedis = server.client()) {
            return jedis.exists(KEY);
        }
    }

    /** How long a call takes that Redis answers: where the machine stands still, it may not answer in time. */
    private static Duration isUnavailable(ThrowingCallable call) {
        while (true) {
            long began = System.nanoTime();
            Throwable thrown = catchThrowable(call);
            Duration time = Duration.ofNanos(System.nanoTime() - began);
            assertThat(thrown).isInstanceOf(LockUnavailableException.class);
            if (!thrown.getMessage().contains("gave no usable answer")) {
                assertThat(thrown)
                        .hasMessageContaining("0 of the 1 replicas that must confirm a hold did so within 500 ms");
                return time;
            }
        }
    }

    @Test
    void lock_isOnTheReplicaWhenItReturns() {
        for (int i = 0; i < 50; i++) {
            lock.lock();
            assertThat(exists(replica)).isTrue();
            lock.unlock();
        }
        assertThat(losses).isEmpty();
    }

    @Test
    void lockAndUnlock_uncontended_areTwoScriptsAndOneWait() {
        try (RequestCount requests = RequestCount.on(master);
                CommandCount commands = CommandCount.on(master)) {
            commands.reset();
            for (int i = 0; i < 10; i++) {
                lock.lock();
                lock.unlock();
            }
            assertThat(requests.of("evalsha")).isEqualTo(20);
            assertThat(requests.of("wait")).isEqualTo(10);
        }
    }

    @Test
    void replicaFrozen_eachTry_costsTheStatedTimeAndLeavesNothing() throws InterruptedException {
        replica.pause();
        assertThat(isUnavailable(lock::tryLock)).isBetween(ACKS, ACKS.plus(SLACK));
        assertThat(isUnavailable(() -> lock.tryLock(1, TimeUnit.SECONDS)))
                .isBetween(Duration.ofSeconds(1), Duration.ofMillis(1_200));
        // Less time than replicas are given.
        assertThat(isUnavailable(() -> lock.tryLock(50, TimeUnit.MILLISECONDS))).isLessThan(Duration.ofMillis(250));
        isGivenBack();
    }

    @Test
    void replicaFrozen_grantByAnotherClient_isNoHold() throws InterruptedException {
        RedisReentrantLock other = connect(builder()).reentrantLock("job");
        other.lock();
        AtomicReference<Object> outcome = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                outcome.set(lock.tryLock(3, TimeUnit.SECONDS));
            } catch (InterruptedException | LockUnavailableException e) {
                outcome.set(e);
            }
        });
        waiter.start();
        await().until(() -> other.getQueueLength() + redisQueue() == 1);
        replica.pause();
        other.unlock();
        waiter.join();
        assertThat(outcome.get()).isInstanceOf(LockUnavailableException.class);
        isGivenBack();
    }

    /** A call that threw gives its lock back, in a moment; if it only lapsed, the next holder would hear of it. */
    private void isGivenBack() throws InterruptedException {
        await().until(() -> !exists(master));
        replica.resume();
        assertThat(lock.tryLock(5, TimeUnit.SECONDS)).isTrue();
        assertThat(lock.previousHolderLost()).isFalse();
        lock.unlock();
    }

    private long redisQueue() {
        try (Jedis jedis = master.client()) {
            return jedis.zcard(KEY + ":queue");
        }
    }

    @Test
    void replicaFrozen_hold_endsAtTheDeadlineThatTheReplicaKnows() {
        lock.lock();
        await().pollInSameThread()
                .during(Duration.ofMillis(2_500))
                .atMost(Duration.ofSeconds(4))
                .until(lock::isHeldByCurrentThread);
        replica.pause();
        long began = System.nanoTime();
        // Not after the loss: the client then ends the hold at the master.
        AtomicLong longer = new AtomicLong();
        await().pollInSameThread().atMost(Duration.ofSeconds(3)).until(() -> {
            longer.accumulateAndGet(pttl(master) - lock.remainingLease().toMillis(), Math::max);
            return !lock.isHeldByCurrentThread();
        });
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofMillis(2_100));
        assertThat(longer.get()).as("ms by which the master keeps it longer").isGreaterThan(300);
        // A hold ends by the clock; a thread tells of it a little later.
        await().until(() -> !losses.isEmpty());
        assertThat(losses)
                .singleElement()
                .satisfies(loss -> assertThat(loss.reason()).isEqualTo(LockLost.Reason.UNCONFIRMED));
    }

    @Test
    void connect_userWhoMayNotWait_isToldSo() {
        try (Jedis jedis = master.client()) {
            jedis.aclSetUser("app", "on", ">secret", "~*", "&*", "+@all", "-wait");
        }
        String uri = master.uri().replace("redis://", "redis://app:secret@");
        connect(RedisLocks.builder().uri(uri)).reentrantLock("job").runWithLock(() -> {});
        assertThatThrownBy(() -> RedisLocks.builder().uri(uri).replicaAcks(1).build())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("'wait'");
    }
}
