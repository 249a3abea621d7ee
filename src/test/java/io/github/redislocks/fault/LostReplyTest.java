package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.DeniedTime;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.KnownScripts;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Requests that were executed and not answered, or executed long after their caller had gone. */
@Timeout(60)
@Tag("server")
class LostReplyTest {

    private static final String KEY = "redis-locks:{job}";

    private final DeniedTime time = new DeniedTime();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private RedisServer server;
    private FaultyProxy proxy;
    private Jedis jedis;
    private RedisLocks locks;
    private RedisLocks others;
    private RedisReentrantLock lock;
    private RedisReentrantLock other;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        proxy = FaultyProxy.to(server);
        jedis = server.client();
        locks = RedisLocks.builder()
                .uri(proxy.uri())
                .commandTimeout(Duration.ofMillis(300))
                .connectWithin(Duration.ofSeconds(10))
                .build();
        others = RedisLocks.connect(server.uri());
        lock = locks.reentrantLock("job");
        other = others.reentrantLock("job");
        lock.lock();
        lock.unlock();
        KnownScripts.teach(jedis);
    }

    @AfterEach
    void stop() {
        time.close();
        proxy.pass();
        threads.shutdownNow();
        locks.close();
        others.close();
        jedis.close();
        proxy.close();
        server.close();
    }

    /** Of a hold that may be over by now. */
    private long lastToken() {
        return Long.parseLong(jedis.get(KEY + ":fence").replaceFirst("[+-]$", ""));
    }

    @Test
    void acquire_executedUnanswered_isRecognisedByItsRetry() throws Exception {
        proxy.dropReplies();
        Future<Long> locking = threads.submit(() -> {
            lock.lock();
            long token = lock.fencingToken();
            assertThat(lock.getHoldCount()).isEqualTo(1);
            lock.unlock();
            return token;
        });
        await().until(() -> jedis.exists(KEY));
        String token = jedis.hget(KEY, "token");
        assertThat(jedis.hget(KEY, "holds")).isEqualTo("1");
        proxy.pass();
        proxy.cut();
        assertThat(locking.get(10, TimeUnit.SECONDS)).isEqualTo(Long.parseLong(token));
        assertThat(jedis.exists(KEY)).isFalse();
    }

    @Test
    void acquire_executedUnansweredAndGivenUp_isTakenOverByTheNextWithANewToken() {
        long before = lastToken();
        proxy.dropReplies();
        assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS))
                .isInstanceOfSatisfying(
                        LockUnavailableException.class,
                        e -> assertThat(e.holdMayExist()).isTrue());
        long phantom = lastToken();
        assertThat(phantom).as("it was executed").isGreaterThan(before);
        proxy.pass();
        proxy.cut();
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(lock.fencingToken()).isGreaterThan(phantom);
        assertThat(lock.previousHolderLost()).isFalse();
        lock.unlock();
        assertThat(jedis.exists(KEY)).isFalse();
    }

    @Test
    void acquire_executedUnansweredAndGivenUp_isRemovedWithoutAnotherCall() {
        long before = lastToken();
        proxy.dropReplies();
        assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(LockUnavailableException.class);
        assertThat(lastToken()).as("it was executed").isGreaterThan(before);
        proxy.pass();
        proxy.cut();
        await().until(() -> !jedis.exists(KEY));
    }

    @Test
    void acquire_executedLongAfterItsCallerGaveUp_changesNothing() {
        proxy.holdRequests();
        assertThatThrownBy(() -> lock.tryLock(100, TimeUnit.MILLISECONDS)).isInstanceOf(LockUnavailableException.class);
        long tokens = lastToken();
        // No leave can have come through either: what keeps the late request out is its own time.
        long gaveUp = System.nanoTime();
        await().until(() -> System.nanoTime() - gaveUp > 700_000_000);
        proxy.pass();
        await().during(Duration.ofMillis(700)).atMost(Duration.ofSeconds(3)).until(() -> lastToken() == tokens);
        assertThat(jedis.exists(KEY)).isFalse();
    }

    @Test
    void release_executedUnanswered_isDoneAndTold() throws Exception {
        lock.lock();
        proxy.dropReplies();
        long began = time.now();
        lock.unlock();
        assertThat(time.since(began)).isLessThan(Duration.ofMillis(600));
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(other.tryLock()).isTrue();
        long token = other.fencingToken();
        assertThat(other.previousHolderLost()).isFalse();
        proxy.pass();
        proxy.cut();
        // The release goes on being sent; it must find the lock no longer its own.
        await().during(Duration.ofMillis(700))
                .until(() -> jedis.hget(KEY, "token").equals(Long.toString(token)));
        other.unlock();
    }

    @Test
    void release_unansweredWithAThreadWaitingLocally_servesItOnce() throws Exception {
        lock.lock();
        Future<Long> next = threads.submit(() -> {
            lock.lock();
            long token = lock.fencingToken();
            lock.unlock();
            return token;
        });
        await().until(() -> lock.toString().contains("Locked") && !next.isDone());
        long token = lock.fencingToken();
        proxy.dropReplies();
        lock.unlock();
        proxy.pass();
        proxy.cut();
        assertThat(next.get(10, TimeUnit.SECONDS)).isGreaterThan(token);
        await().until(() -> !jedis.exists(KEY));
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void reentry_executedUnanswered_isCountedOnce() throws Exception {
        lock.lock();
        Future<?> later = threads.submit(() -> {
            await().until(() -> "2".equals(jedis.hget(KEY, "holds")));
            proxy.pass();
            proxy.cut();
        });
        proxy.dropReplies();
        lock.lock();
        later.get(10, TimeUnit.SECONDS);
        assertThat(lock.getHoldCount()).isEqualTo(2);
        assertThat(jedis.hget(KEY, "holds")).isEqualTo("2");
        lock.unlock();
        lock.unlock();
        assertThat(jedis.exists(KEY)).isFalse();
    }

    @Test
    void grant_ofAWaiterThatGaveUp_goesOnAtOnce_andItsLateMessageServesNobody() throws Exception {
        other.lock();
        Thread[] waiter = new Thread[1];
        Future<Boolean> interrupted = threads.submit(() -> {
            waiter[0] = Thread.currentThread();
            try {
                lock.lockInterruptibly();
                return false;
            } catch (InterruptedException e) {
                return true;
            }
        });
        await().until(() -> jedis.zcard(KEY + ":queue") == 1);
        // By now the client has all the connections that it needs, which could not be made any more.
        String place = jedis.hkeys(KEY + ":waiters").iterator().next();
        String placed = jedis.hget(KEY + ":waiters", place);
        await().until(() -> !placed.equals(jedis.hget(KEY + ":waiters", place)));
        // A connection whose reply is held back could not carry the leave.
        await().until(proxy::isQuiet);
        proxy.holdReplies();
        other.unlock();
        assertThat(place).isEqualTo(jedis.hget(KEY, "owner") + ":" + jedis.hget(KEY, "attempt"));
        waiter[0].interrupt();
        assertThat(interrupted.get(5, TimeUnit.SECONDS)).isTrue();
        // The leave was executed, though its answer is held back as the message of the grant is: the grant ended in
        // good order, where one that nobody takes lapses.
        await().until(() -> !jedis.exists(KEY));
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        proxy.pass();
        assertThat(threads.submit(this::servedWithin700Millis).get(10, TimeUnit.SECONDS))
                .isFalse();
    }

    private boolean servedWithin700Millis() throws InterruptedException {
        try {
            return lock.tryLock(700, TimeUnit.MILLISECONDS);
        } catch (LockUnavailableException e) {
            // On a machine that stalls, nobody answers in time: not served either.
            return false;
        }
    }

    @Test
    void subscriptionKilled_whileWaiting_delaysNobodyByAHeartbeat() throws Exception {
        other.lock();
        Future<Long> served = threads.submit(() -> {
            lock.lock();
            long at = time.now();
            lock.unlock();
            return at;
        });
        await().until(() -> jedis.zcard(KEY + ":queue") == 1);
        jedis.sendCommand(redis.clients.jedis.Protocol.Command.CLIENT, "KILL", "TYPE", "pubsub");
        long released = time.now();
        other.unlock();
        assertThat(Duration.ofNanos(served.get(10, TimeUnit.SECONDS) - released))
                .isLessThan(Duration.ofSeconds(1));
    }
}
