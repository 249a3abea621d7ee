package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Uninterrupted;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class LossReportTest {

    @Test
    void lossThatIsFoundWhileTheClientCloses_isToldAsWell() {
        List<LockLost> told = new CopyOnWriteArrayList<>();
        LossReport report = new LossReport(told::add);
        LockLost first = new LockLost("a", 1, "main", LockLost.Reason.EXPIRED);
        LockLost last = new LockLost("b", 2, "main", LockLost.Reason.EXPIRED);
        report.report(first);
        report.close(Duration.ofSeconds(10));
        assertThat(told).containsExactly(first);
        report.report(last);
        await().until(() -> told.size() == 2);
        assertThat(told).containsExactly(first, last);
    }

    @Test
    void listenerThatIsBusyWhileTheClientCloses_isToldOneAfterTheOther() throws InterruptedException {
        List<LockLost> told = new CopyOnWriteArrayList<>();
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        CountDownLatch go = new CountDownLatch(1);
        LossReport report = new LossReport(loss -> {
            Uninterrupted.until(System.nanoTime() + 10_000_000_000L, nanos -> go.await(nanos, TimeUnit.NANOSECONDS));
            threads.add(Thread.currentThread());
            told.add(loss);
        });
        List<LockLost> losses = Stream.of("a", "b", "c")
                .map(name -> new LockLost(name, 1, "main", LockLost.Reason.EXPIRED))
                .toList();
        report.report(losses.get(0));
        report.report(losses.get(1));
        report.close(Duration.ofMillis(1));
        report.report(losses.get(2));
        assertThat(told).as("it is busy").isEmpty();
        go.countDown();
        await().until(() -> told.size() == 3);
        assertThat(told).isEqualTo(losses);
        assertThat(threads).hasSize(1);
        for (Thread thread : threads) {
            thread.join(10_000);
            assertThat(thread.isAlive()).isFalse();
        }
    }
}
