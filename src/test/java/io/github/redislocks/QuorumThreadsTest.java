package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.concurrent.Steps;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.quorum.Quorum;
import io.github.redislocks.quorum.QuorumNode;
import io.github.redislocks.redis.Redis;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client of a quorum in a process where no thread can be started. */
@Timeout(60)
@Order(2) // It waits for 20 s in all, which costs nothing beside other classes.
class QuorumThreadsTest {

    /** So long that no lease expires during a test. */
    private static final Duration LEASE = Duration.ofMinutes(5);

    private static final Duration SOON = Duration.ofSeconds(10);

    private final QuorumTwins masters = new QuorumTwins(LEASE, LEASE);
    private final QuorumTwins.Client client = masters.connect();
    private final Quorum quorum = (Quorum) Inside.of(client.locks.client()).redis();
    private final Set<ThreadPoolExecutor> scarce = ConcurrentHashMap.newKeySet();
    /** The failure of a factory that gives no thread. */
    private volatile Throwable scarcity = new OutOfMemoryError("unable to create native thread, of the test");

    @BeforeEach
    void letThreadsEndSoon() {
        for (QuorumNode node : quorum.nodes) {
            for (ThreadPoolExecutor pool : new ThreadPoolExecutor[] {node.calls, node.lane}) {
                bound(pool);
                pool.setKeepAliveTime(1, TimeUnit.MILLISECONDS);
                await().atMost(SOON).until(() -> pool.getPoolSize() == 0);
            }
        }
    }

    @AfterEach
    void close() {
        scarce.clear();
        masters.close();
    }

    private void bound(ThreadPoolExecutor pool) {
        ThreadFactory threads = pool.getThreadFactory();
        pool.setThreadFactory(work -> {
            if (scarce.contains(pool)) {
                Steps.rethrow(scarcity);
            }
            return threads.newThread(work);
        });
    }

    /** From now on no thread is started for these masters. */
    private void noThreadsFor(String names) {
        names.chars().mapToObj(name -> quorum.nodes.get(name - 'A')).forEach(node -> {
            scarce.add(node.calls);
            scarce.add(node.lane);
            await().atMost(SOON).until(() -> node.calls.getPoolSize() + node.lane.getPoolSize() == 0);
        });
    }

    private void throwsExceptions(boolean exceptions) {
        if (exceptions) {
            scarcity = new IllegalStateException(scarcity.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void tryLock_noThreads_saysSoAndTheNextOneHasTheLock(boolean exceptions) {
        throwsExceptions(exceptions);
        noThreadsFor("ABCDE");
        assertThatThrownBy(client.lock::tryLock)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("unable to create native thread");
        assertThat(quorum.nodes).allMatch(node -> node.remembered() == 0);
        scarce.clear();
        assertThat(client.lock.tryLock()).isTrue();
        client.lock.unlock();
        await().atMost(SOON).until(() -> masters.votes().isEmpty());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void unlock_noThreadForAMaster_endsItsVoteWithTheNextCall(boolean exceptions) {
        throwsExceptions(exceptions);
        client.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        noThreadsFor("A");
        assertThatCode(client.lock::unlock).doesNotThrowAnyException();
        await().atMost(SOON).until(() -> masters.votes().equals("A"));
        scarce.clear();
        assertThat(client.lock.isLocked()).isFalse();
        await().atMost(SOON).until(() -> masters.votes().isEmpty());
        // A vote ends on the master before the client has the answer.
        await().atMost(SOON).until(() -> quorum.nodes.stream().allMatch(node -> node.remembered() == 0));
    }

    /** The background asks, by threads of its own. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void releaseAsync_noThreadForAMaster_endsTheVotesOfTheOthers(boolean exceptions) throws InterruptedException {
        throwsExceptions(exceptions);
        LockHandle handle = client.lock.acquire();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        noThreadsFor("A");
        CompletionStage<Boolean> released = handle.releaseAsync();
        await().atMost(SOON).until(() -> masters.votes().equals("A"));
        assertThat(released).succeedsWithin(SOON).isEqualTo(true);
        scarce.clear();
        assertThat(client.lock.isLocked()).isFalse();
        await().atMost(SOON).until(() -> masters.votes().isEmpty());
    }

    @Test
    void masterThread_afterFailedRestart_isStartedByTheNextCall() {
        QuorumNode node = quorum.nodes.get(0);
        CountDownLatch late = new CountDownLatch(1);
        node.calls.execute(() -> {
            boolean unused = Uninterruptibles.until(
                    System.nanoTime() + SOON.toNanos(), nanos -> late.await(nanos, TimeUnit.NANOSECONDS));
        });
        // Added to the queue itself, since the pool's threads survive the errors of tasks.
        node.calls.getQueue().add(() -> {
            throw new OutOfMemoryError("of the test");
        });
        assertThat(client.lock.tryLock()).isTrue();
        // The first master is asked by the thread that is about to end.
        assertThat(masters.votes()).doesNotContain("A");
        scarce.add(node.calls);
        late.countDown();
        await().atMost(SOON).until(() -> node.calls.getPoolSize() == 0);
        scarce.clear();
        client.lock.unlock();
        client.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        client.lock.unlock();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void message_noThreadForAMaster_isSentToTheOthers(boolean exceptions) {
        throwsExceptions(exceptions);
        Redis.Subscription subscription = masters.server('E').subscribe("channel", SOON.toNanos());
        noThreadsFor("A");
        assertThatCode(() -> quorum.publish("channel", "hello", SOON.toNanos())).doesNotThrowAnyException();
        assertThat(subscription.next()).isEqualTo("hello");
        subscription.close();
    }
}
