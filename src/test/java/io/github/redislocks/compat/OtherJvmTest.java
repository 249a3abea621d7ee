package io.github.redislocks.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.WorkerJvm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** The same sentences where the other thread is one of another JVM. */
@Timeout(90)
@ParameterizedClass
@ValueSource(strings = {"plain", "fair"})
@Tag("server")
class OtherJvmTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @Parameter
    private String order;

    private final String name = "compat:" + UUID.randomUUID();
    /** In whose Condition a worker waits until it is to go on; what it holds besides, it holds meanwhile. */
    private final String gateName = name + ":gate";

    private RedisLocks locks;
    private RedisReentrantLock lock;
    private RedisReentrantLock localQueue;
    private Condition condition;
    private Condition goOn;

    @BeforeEach
    void connect() {
        locks = RedisLocks.connect(RedisServers.shared().uri());
        lock = order.equals("fair")
                ? locks.reentrantLock(name, LockOptions.defaults().fair(true))
                : locks.reentrantLock(name);
        localQueue = locks.reentrantLock(gateName);
        condition = lock.newCondition();
        goOn = localQueue.newCondition();
    }

    @AfterEach
    void close() {
        locks.close();
    }

    private WorkerJvm worker(String... steps) {
        List<String> arguments = new ArrayList<>(List.of(RedisServers.shared().uri(), order));
        arguments.addAll(List.of(steps));
        return WorkerJvm.start(Steps.class, arguments.toArray(String[]::new));
    }

    /** Waits until so many wait in the Conditions of a lock, of any JVM. */
    private void awaitWaiters(String ofLock, int count) {
        try (Jedis jedis = RedisServers.shared().client()) {
            Sentences.awaitThat().until(() -> jedis.zcard("redis-locks:{" + ofLock + "}:conditions") == count);
        }
    }

    @Test
    void lock_heldByAnotherJvm_isHeldForAllHere() throws InterruptedException {
        try (WorkerJvm worker = worker(
                "lock:" + name,
                "lock:" + name,
                "lock:" + gateName,
                "await:" + gateName,
                "unlock:" + name,
                "unlock:" + name)) {
            worker.awaitLine("done lock:" + gateName, PATIENCE);
            assertThat(lock.isLocked()).isTrue();
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            assertThat(lock.getOwner()).isNull();
            assertThat(lock.tryLock()).isFalse();
            long began = System.nanoTime();
            assertThat(lock.tryLock(50, TimeUnit.MILLISECONDS)).isFalse();
            assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(50_000_000);
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThatThrownBy(condition::signal).isInstanceOf(IllegalMonitorStateException.class);
            Actor<Void> waiter = new Actor<Void>(() -> {
                        lock.lockInterruptibly();
                        return null;
                    })
                    .start();
            Sentences.awaitThat().until(() -> Sentences.isParked(waiter.thread));
            waiter.thread.interrupt();
            assertThatThrownBy(waiter::result).hasCauseInstanceOf(InterruptedException.class);
            awaitWaiters(gateName, 1);
            localQueue.lock();
            goOn.signal();
            localQueue.unlock();
            lock.lock();
            worker.awaitLine("done unlock:" + name + " holds 1", PATIENCE);
            lock.unlock();
        }
    }

    @Test
    void await_inAnotherJvm_isSignalledHereWithItsHoldsRestored() throws InterruptedException {
        try (WorkerJvm worker =
                worker("lock:" + name, "lock:" + name, "await:" + name, "unlock:" + name, "unlock:" + name)) {
            awaitWaiters(name, 1);
            lock.lock();
            assertThat(lock.hasWaiters(condition)).as("of this JVM").isFalse();
            condition.signal();
            assertThat(worker.lines()).noneMatch(line -> line.startsWith("done await"));
            lock.unlock();
            assertThat(worker.awaitLine("done await", PATIENCE)).endsWith("holds 2");
            assertThat(worker.awaitExit(PATIENCE)).isZero();
        }
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void signal_waitersOfTwoJvms_goesByTheOrderOfTheirAwait() throws InterruptedException {
        try (WorkerJvm worker = worker("lock:" + name, "await:" + name, "unlock:" + name)) {
            awaitWaiters(name, 1);
            Actor<Boolean> second = new Actor<>(() -> {
                        lock.lock();
                        try {
                            return condition.await(20, TimeUnit.SECONDS);
                        } finally {
                            lock.unlock();
                        }
                    })
                    .start();
            awaitWaiters(name, 2);
            lock.lock();
            condition.signal();
            lock.unlock();
            worker.awaitLine("done await", PATIENCE);
            lock.lock();
            assertThat(lock.getWaitingThreads(condition)).containsExactly(second.thread);
            lock.unlock();
            try (WorkerJvm signaller = worker("lock:" + name, "signal:" + name, "unlock:" + name)) {
                assertThat(second.result()).isTrue();
                assertThat(signaller.awaitExit(PATIENCE)).isZero();
            }
        }
    }
}
