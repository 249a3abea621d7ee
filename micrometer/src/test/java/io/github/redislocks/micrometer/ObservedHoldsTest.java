package io.github.redislocks.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockEvent;
import io.micrometer.observation.Observation;
import io.micrometer.observation.tck.TestObservationRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Finds observations of holds again, and keeps none for ever. */
class ObservedHoldsTest {

    private static final String ONE = "host:1:x:7";
    private static final String OTHER = "host:1:x:h7";

    private final TestObservationRegistry registry = TestObservationRegistry.create();
    private final ObservedHolds holds = new ObservedHolds();

    private Observation made() {
        return Observation.createNotStarted("hold", registry);
    }

    private static LockAcquired acquired(long token, String ownerId) {
        return LockAcquired.of("a", token, Duration.ZERO, false).withOwnerId(ownerId);
    }

    private Observation released(long token, String ownerId) {
        return holds.remove("a", LockEvent.Mode.WRITE, ownerId, token);
    }

    @Test
    void remove_findsTheHoldOfTheOwner() {
        Observation first = made();
        Observation second = made();
        holds.add(acquired(1, ONE), first);
        holds.add(acquired(1, OTHER), second);
        assertThat(released(1, "host:1:x:8")).isNull();
        assertThat(released(1, OTHER)).isSameAs(second);
        assertThat(holds.remove("b", LockEvent.Mode.WRITE, ONE, 1)).isNull();
        assertThat(released(1, ONE)).isSameAs(first);
        assertThat(holds.size()).isZero();
    }

    /** A thread that reads inside its write hold has the lock twice. */
    @Test
    void remove_findsTheHoldOfTheMode() {
        Observation write = made();
        Observation read = made();
        holds.add(acquired(1, ONE), write);
        holds.add(acquired(1, ONE).withMode(LockEvent.Mode.READ), read);
        assertThat(holds.remove("a", LockEvent.Mode.READ, ONE, 1)).isSameAs(read);
        assertThat(released(1, ONE)).isSameAs(write);
    }

    /** The hold of a thread that waited in a Condition while others had the lock. */
    @Test
    void remove_ofALaterToken_findsThatOfTheOwner() {
        Observation waited = made();
        holds.add(acquired(1, ONE), waited);
        holds.add(acquired(2, OTHER), made());
        assertThat(released(3, ONE)).isSameAs(waited);
    }

    /** The loss is told after the owner has acquired the lock again. */
    @Test
    void remove_ofAnEarlierToken_leavesTheLaterOne() {
        Observation first = made();
        Observation second = made();
        holds.add(acquired(1, ONE), first);
        holds.add(acquired(2, ONE), second);
        assertThat(released(1, ONE)).isSameAs(first);
        assertThat(released(1, ONE)).isNull();
        assertThat(released(2, ONE)).isSameAs(second);
    }

    @Test
    void add_aThirdTimeWithoutAnEnd_forgetsTheFirst() {
        Observation first = made();
        assertThat(holds.add(acquired(1, ONE), first)).isNull();
        assertThat(holds.add(acquired(2, ONE), made())).isNull();
        assertThat(holds.add(acquired(3, ONE), made())).isSameAs(first);
        assertThat(holds.size()).isEqualTo(2);
    }

    /** A hold that a thread gave up in a Condition and did not get back, while its later ones end as they should. */
    @Test
    void add_twiceAfterOneWithoutAnEnd_forgetsIt() {
        Observation first = made();
        assertThat(holds.add(acquired(1, ONE), first)).isNull();
        assertThat(holds.add(acquired(2, ONE), made())).isNull();
        released(2, ONE);
        assertThat(holds.add(acquired(3, ONE), made())).isSameAs(first);
        released(3, ONE);
        assertThat(holds.size()).isZero();
    }

    @Test
    void add_byVeryManyOwners_isBounded() {
        for (int i = 0; i < ObservedHolds.MOST + 100; i++) {
            holds.add(acquired(i, "host:1:x:" + i), made());
        }
        assertThat(holds.size()).isEqualTo(ObservedHolds.MOST);
    }
}
