package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How replicas confirm a grant of an attempt for which no thread waits. */
class ConfirmLaterTest extends StillClient {

    private final List<BackgroundRequest> sent = new ArrayList<>();
    private final Attempt attempt = enter();
    private final Settlements.Settlement settlement = client.settlements().of(attempt, WaitLimit.endless(), null);

    ConfirmLaterTest() {
        settlement.inBackground(sent::add);
    }

    @Override
    Settings options() {
        return Settings.DEFAULTS.withReplicaAcks(2);
    }

    private Attempt.Grant grant(long token) {
        long now = clock.nanoTime();
        return new Attempt.Grant(token, false, now + 3_000 * MILLI, now, false);
    }

    /** Enough replicas have confirmed the request that was sent last. */
    private void confirm() {
        BackgroundRequest request = sent.get(sent.size() - 1);
        request.begin();
        request.call(clock.nanoTime(), MILLI);
        request.answered(new Reply("OK", List.of(1L)).confirmedBy(2), clock.nanoTime());
        request.deliver();
    }

    @Test
    void grant_thatReplicasConfirm_isAHold() {
        assertThat(settlement.settle(grant(5))).isEqualTo(Settlements.Result.OPEN);
        assertThat(sent).hasSize(1);
        confirm();
        assertThat(settlement.settle(grant(5))).isEqualTo(Settlements.Result.HELD);
        assertThat(settlement.made.token).isEqualTo(5);
    }

    /** Replicas have confirmed another; that one may be gone, and this one not be known to them. */
    @Test
    void confirmation_ofAnEarlierGrant_isNoneOfALaterOne() {
        settlement.settle(grant(5));
        confirm();
        assertThat(settlement.settle(grant(9))).isEqualTo(Settlements.Result.OPEN);
        assertThat(sent).hasSize(2);
        confirm();
        assertThat(settlement.settle(grant(9))).isEqualTo(Settlements.Result.HELD);
        assertThat(settlement.made.token).isEqualTo(9);
    }

    @Test
    void confirmation_ofAGrantThatHasLapsed_isForgotten() {
        Attempt.Grant lapsed = grant(5);
        settlement.settle(lapsed);
        confirm();
        clock.advanceMillis(3_000);
        assertThat(settlement.settle(lapsed)).isEqualTo(Settlements.Result.LAPSED);
        assertThat(settlement.settle(grant(5))).isEqualTo(Settlements.Result.OPEN);
        assertThat(sent).hasSize(2);
    }
}
