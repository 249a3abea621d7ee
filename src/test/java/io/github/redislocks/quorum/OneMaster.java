package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A master of a quorum that has run for an hour, and its node. A clock of the test measures the restart delay. */
abstract class OneMaster {

    static final long SECOND = 1_000_000_000;
    static final long DELAY_MILLIS = 60_000;

    private static final String PREFIX = "redis-locks:quorum";
    /** So long that no vote is late on a busy machine. */
    private static final long LEASE_MILLIS = 60_000;

    static final long HOUR_MILLIS = 3_600_000;

    final AtomicLong now = new AtomicLong(1);
    final ConcurrentMap<String, Redis> known = new ConcurrentHashMap<>();
    final QuorumCalls calls = new QuorumCalls(1);
    final LockKeys keys = LockKeys.of(PREFIX, "job");
    final VotePoll.Candidate candidate = new VotePoll.Candidate(keys.all(), "client:1", 7, LEASE_MILLIS, 0, 0, "OK");
    final InMemoryRedis master = new InMemoryRedis();
    final QuorumServer server = new QuorumServer(master, PREFIX, DELAY_MILLIS, DELAY_MILLIS, known, now::get);
    private final RetryTimer timer = new RetryTimer(Threads.DAEMONS);
    final QuorumNode node = new QuorumNode(0, server, Settings.DEFAULTS, calls, timer, Threads.DAEMONS);

    @BeforeEach
    void runForLong() {
        master.restart();
        master.stepMillis(HOUR_MILLIS);
    }

    @AfterEach
    void close() {
        timer.close();
        node.shutDown(System.nanoTime() + SECOND);
        node.close(System.nanoTime() + SECOND);
    }
}
