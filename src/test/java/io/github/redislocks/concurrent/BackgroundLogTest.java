package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.github.redislocks.fixture.Logged;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

@Timeout(30)
@Isolated("It looks at what all threads log")
class BackgroundLogTest {

    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final BackgroundLog log = new BackgroundLog(Threads.DAEMONS);
    private final List<Integer> logged = Collections.synchronizedList(new ArrayList<>());

    @Test
    void add_afterAnEntryThatThrows_logsInOrder() {
        log.add(() -> {
            throw new IllegalStateException("of the test");
        });
        for (int i = 0; i < 100; i++) {
            int number = i;
            log.add(() -> logged.add(number));
        }
        log.await(LIMIT);
        assertThat(logged).hasSize(100).isSorted();
    }

    @Test
    void add_whileTheLoggerHangs_dropsEntriesAndLogsTheirNumber() {
        CountDownLatch hangs = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        BackgroundLog log = new BackgroundLog(Threads.DAEMONS, 1_000);
        String said = Logged.by(() -> {
            log.add(() -> {
                hangs.countDown();
                await(goOn);
            });
            await(hangs);
            for (int i = 0; i < 1_007; i++) {
                int number = i;
                log.add(() -> logged.add(number));
            }
            log.await(Duration.ofMillis(1));
            goOn.countDown();
            log.await(LIMIT);
        });
        assertThat(logged).hasSize(1_000);
        assertThat(said).containsOnlyOnce("7 entries were left out").doesNotContain("busy");
    }

    @Test
    void add_ofManyEntriesWhileTheLoggerHangs_logsAll() {
        CountDownLatch hangs = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        log.add(() -> {
            hangs.countDown();
            await(goOn);
        });
        await(hangs);
        for (int i = 0; i < 50_000; i++) {
            int number = i;
            log.add(() -> logged.add(number));
        }
        goOn.countDown();
        log.await(LIMIT);
        assertThat(logged).hasSize(50_000);
    }

    @Test
    void await_byAnInterruptedThread_waitsAndKeepsTheInterrupt() {
        Thread closing = Thread.currentThread();
        log.add(() -> {
            Awaitility.await().until(() -> closing.getState() == Thread.State.TIMED_WAITING);
            logged.add(1);
        });
        closing.interrupt();
        log.await(LIMIT);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(logged).containsExactly(1);
    }

    @Test
    void await_whileNoThreadCanBeStarted_waitsUntilOneCan() {
        AtomicInteger refused = new AtomicInteger(3);
        BackgroundLog scarce = new BackgroundLog(Threads.of(
                work -> {
                    if (refused.getAndDecrement() > 0) {
                        throw new OutOfMemoryError("unable to create native thread, of the test");
                    }
                    return new Thread(work);
                },
                "test"));
        String said = Logged.by(() -> {
            scarce.add(() -> logged.add(1));
            scarce.await(LIMIT);
            assertThat(logged).containsExactly(1);
            scarce.add(() -> logged.add(2));
            scarce.await(LIMIT);
        });
        assertThat(logged).containsExactly(1, 2);
        assertThat(said).containsOnlyOnce("No thread could be started for the log");
    }

    @Test
    void await_withoutEntries_startsNoThread() {
        BackgroundLog never = new BackgroundLog(Threads.of(
                work -> {
                    throw new AssertionError("started");
                },
                "test"));
        assertThatCode(() -> never.await(LIMIT)).doesNotThrowAnyException();
    }

    private static void await(CountDownLatch latch) {
        Uninterruptibles.until(System.nanoTime() + LIMIT.toNanos(), nanos -> latch.await(nanos, TimeUnit.NANOSECONDS));
    }

    @Test
    void add_whileNoThreadCanBeStarted_throwsNothing() {
        BackgroundLog without = new BackgroundLog(Threads.of(
                work -> {
                    throw new StackOverflowError("of the test");
                },
                "test"));
        assertThatCode(() -> without.add(() -> {})).doesNotThrowAnyException();
    }
}
