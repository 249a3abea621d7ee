package io.github.redislocks.multijvm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.WorkerJvm;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process whose heap was full for some time, at any moment, goes on as soon as there is memory again. */
@Timeout(180)
class ExhaustedHeapTest {

    private static final String TIMES = "40";

    @Test
    void lockAndCondition_whileTheHeapIsFullAgainAndAgain_workAfterwards() throws InterruptedException {
        String uri = RedisServers.shared().uri();
        String name = "heap-" + UUID.randomUUID();
        try (WorkerJvm worker = WorkerJvm.start(List.of("-Xmx48m"), HeapWorker.class, uri, name, TIMES);
                RedisLocks locks = RedisLocks.connect(uri)) {
            worker.awaitLine("plenty", Duration.ofSeconds(90));
            // A lease and more: what an error kept from being released has ended by then.
            worker.awaitLine("done", Duration.ofSeconds(60));
            RedisReentrantLock lock = locks.reentrantLock(name);
            assertThat(lock.tryLock(5, TimeUnit.SECONDS)).isTrue();
            lock.unlock();
            worker.awaitLine("closed", Duration.ofSeconds(20));
        }
    }
}
