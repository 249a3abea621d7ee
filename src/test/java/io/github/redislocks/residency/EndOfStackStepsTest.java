package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.engine.Sync;
import io.github.redislocks.fixture.NearTheEnd;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls for a lock that is kept, wherever the stack of their thread ends. */
@Timeout(60)
class EndOfStackStepsTest extends SteppedResidence {

    /** More than any of these calls needs. */
    private static final int DEPTHS = 250;

    private Residence kept(Sync lock) {
        lock.lock();
        lock.unlock();
        clock.advanceMillis(1);
        return residences.of(lock.keys(), 3_600_000 * MILLI);
    }

    private Sync lock(int number) {
        return client.lock("deep" + number, false, KEEPING);
    }

    /** Does something in a thread of its own, and then something with so many calls left; whether it overflowed. */
    private static boolean overflows(int left, Runnable first, Runnable deep) throws InterruptedException {
        AtomicBoolean met = new AtomicBoolean();
        Thread thread = NearTheEnd.thread(() -> {
            first.run();
            met.set(NearTheEnd.overflows(left, deep));
        });
        thread.start();
        thread.join();
        return met.get();
    }

    /** @param first what comes before another client tries the lock */
    private void loseNoTry(Consumer<Sync> first, Consumer<Sync> deep) throws InterruptedException {
        List<Integer> lost = new ArrayList<>();
        int overflows = 0;
        for (int left = 0; left < DEPTHS; left++) {
            Sync lock = lock(left);
            Residence residence = kept(lock);
            AtomicInteger answered = new AtomicInteger();
            boolean met = overflows(
                    left,
                    () -> {
                        first.accept(lock);
                        residence.ask(answered::incrementAndGet);
                    },
                    () -> deep.accept(lock));
            overflows += met ? 1 : 0;
            watch();
            // Else the answer comes with the release that goes on.
            if (answered.get() == 0 && !residence.isAsked() && !isReleasing(lock)) {
                lost.add(left);
            }
        }
        assertThat(overflows).isBetween(1, DEPTHS - 1);
        assertThat(lost).isEmpty();
    }

    private boolean isReleasing(Sync lock) {
        return client.holds.all().stream()
                .anyMatch(hold ->
                        hold.isReleasing() && hold.lock().equals(lock.keys().lock()));
    }

    @Test
    void unlock_losesNoTryOfAnother() throws InterruptedException {
        loseNoTry(lock -> lock.lock(), Sync::unlock);
    }

    @Test
    void lock_losesNoTryOfAnother() throws InterruptedException {
        loseNoTry(lock -> {}, lock -> lock.lock());
    }

    @Test
    void endOfATurn_losesNoTryOfAnother() throws InterruptedException {
        loseNoTry(lock -> {}, lock -> residences.ends.turnEnded(residences.of(lock.keys(), 1)));
    }

    @Test
    void endOfATurn_inWhichTheLockWasRecalled_leavesItToTheWatchdog() throws InterruptedException {
        List<Integer> kept = new ArrayList<>();
        int overflows = 0;
        for (int left = 0; left < DEPTHS; left++) {
            Residence residence = kept(lock(left));
            residence.recall(residence.lease().attempt, clock.nanoTime());
            clock.advanceMillis(300);
            overflows += overflows(left, () -> {}, () -> residences.ends.turnEnded(residence)) ? 1 : 0;
            for (int walk = 0; walk < 2; walk++) {
                watch();
                residences.inspect(clock.nanoTime(), clock.nanoTime(), (key, job) -> {});
            }
            if (residence.lease() != null && residence.lease().isOpen()) {
                kept.add(left);
            }
        }
        assertThat(overflows).isBetween(1, DEPTHS - 1);
        assertThat(kept).isEmpty();
    }
}
