package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLost;
import io.github.redislocks.state.Leased.Asker;
import java.util.EnumSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What Redis may still have of a hold, by what it was asked for and what it answered. */
class LeasedTest {

    private static final long DEADLINE = 100;

    private static Hold hold(boolean renewed) {
        return hold(renewed, true);
    }

    private static Hold hold(boolean renewed, boolean confirmed) {
        Attempt attempt = new Attempt(
                7,
                LockKeys.of("p", "a"),
                new Owner("owner"),
                new Attempt.Request(30_000, renewed, false),
                WaitLimit.endless());
        return new Hold(attempt, new Attempt.Grant(5, false, DEADLINE, 0, confirmed), 0, Long.MAX_VALUE, null);
    }

    private static void play(Hold hold, String event) {
        switch (event) {
            case "reenter" -> assertThat(hold.ask(Asker.OWNER, 30_000)).isTrue();
            case "reentered" -> hold.answered(Asker.OWNER, true);
            case "reentered-twice" -> hold.answered(Asker.OWNER, false);
            case "refused" -> hold.refused(Asker.OWNER);
            case "renew" -> assertThat(hold.ask(Asker.WATCHDOG, 30_000)).isTrue();
            case "renewed" -> hold.answered(Asker.WATCHDOG, true);
            case "renewed-twice" -> hold.answered(Asker.WATCHDOG, false);
            default -> throw new AssertionError(event);
        }
    }

    /** The events of a hold until its deadline passes: the reason of the loss, and whether Redis may have it longer. */
    @ParameterizedTest
    @CsvSource(textBlock = """
                    named, '', EXPIRED, false
                    named, reenter, UNCONFIRMED, true
                    named, reenter reentered, EXPIRED, false
                    named, reenter refused, EXPIRED, false
                    named, reenter reentered-twice, EXPIRED, true
                    named, reenter reenter reentered, EXPIRED, true
                    named, reenter reenter refused, EXPIRED, true
                    named, renew, EXPIRED, true
                    named, renew renewed, EXPIRED, false
                    named, renew reenter reentered, EXPIRED, true
                    claimed, '', EXPIRED, false
                    claimed, renew, UNCONFIRMED, true
                    claimed, renew renewed, EXPIRED, false
                    claimed, renew renewed renew, EXPIRED, true
                    claimed, reenter reentered renew, EXPIRED, true
                    renewed, '', EXPIRED, false
                    renewed, renew, UNCONFIRMED, true
                    renewed, renew renewed, EXPIRED, false
                    renewed, renew renewed-twice, EXPIRED, true
                    renewed, renew renew renewed, EXPIRED, true
                    renewed, renew renew, UNCONFIRMED, true
                    renewed, reenter renew renewed, EXPIRED, true
                    renewed, reenter reentered renew renewed, EXPIRED, false
                    renewed, renew reenter reentered, UNCONFIRMED, true
                    renewed, renew reenter refused, UNCONFIRMED, true
                    renewed, renew reenter reentered renewed, EXPIRED, false
                    """)
    void lossAtTheDeadline_isWhatTheAnswersSay(
            String kind, String events, LockLost.Reason reason, boolean endsInRedis) {
        Hold hold = hold(kind.equals("renewed"), !kind.equals("claimed"));
        for (String event : events.isEmpty() ? new String[0] : events.split(" ")) {
            play(hold, event);
        }
        assertThat(hold.loseIfPast(DEADLINE)).isTrue();
        assertThat(hold.lossReason()).isEqualTo(reason);
        assertThat(hold.isToEndInRedis()).isEqualTo(endsInRedis);
    }

    @Test
    void otherLosses_withAnOpenRequest_endNothingInRedis() {
        EnumSet<LockLost.Reason> others = EnumSet.allOf(LockLost.Reason.class);
        others.removeAll(EnumSet.of(LockLost.Reason.EXPIRED, LockLost.Reason.UNCONFIRMED));
        for (LockLost.Reason reason : others) {
            Hold hold = hold(true);
            hold.ask(Asker.WATCHDOG, 30_000);
            hold.lose(reason);
            assertThat(hold.isToEndInRedis()).as("%s", reason).isFalse();
        }
    }

    @Test
    void releaseThatGoesOn_endsTheHoldInRedisItself() {
        Hold hold = hold(true);
        hold.ask(Asker.WATCHDOG, 30_000);
        hold.beginRelease(50);
        hold.releasedTooLate();
        assertThat(hold.isToEndInRedis()).isFalse();
    }

    @Test
    void holdThatEnded_isNotAskedFor() {
        Hold lost = hold(true);
        lost.loseIfPast(DEADLINE);
        assertThat(lost.ask(Asker.OWNER, 1)).isFalse();
        assertThat(lost.beginRenewal()).isFalse();
        assertThat(lost.isRenewing()).isFalse();
        Hold released = hold(true);
        released.beginRelease(50);
        assertThat(released.ask(Asker.OWNER, 1)).isFalse();
    }

    @Test
    void longestLease_isThatOfAllRequests() {
        Hold hold = hold(false);
        assertThat(hold.longestLeaseMillis()).isEqualTo(30_000);
        hold.ask(Asker.OWNER, 86_400_000);
        hold.refused(Asker.OWNER);
        hold.ask(Asker.WATCHDOG, 20_000);
        hold.answered(Asker.WATCHDOG, false);
        assertThat(hold.longestLeaseMillis()).isEqualTo(86_400_000);
        assertThat(hold.leaseMillis()).as("the lease that the owner got").isEqualTo(30_000);
        hold.reentered(50_000, false, 0);
        assertThat(hold.leaseMillis()).isEqualTo(50_000);
    }
}
