package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import org.junit.jupiter.api.Test;

/** The records of losses under a lease, which threads that find a loss may make at any time. */
class LossRecordsTest {

    private final LockKeys keys = LockKeys.of("p", "a");
    private final Owner owner = new Owner("client:1");
    private final LossRecords records = new LossRecords();

    private ThreadHold hold(long token) {
        Attempt attempt = new Attempt(
                7, keys, new Owner("client:r1"), new Attempt.Request(30_000, true, false), WaitLimit.endless());
        Hold lease = new Hold(attempt, new Attempt.Grant(5, false, Long.MAX_VALUE, 0, true), 0, 10, null);
        return new ThreadHold(lost -> {}, lease, owner, token, false, 0);
    }

    @Test
    void record_addedAgainAfterItsUnlock_staysRemoved() {
        ThreadHold lost = hold(5);
        records.add(lost);
        assertThat(records.of(keys, owner)).isSameAs(lost);
        records.remove(lost);
        records.add(lost);
        assertThat(records.of(keys, owner)).isNull();
    }

    @Test
    void record_addedTwice_isOneRecord() {
        ThreadHold lost = hold(5);
        records.add(lost);
        records.add(lost);
        records.remove(lost);
        assertThat(records.of(keys, owner)).isNull();
    }

    @Test
    void latestRecord_removed_restoresTheEarlier() {
        ThreadHold first = hold(5);
        ThreadHold second = hold(6);
        records.add(first);
        records.add(second);
        assertThat(records.of(keys, owner)).isSameAs(second);
        records.remove(second);
        assertThat(records.of(keys, owner)).isSameAs(first);
    }
}
