package io.github.redislocks.multijvm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.WorkerJvm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process whose heap was full for some time, at any moment, goes on as soon as there is memory again. */
@Timeout(180)
@Tag("server")
class ExhaustedHeapTest {

    private static final String TIMES = "60";

    @Test
    void lockAndCondition_whileTheHeapIsFullAgainAndAgain_workAfterwards() throws InterruptedException {
        String uri = RedisServers.shared().uri();
        whileTheHeapIsFull(RedisLocks.connect(uri), uri);
    }

    @Test
    void lockOfAQuorum_whileTheHeapIsFullAgainAndAgain_worksAfterwards() throws InterruptedException {
        String[] three = List.of(QuorumServers.shared().uris()).subList(0, 3).toArray(String[]::new);
        RedisLocks locks =
                RedisLocks.builder().quorum(three).restartDelay(Duration.ZERO).build();
        whileTheHeapIsFull(locks, three);
    }

    private static void whileTheHeapIsFull(RedisLocks afterwards, String... uris) throws InterruptedException {
        List<String> args = new ArrayList<>(List.of("heap-" + UUID.randomUUID(), TIMES));
        args.addAll(List.of(uris));
        try (WorkerJvm worker = WorkerJvm.start(List.of("-Xmx48m"), HeapWorker.class, args.toArray(String[]::new));
                afterwards) {
            worker.awaitLine("plenty", Duration.ofSeconds(90));
            // A lease and more: what an error kept from being released has ended by then.
            worker.awaitLine("done", Duration.ofSeconds(60));
            RedisReentrantLock lock = afterwards.reentrantLock(args.get(0));
            assertThat(lock.tryLock(5, TimeUnit.SECONDS)).isTrue();
            lock.unlock();
            worker.awaitLine("closed", Duration.ofSeconds(20));
            worker.awaitLine("without threads", Duration.ofSeconds(20));
        }
    }
}
