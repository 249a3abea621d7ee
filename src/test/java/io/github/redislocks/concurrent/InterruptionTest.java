package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that work is interrupted at most once, and not after its end. */
@Timeout(60)
class InterruptionTest {

    private static final int RACES = 50_000;

    private final Interruption interruption = new Interruption();

    @Test
    void interrupt_beforeTheWork_doesNothing() {
        assertThat(interruption.interrupt()).isFalse();
        interruption.begin();
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        interruption.end();
    }

    @Test
    void interrupt_duringTheWork_interruptsOnce() {
        interruption.begin();
        assertThat(interruption.isOfCaller()).isTrue();
        assertThat(interruption.interrupt()).isTrue();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(interruption.interrupt()).isFalse();
        assertThat(Thread.interrupted()).isFalse();
        interruption.end();
    }

    @Test
    void interrupt_afterTheWork_doesNothing() {
        interruption.begin();
        interruption.end();
        assertThat(interruption.interrupt()).isFalse();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void end_ofInterruptedWork_clearsTheFlag() {
        interruption.begin();
        assertThat(interruption.interrupt()).isTrue();
        assertThat(interruption.end()).isTrue();
        assertThat(Thread.interrupted()).isFalse();
        assertThat(interruption.end()).as("a second time").isFalse();
    }

    @Test
    void end_afterAnEarlierInterrupt_keepsTheFlag() {
        interruption.begin();
        Thread.currentThread().interrupt();
        assertThat(interruption.interrupt()).isTrue();
        assertThat(interruption.end()).isTrue();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void end_ofInnerWork_keepsTheInterruptOfTheOuterWork_whoseEndClearsIt() {
        Interruption inner = new Interruption();
        interruption.begin();
        inner.begin();
        assertThat(inner.interrupt()).isTrue();
        assertThat(interruption.interrupt()).isTrue();
        assertThat(inner.end()).isTrue();
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        assertThat(interruption.end()).isTrue();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void end_ofInnerWork_keepsAnEarlierInterruptOfTheOuterWork() {
        Interruption inner = new Interruption();
        interruption.begin();
        inner.begin();
        assertThat(interruption.interrupt()).isTrue();
        assertThat(inner.interrupt()).isTrue();
        assertThat(inner.end()).isTrue();
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        assertThat(interruption.end()).isTrue();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void end_ofInterruptedInnerWork_clearsItsInterrupt() {
        Interruption inner = new Interruption();
        interruption.begin();
        inner.begin();
        assertThat(inner.interrupt()).isTrue();
        assertThat(inner.end()).isTrue();
        assertThat(Thread.interrupted()).isFalse();
        assertThat(interruption.end()).isFalse();
    }

    /** Another thread interrupts all the time: after end() the flag is never set. */
    @Test
    void interrupt_thatRacesTheEnd_neverComesAfterTheEnd() throws InterruptedException {
        AtomicReference<Interruption> present = new AtomicReference<>(interruption);
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger interrupts = new AtomicInteger();
        Runnable rival = () -> {
            while (!over.get()) {
                if (present.get().interrupt()) {
                    interrupts.incrementAndGet();
                }
            }
        };
        Thread one = new Thread(rival);
        Thread two = new Thread(rival);
        one.start();
        two.start();
        int late = 0;
        int races = 0;
        while (races < RACES || interrupts.get() == 0) {
            Interruption next = new Interruption();
            next.begin();
            present.set(next);
            for (int spin = 0; spin < races % 50; spin++) {
                Thread.onSpinWait();
            }
            next.end();
            for (int spin = 0; spin < 50; spin++) {
                Thread.onSpinWait();
            }
            late += Thread.interrupted() ? 1 : 0;
            races++;
        }
        over.set(true);
        one.join();
        two.join();
        assertThat(late).isZero();
        assertThat(interrupts.get()).isLessThanOrEqualTo(races);
    }
}
