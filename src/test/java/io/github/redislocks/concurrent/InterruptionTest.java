package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class InterruptionTest {

    private static final int RACES = 50_000;

    private final Interruption interruption = new Interruption();

    @AfterEach
    void clear() {
        boolean unused = Thread.interrupted();
    }

    @Test
    void fire_interruptsOnce() {
        interruption.fire();
        assertThat(Thread.interrupted()).isTrue();
        interruption.fire();
        assertThat(Thread.interrupted()).isFalse();
        assertThat(interruption.end()).isTrue();
    }

    @Test
    void fire_afterTheEnd_doesNothing() {
        assertThat(interruption.end()).isFalse();
        interruption.fire();
        assertThat(Thread.interrupted()).isFalse();
        assertThat(interruption.end()).as("a second time").isFalse();
    }

    @Test
    void end_afterAnInterruptThatNobodyNoticed_takesItBack() {
        interruption.fire();
        assertThat(interruption.end()).isTrue();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void end_leavesAnInterruptThatCameBefore() {
        Thread.currentThread().interrupt();
        interruption.fire();
        assertThat(interruption.end()).isTrue();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void fire_thatRacesTheEnd_isOverWithIt() {
        Phaser round = new Phaser(2);
        AtomicReference<@Nullable Interruption> current = new AtomicReference<>();
        Thread other = new Thread(() -> {
            for (int i = 0; i < RACES; i++) {
                round.arriveAndAwaitAdvance();
                Interruption raced = current.get();
                if (raced != null) {
                    raced.fire();
                }
                round.arriveAndAwaitAdvance();
            }
        });
        other.start();
        int fired = 0;
        for (int i = 0; i < RACES; i++) {
            Interruption raced = new Interruption();
            current.set(raced);
            round.arriveAndAwaitAdvance();
            fired += raced.end() ? 1 : 0;
            boolean before = Thread.interrupted();
            round.arriveAndAwaitAdvance();
            assertThat(before || Thread.interrupted())
                    .as("interrupted after the end")
                    .isFalse();
        }
        assertThat(fired).isLessThanOrEqualTo(RACES);
    }
}
