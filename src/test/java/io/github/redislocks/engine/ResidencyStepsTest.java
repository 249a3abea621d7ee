package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LocalHold;
import io.github.redislocks.state.Residence;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a thread has under a residence while no watchdog looks. */
@Timeout(30)
class ResidencyStepsTest extends SteppedClient {

    private static final Settings KEEPING = Settings.DEFAULTS.withResidency(Duration.ofHours(1));

    private final Sync kept = client.lock("job", false, KEEPING);

    @BeforeEach
    void listen() {
        // Else the first request would be late: the client does not know the time of the server.
        Sync first = client.lock("first", false);
        first.lock(LEASE, true);
        first.unlock();
        openMailbox();
    }

    private Residence residence() {
        return client.residences.of(kept.keys(), 1);
    }

    @Test
    void hold_isOverWithTheLease_whoeverLooksFirst() {
        kept.lock(LEASE, true);
        assertThat(kept.held()).isNotNull();
        assertThat(kept.remainingNanos()).isBetween(29_000 * MILLI, LEASE * MILLI);
        clock.advanceMillis(LEASE);
        assertThat(kept.held()).isNull();
        assertThat(kept.remainingNanos()).isZero();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("EXPIRED");
        assertThat(client.holds.all()).isEmpty();
        assertThat(residence().tryTurnFirst()).as("the turn is free").isTrue();
    }

    @Test
    void lease_ofAForcedLock_endsTheHold() {
        kept.lock(LEASE, true);
        Hold lease = residence().lease();
        assertThat(client.queries().forceUnlock(kept.keys())).isTrue();
        assertThat(lease.isLost()).isTrue();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("TAKEN");
        kept.lock(LEASE, true);
        kept.unlock();
    }

    @Test
    void releaseThatFindsNothing_isALossOfTheThread() {
        kept.lock(LEASE, true);
        residence().recall(residence().lease().attempt, clock.nanoTime());
        redis.del(KEY);
        clock.advanceMillis(1);
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("TAKEN");
        assertThat(kept.hold()).isNull();
        assertThat(client.holds.all()).isEmpty();
        assertThat(residence().tryTurnFirst()).as("the turn is free").isTrue();
    }

    @Test
    void releaseByAnError_goesOnInTheBackground() {
        kept.lock(LEASE, true);
        residence().recall(residence().lease().attempt, clock.nanoTime());
        clock.advanceMillis(1);
        fail("release", broken);
        assertThatThrownBy(kept::unlock).isSameAs(broken);
        client.handoff.rescue(client.holds.all().iterator().next());
        assertThat(commands()).containsExactly("release");
        assertThat(residence().holding()).isNull();
        assertThat(residence().tryTurnFirst()).as("the turn is free").isTrue();
    }

    @Test
    void lossThatIsSaidTwice_endsNoTurnOfAnother() {
        kept.lock(LEASE, true);
        LocalHold lost = residence().holding();
        client.losses.lose(residence().lease(), LockLost.Reason.TAKEN);
        assertThat(residence().tryTurn()).isTrue();
        residence().lost(lost);
        assertThat(residence().tryTurnFirst())
                .as("the turn is that of the next")
                .isFalse();
        residence().endTurn();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void namedLease_ofAnInnerLock_countsFromThen() {
        kept.lock(LEASE, true);
        kept.lock(60_000, false);
        assertThat(kept.remainingNanos()).isGreaterThan(59_000 * MILLI);
        assertThat(redis.pttl(KEY)).isEqualTo(60_000);
        kept.unlock();
        kept.unlock();
    }

    @Test
    void outageThatLastsTooLong_isNoReasonToSayBusy() {
        kept.lock(LEASE, true);
        kept.unlock();
        client.residences.giveUp(residence());
        assertThat(residence().tryTurn()).as("another thread asks").isTrue();
        redis.down(true);
        assertThatThrownBy(() -> kept.tryLock(LEASE, true)).isInstanceOf(LockUnavailableException.class);
        clock.advanceMillis(1);
        assertThatThrownBy(() -> kept.tryLock(1, LEASE, true)).isInstanceOf(LockUnavailableException.class);
        residence().endTurn();
    }

    @Test
    void recall_whileAThreadHasTheTurn_isLeftToThatThread() {
        kept.lock(LEASE, true);
        kept.unlock();
        Residence residence = residence();
        long attempt = residence.lease().attempt;
        assertThat(residence.tryTurn()).isTrue();
        client.residences.recalled(KEY, attempt);
        residence.endTurn();
        assertThat(residence.lease()).as("nobody has looked since").isNotNull();
        client.residences.turnEnded(residence);
        assertThat(residence.lease()).isNull();
        assertThat(commands()).containsExactly("release");
    }

    @Test
    void recall_ofAnEarlierLease_changesNothing() {
        kept.lock(LEASE, true);
        kept.unlock();
        long attempt = residence().lease().attempt;
        client.residences.recalled(KEY, attempt - 1);
        assertThat(residence().lease()).isNotNull();
        assertThat(residence().tryTurnFirst()).as("the turn is free").isTrue();
        residence().endTurn();
        client.residences.recalled(KEY, attempt);
        assertThat(residence().lease()).isNull();
    }

    @Test
    void closedMailbox_keepsNothing() {
        kept.lock(LEASE, true);
        client.mailbox.close();
        kept.unlock();
        assertThat(redis.hash(KEY)).as("nobody could recall it").isEmpty();
    }
}
