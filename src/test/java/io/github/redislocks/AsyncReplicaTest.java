package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Acquisitions for which no thread waits, where replicas have to confirm the hold. */
class AsyncReplicaTest extends FakeTime {

    @Override
    Settings options() {
        return Settings.DEFAULTS
                .withRetryFor(Duration.ofSeconds(3))
                .withCommandTimeout(Duration.ofSeconds(1))
                .withReplicaAcks(2);
    }

    private CompletableFuture<LockHandle> acquire() {
        return locks.reentrantLock("job").acquireAsync();
    }

    @Test
    void tooFew_failsAfterRetryFor() {
        redis.confirmBy(1);
        CompletableFuture<LockHandle> future = acquire();
        passUntilDone(future);
        assertThatThrownBy(future::join)
                .cause()
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.TOO_FEW_REPLICAS);
        passUntil(() -> server.hash(KEY).isEmpty());
    }

    @Test
    void enoughAgain_isHeld() {
        redis.confirmBy(1);
        CompletableFuture<LockHandle> future = acquire();
        passUntil(() -> redis.log().count("take", "acquire") >= 2);
        redis.confirmBy(2);
        passUntilDone(future);
        assertThat(future.join().isHeld()).isTrue();
        future.join().close();
    }

    @Test
    void grantByAnotherClient_isConfirmedFirst() {
        other.lock();
        redis.confirmBy(2);
        CompletableFuture<LockHandle> future = acquire();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        int before = redis.log().count("renew");
        other.unlock();
        passUntilDone(future);
        assertThat(future.join().isHeld()).isTrue();
        assertThat(redis.log().count("renew")).isGreaterThan(before);
        future.join().close();
    }

    /**
     * The acquisition has no attempt then that a close would end. By the machine's time: that of a test passes in a
     * close.
     */
    @Test
    void close_whileItPausesBetweenTwoAttempts_failsIt() {
        InMemoryRedis own = new InMemoryRedis();
        RedisLocks client = RedisLocks.on(own, options().withRetryFor(Duration.ofMinutes(5)), List.of(), Clock.SYSTEM);
        own.confirmBy(1);
        CompletableFuture<LockHandle> future = client.reentrantLock("job").acquireAsync();
        // Pauses become longer, so that the fifth is not missed.
        await().pollInterval(Duration.ofMillis(1))
                .until(() -> own.log().count("take", "acquire") >= 5
                        && inside(client).attempts().isEmpty());
        assertThat(future).isNotDone();
        client.close();
        await().until(future::isDone);
        assertThatThrownBy(future::join).hasCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void cancel_whileItPausesBetweenTwoAttempts_leavesNothing() {
        redis.confirmBy(1);
        CompletableFuture<LockHandle> future = acquire();
        await().until(() ->
                redis.log().count("take", "acquire") >= 1 && inside.attempts().isEmpty());
        future.cancel(true);
        await().until(() -> inside.async().count() == 0);
        passUntil(() -> server.hash(KEY).isEmpty());
    }

    @Test
    void cancel_whileTooFewConfirmItsGrant_leavesNothing() {
        redis.confirmBy(1);
        HeldCalls held = redis.hold(verb("take")).whateverTheirTimeouts();
        CompletableFuture<LockHandle> future = acquire();
        held.awaitParked(1, Duration.ofSeconds(20));
        future.cancel(true);
        held.release();
        passUntil(() -> redis.log().count("leave") == 1 && server.hash(KEY).isEmpty());
        redis.confirmBy(2);
        othersHaveTheLock();
    }
}
