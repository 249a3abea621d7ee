package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.QuorumServers;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The number of threads that a client of a quorum needs. */
@Tag("server")
@Tag("once")
@Timeout(60)
class QuorumThreadCountTest {

    @Test
    void uncontendedLocksOfOneCaller_ofThreeMasters_needSixThreads() {
        try (QuorumServers masters = QuorumServers.start(3);
                RedisLocks locks = RedisLocks.builder()
                        .quorum(masters.uris())
                        .restartDelay(Duration.ZERO)
                        .build()) {
            lockOneByOne(locks);
            // The threads that were needed to connect have ended, or will soon.
            await().untilAsserted(() -> {
                lockOneByOne(locks);
                assertThat(threads(locks))
                        .anyMatch(name -> name.contains("node"))
                        .hasSizeLessThanOrEqualTo(6);
            });
        }
    }

    private static void lockOneByOne(RedisLocks locks) {
        for (int i = 0; i < 50; i++) {
            RedisReentrantLock lock = locks.reentrantLock("job-" + i);
            lock.lock();
            lock.unlock();
        }
    }

    private static List<String> threads(RedisLocks locks) {
        String ofThisClient = locks.clientId().replaceFirst(".*:", "-");
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.endsWith(ofThisClient))
                .toList();
    }
}
