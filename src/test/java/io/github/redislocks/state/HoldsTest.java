package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLost;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The holds of a client, by lock and thread. */
class HoldsTest {

    private final Holds holds = new Holds();
    private final Owner owner = new Owner("owner");
    private long numbers;

    private Hold hold(String name, @Nullable Hold below) {
        Attempt attempt = new Attempt(
                ++numbers,
                LockKeys.of("p", name),
                owner,
                new Attempt.Request(30_000, true, false),
                WaitLimit.endless());
        return new Hold(attempt, new Attempt.Grant(5, false, 100, 0, true), 0, 10, below);
    }

    private @Nullable Hold get(String name) {
        return holds.get(LockKeys.of("p", name), owner);
    }

    @Test
    void hold_isFoundByItsLockAndThread() throws InterruptedException {
        Hold hold = hold("a", null);
        holds.put(hold);
        assertThat(get("a")).isSameAs(hold);
        assertThat(get("b")).isNull();
        assertThat(holds.get(LockKeys.of("p", "a"), Thread.currentThread())).isSameAs(hold);
        Thread other = new Thread(() -> {});
        assertThat(holds.get(LockKeys.of("p", "a"), other)).isNull();
        assertThat(holds.all()).containsExactly(hold);
        assertThat(holds.count()).isEqualTo(1);
    }

    @Test
    void laterHoldOfTheSameThread_takesThePlaceOfTheOneBefore() {
        holds.put(hold("a", null));
        Hold later = hold("a", null);
        holds.put(later);
        assertThat(get("a")).isSameAs(later);
        assertThat(holds.count()).isEqualTo(1);
    }

    @Test
    void holdThatIsUnlocked_givesWayToTheLossBelowIt() {
        Hold lost = hold("a", null);
        lost.lose(LockLost.Reason.TAKEN);
        Hold hold = hold("a", lost);
        holds.put(hold);
        holds.remove(hold("a", null));
        assertThat(get("a")).as("another, though it is equal").isSameAs(hold);
        holds.remove(hold);
        assertThat(get("a")).isSameAs(lost);
        holds.remove(lost);
        assertThat(holds.all()).isEmpty();
    }

    @Test
    void holdThatIsForgotten_goesWithWhatIsBelow() {
        Hold hold = hold("a", hold("a", null));
        holds.put(hold);
        holds.forget(hold);
        assertThat(get("a")).isNull();
    }

    @Test
    void key_isTheLockAndTheThread() {
        Hold hold = hold("a", null);
        assertThat(hold).isEqualTo(hold("a", null)).hasSameHashCodeAs(hold("a", null));
        assertThat(hold).isNotEqualTo(hold("b", null)).isNotEqualTo("a");
        assertThat(hold.hashCode()).isNotEqualTo(hold("b", null).hashCode());
    }
}
