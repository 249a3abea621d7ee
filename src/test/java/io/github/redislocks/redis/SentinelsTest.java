package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.sentinel.Sentinels;
import io.github.redislocks.redis.sentinel.Sentinels.Sighting;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The master that a client believes in when Sentinels disagree. */
class SentinelsTest {

    private static final Address OLD = new Address("old", 1);
    private static final Address NEW = new Address("new", 1);
    private static final Address ALIEN = new Address("alien", 1);

    private static final Sighting BEFORE = new Sighting(OLD, 1);
    private static final Sighting AFTER = new Sighting(NEW, 2);
    private static final Sighting WRONG = new Sighting(ALIEN, 99);
    private static final Sighting AWAY = null;

    private static Address chosen(Address known, boolean late, Sighting... said) {
        List<Optional<Sighting>> all =
                Arrays.stream(said).map(Optional::ofNullable).toList();
        return Sentinels.chosen(known, all, late);
    }

    private static Address later(Sighting... said) {
        return chosen(OLD, true, said);
    }

    private static Address first(Sighting... said) {
        return chosen(null, false, said);
    }

    private static Address firstAndLate(Sighting... said) {
        return chosen(null, true, said);
    }

    @Test
    void another_thatHalfOfThemName_isNotBelieved() {
        assertThat(later(AFTER, BEFORE, BEFORE)).isEqualTo(OLD);
        assertThat(later(AFTER, AWAY, AWAY)).isEqualTo(OLD);
        assertThat(later(AFTER, AFTER, AWAY, AWAY)).isEqualTo(OLD);
        assertThat(later(WRONG, BEFORE)).isEqualTo(OLD);
        assertThat(later(WRONG, BEFORE, BEFORE, AWAY)).isEqualTo(OLD);
    }

    @Test
    void another_thatMostName_isBelievedWhateverItsEpoch() {
        assertThat(later(AFTER, AFTER, BEFORE)).isEqualTo(NEW);
        assertThat(later(AFTER, AFTER, AWAY)).isEqualTo(NEW);
        assertThat(later(AFTER)).isEqualTo(NEW);
        assertThat(chosen(ALIEN, true, WRONG, BEFORE, BEFORE, BEFORE)).isEqualTo(OLD);
        assertThat(chosen(NEW, true, BEFORE, BEFORE, AWAY))
                .as("epochs that began anew")
                .isEqualTo(OLD);
    }

    @Test
    void noneThatMostName_leavesTheKnownOne() {
        assertThat(later(AWAY, AWAY, AWAY)).isEqualTo(OLD);
        assertThat(later(AFTER, WRONG, AWAY)).isEqualTo(OLD);
        assertThat(chosen(NEW, true, BEFORE, AWAY, AWAY))
                .as("old news of one that is alone")
                .isEqualTo(NEW);
    }

    @Test
    void firstMaster_isTheOneOfMost_andUntilItIsLateOnlyThat() {
        assertThat(first(BEFORE, BEFORE, AWAY)).isEqualTo(OLD);
        assertThat(first(WRONG, AWAY, AWAY, AWAY)).isNull();
        assertThat(first(AWAY)).isNull();
        assertThat(firstAndLate(AWAY, AWAY)).isNull();
        assertThat(firstAndLate(AWAY, BEFORE, AWAY)).isEqualTo(OLD);
        assertThat(firstAndLate(WRONG, BEFORE, BEFORE, AWAY)).isEqualTo(OLD);
        assertThat(firstAndLate(BEFORE, AFTER, AWAY))
                .as("the one of the later failover")
                .isEqualTo(NEW);
    }
}
