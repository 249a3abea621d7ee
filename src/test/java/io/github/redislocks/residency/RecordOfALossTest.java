package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The record of a loss of a kept lock lasts until its thread has unlocked, and one record is enough. */
@Timeout(30)
class RecordOfALossTest extends SteppedResidence {

    private void hasNothingToUnlock() {
        assertThat(client.holds.all()).isEmpty();
        assertThatThrownBy(kept::unlock).isExactlyInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void unlock_beforeTheRecordIsMade_leavesNoRecord() {
        kept.lock();
        ThreadHold local = residence().holding();
        // Another thread declares the loss, and is about to make the record.
        residence().lease().lose(LockLost.Reason.TAKEN);
        assertThat(local.lose(LockLost.Reason.TAKEN)).isTrue();
        assertThat(local.beginTelling()).isTrue();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        residence().lost(local);
        local.endTelling(true);
        watch();
        hasNothingToUnlock();
    }

    @Test
    void losses_ofAThreadThatDoesNotUnlock_areAtMostTwoRecords() {
        for (int i = 0; i < 10; i++) {
            kept.lock();
            client.losses.lose(residence().lease(), LockLost.Reason.TAKEN);
            redis.del(KEY);
        }
        ThreadHold latest =
                residences.threadLosses.of(kept.keys(), inside.owners().caller());
        assertThat(latest.earlier().earlier()).isNull();
        for (int i = 0; i < 10; i++) {
            assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        }
        hasNothingToUnlock();
    }
}
