package io.github.redislocks;

import static io.github.redislocks.QuorumTwins.KEY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.Moment;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that waits for a lock of a quorum while its client's clock stands still, so that no heartbeat helps. */
@Timeout(30)
class QuorumWaiterTest {

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration SOON = Duration.ofSeconds(10);

    private final FakeClock clock = new FakeClock();
    private final QuorumTwins masters = new QuorumTwins(LEASE, LEASE);
    private final QuorumTwins.Client holder = masters.connect();
    private final QuorumTwins.Client waiting = masters.connect(clock);

    @AfterEach
    void close() {
        // Moves the clock for a waiter that was not served.
        Thread time = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                clock.advanceMillis(1);
                Moment.pass();
            }
        });
        time.start();
        try {
            masters.close();
        } finally {
            time.interrupt();
        }
    }

    @Test
    void messageThatTheLockIsFree_isFollowedAtOnce() throws InterruptedException {
        holder.lock.lock();
        Thread waiter = new Thread(() -> {
            waiting.lock.lock();
            waiting.lock.unlock();
        });
        waiter.start();
        await().atMost(SOON)
                .until(() -> clock.isParked(waiter)
                        && masters.servers.stream()
                                .allMatch(server -> server.zset(KEY + ":queue").size() == 1));
        holder.lock.unlock();
        waiter.join(SOON.toMillis());
        assertThat(waiter.isAlive()).isFalse();
    }
}
