package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.NearTheEnd;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ThreadIdsTest {

    /** A thread whose class overrides getId() with 1. */
    private static final class Impostor extends Thread {

        Impostor(Runnable task) {
            super(task);
        }

        @Override
        @SuppressWarnings("deprecation")
        public long getId() {
            return 1;
        }
    }

    @Test
    void current_ofAnOrdinaryThread_isItsId() {
        assertThat(ThreadIds.current()).isEqualTo(Thread.currentThread().getId());
    }

    @Test
    void current_ofThreadsThatOverrideTheirId_differs() throws InterruptedException {
        Set<Long> ids = ConcurrentHashMap.newKeySet();
        for (int i = 0; i < 3; i++) {
            Impostor impostor = new Impostor(() -> {
                assertThat(ThreadIds.current()).isEqualTo(ThreadIds.current());
                ids.add(ThreadIds.current());
            });
            impostor.start();
            impostor.join();
        }
        assertThat(ids).hasSize(3).doesNotContain(1L);
    }

    @Test
    void current_atTheEndOfTheStack_throwsTheError() throws InterruptedException {
        List<Integer> overflows = new CopyOnWriteArrayList<>();
        AtomicReference<Throwable> other = new AtomicReference<>();
        // A class whose initialization overflows the stack stays unusable, so an earlier call has to initialize it.
        assertThat(ThreadIds.current()).isPositive();
        Thread diver = NearTheEnd.thread(() -> {
            for (int left = 0; left < 60; left++) {
                if (NearTheEnd.overflows(left, ThreadIds::current)) {
                    overflows.add(left);
                }
            }
        });
        diver.setUncaughtExceptionHandler((thread, e) -> other.set(e));
        diver.start();
        diver.join();
        assertThat(other.get()).isNull();
        assertThat(overflows).isNotEmpty();
    }
}
