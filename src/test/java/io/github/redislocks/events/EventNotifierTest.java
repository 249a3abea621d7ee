package io.github.redislocks.events;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LossListener;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.state.LossSubject;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("It looks at what all threads log")
class EventNotifierTest {

    @Test
    void lost_afterAwaitTold_isPublished() {
        List<LockLost> told = new CopyOnWriteArrayList<>();
        EventNotifier events = new EventNotifier(LossListener.to(told::add));
        LockLost first = LockLost.of("a", 1, "main", LockLost.Reason.EXPIRED);
        LockLost last = LockLost.of("b", 2, "main", LockLost.Reason.EXPIRED);
        events.lost(first, () -> true);
        events.awaitTold(Duration.ofSeconds(10));
        assertThat(told).containsExactly(first);
        events.lost(last, () -> true);
        await().until(() -> told.size() == 2);
        assertThat(told).containsExactly(first, last);
    }

    @Test
    void isHeard_withListenersForLossesOnly_isFalse() {
        List<LockLost> told = new CopyOnWriteArrayList<>();
        EventNotifier losses = new EventNotifier(List.of(new LossCallback(told::add)));
        assertThat(losses.isHeard()).isFalse();
        LockLost loss = LockLost.of("a", 1, "main", LockLost.Reason.EXPIRED);
        losses.lost(loss, () -> true);
        losses.awaitTold(Duration.ofSeconds(10));
        assertThat(told).containsExactly(loss);
        EventNotifier more = new EventNotifier(List.of(new LossCallback(told::add), new LockListener() {}));
        assertThat(more.isHeard()).isTrue();
    }

    @Test
    void isHeard_withoutListeners_isTrueWhileARecordingRuns() {
        EventNotifier events = new EventNotifier(List.of());
        assertThat(events.isHeard()).isFalse();
        try (Recording recording = new Recording()) {
            recording.enable("io.github.redislocks.LockHold");
            recording.start();
            assertThat(events.isHeard()).isTrue();
        }
        assertThat(events.isHeard()).isFalse();
    }

    @Test
    void givenUp_whileAListenerIsTooSlow_isDroppedAndCountedInTheLog() {
        AtomicInteger told = new AtomicInteger();
        CountDownLatch go = new CountDownLatch(1);
        EventNotifier events = new EventNotifier(List.of(new LockListener() {
            @Override
            public void givenUp(LockGivenUp event) {
                if (told.getAndIncrement() == 0) {
                    Uninterruptibles.until(
                            System.nanoTime() + 20_000_000_000L, nanos -> go.await(nanos, TimeUnit.NANOSECONDS));
                }
            }
        }));
        LockGivenUp event = LockGivenUp.of("a", LockGivenUp.Reason.IDLE, Duration.ZERO, 1);
        String log = Logged.by(() -> {
            events.givenUp(() -> event);
            await().until(() -> told.get() == 1);
            for (int i = 0; i < EventNotifier.MAX_GIVEN_UP + 7; i++) {
                events.givenUp(() -> event);
            }
            go.countDown();
            events.awaitTold(Duration.ofSeconds(20));
            events.givenUp(() -> event);
            events.awaitTold(Duration.ofSeconds(20));
        });
        assertThat(told).hasValue(EventNotifier.MAX_GIVEN_UP + 2);
        assertThat(log).contains("not notified of 7 locks");
    }

    /** The caller repeats the call after an error, and does not know whether the first call queued the loss. */
    @Test
    void lost_repeated_isPublishedOnce() {
        List<LockLost> published = new CopyOnWriteArrayList<>();
        EventNotifier events = new EventNotifier(LossListener.to(published::add));
        LockLost loss = LockLost.of("a", 1, "main", LockLost.Reason.EXPIRED);
        AtomicBoolean first = new AtomicBoolean(true);
        LossSubject subject = () -> first.getAndSet(false);
        events.lost(loss, subject);
        events.lost(loss, subject);
        events.awaitTold(Duration.ofSeconds(10));
        assertThat(published).containsExactly(loss);
    }

    @Test
    void lost_whileAListenerIsBusyAndTheClientCloses_isPublishedInOrder() throws InterruptedException {
        List<LockLost> told = new CopyOnWriteArrayList<>();
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        CountDownLatch go = new CountDownLatch(1);
        EventNotifier events = new EventNotifier(LossListener.to(loss -> {
            Uninterruptibles.until(System.nanoTime() + 10_000_000_000L, nanos -> go.await(nanos, TimeUnit.NANOSECONDS));
            threads.add(Thread.currentThread());
            told.add(loss);
        }));
        List<LockLost> losses = Stream.of("a", "b", "c")
                .map(name -> LockLost.of(name, 1, "main", LockLost.Reason.EXPIRED))
                .toList();
        events.lost(losses.get(0), () -> true);
        events.lost(losses.get(1), () -> true);
        events.awaitTold(Duration.ofMillis(1));
        events.lost(losses.get(2), () -> true);
        assertThat(told).as("the listener is busy").isEmpty();
        go.countDown();
        await().until(() -> told.size() == 3);
        assertThat(told).isEqualTo(losses);
        assertThat(threads).hasSize(1);
        for (Thread thread : threads) {
            thread.join(10_000);
            assertThat(thread.isAlive()).isFalse();
        }
    }

    /** A logger that hangs until the test releases it. */
    private static final class HangingLog implements AutoCloseable {

        private final PrintStream err = System.err;
        private final CountDownLatch goOn = new CountDownLatch(1);
        private final Set<String> lines = ConcurrentHashMap.newKeySet();

        HangingLog() {
            System.setErr(new PrintStream(OutputStream.nullOutputStream()) {
                @Override
                public void println(String line) {
                    lines.add(line);
                    hang(goOn);
                }
            });
        }

        private static void hang(CountDownLatch latch) {
            Uninterruptibles.until(
                    System.nanoTime() + 20_000_000_000L, nanos -> latch.await(nanos, TimeUnit.NANOSECONDS));
        }

        boolean has(String text) {
            return lines.stream().anyMatch(line -> line.contains(text));
        }

        @Override
        public void close() {
            goOn.countDown();
            System.setErr(err);
        }
    }

    @Test
    void awaitTold_whileAListenerIsBusyAndTheLoggerHangs_returns() throws InterruptedException {
        CountDownLatch go = new CountDownLatch(1);
        EventNotifier events = new EventNotifier(LossListener.to(loss -> HangingLog.hang(go)));
        try (HangingLog log = new HangingLog()) {
            events.lost(LockLost.of("a", 1, "main", LockLost.Reason.EXPIRED), () -> true);
            Thread closing = new Thread(() -> events.awaitTold(Duration.ofMillis(1)));
            closing.start();
            closing.join(10_000);
            assertThat(closing.isAlive()).isFalse();
            log.goOn.countDown();
            await().until(() -> log.has("One of the lock listeners is still busy"));
        } finally {
            go.countDown();
        }
    }

    @Test
    void lost_whileNoThreadCanBeStartedAndTheLoggerHangs_returns() throws InterruptedException {
        List<LockLost> told = new CopyOnWriteArrayList<>();
        AtomicBoolean scarce = new AtomicBoolean(true);
        Threads threads = Threads.of(
                work -> {
                    if (scarce.get()) {
                        throw new OutOfMemoryError("unable to create native thread, of the test");
                    }
                    return new Thread(work);
                },
                "test");
        EventNotifier events = new EventNotifier(LossListener.to(told::add), threads);
        try (HangingLog log = new HangingLog()) {
            Thread renewing = new Thread(() -> {
                events.lost(LockLost.of("a", 1, "main", LockLost.Reason.EXPIRED), () -> true);
                events.startThreads();
            });
            renewing.start();
            renewing.join(10_000);
            assertThat(renewing.isAlive()).isFalse();
            scarce.set(false);
            events.startThreads();
            await().until(() -> told.size() == 1);
            log.goOn.countDown();
            await().until(() -> log.has("No thread could be started for the lock listeners"));
        }
    }
}
