package io.github.redislocks.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.observation.Observation;
import io.micrometer.observation.tck.TestObservationRegistry;
import org.junit.jupiter.api.Test;

/** Finds observations of holds again, and keeps none for ever. */
class ObservedHoldsTest {

    private final TestObservationRegistry registry = TestObservationRegistry.create();
    private final ObservedHolds holds = new ObservedHolds();

    private Observation made() {
        return Observation.createNotStarted("hold", registry);
    }

    private static void inAnotherThread(Runnable action) throws InterruptedException {
        Thread thread = new Thread(action);
        thread.start();
        thread.join();
    }

    @Test
    void remove_byAnotherThread_findsTheToken() throws InterruptedException {
        Observation first = made();
        Observation second = made();
        holds.add("a", 1, first);
        inAnotherThread(() -> {
            holds.add("a", 2, second);
            assertThat(holds.remove("a", 1)).isSameAs(first);
        });
        assertThat(holds.remove("b", 2)).isNull();
        assertThat(holds.remove("a", 2)).isSameAs(second);
        assertThat(holds.size()).isZero();
    }

    /** The hold of a thread that waited in a Condition while others had the lock. */
    @Test
    void remove_ofALaterToken_findsThatOfTheThread() throws InterruptedException {
        Observation waited = made();
        holds.add("a", 1, waited);
        inAnotherThread(() -> {
            holds.add("a", 2, made());
            holds.add("a", 3, made());
        });
        assertThat(holds.remove("a", 4)).isSameAs(waited);
    }

    @Test
    void add_aThirdTimeWithoutAnEnd_forgetsTheFirst() {
        Observation first = made();
        assertThat(holds.add("a", 1, first)).isNull();
        assertThat(holds.add("a", 2, made())).isNull();
        assertThat(holds.add("a", 3, made())).isSameAs(first);
        assertThat(holds.size()).isEqualTo(2);
    }

    /** A hold that a thread gave up in a Condition and did not get back, while its later ones end as they should. */
    @Test
    void add_twiceAfterOneWithoutAnEnd_forgetsIt() {
        Observation first = made();
        assertThat(holds.add("a", 1, first)).isNull();
        assertThat(holds.add("a", 2, made())).isNull();
        holds.remove("a", 2);
        assertThat(holds.add("a", 3, made())).isSameAs(first);
        holds.remove("a", 3);
        assertThat(holds.size()).isZero();
    }

    @Test
    void add_byVeryManyThreads_isBounded() throws InterruptedException {
        for (int i = 0; i < ObservedHolds.MOST + 100; i++) {
            long token = i;
            inAnotherThread(() -> holds.add("a", token, made()));
        }
        assertThat(holds.size()).isEqualTo(ObservedHolds.MOST);
    }
}
