package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLost;
import org.junit.jupiter.api.Test;

class LimitedHoldTest {

    private static final long MILLI = 1_000_000;
    private static final long BEGIN = 1_000 * MILLI;

    /** A hold that may last for a minute. */
    private static Hold hold(long leaseMillis, boolean renewed, boolean confirmed) {
        Attempt attempt = new Attempt(
                7,
                LockKeys.of("p", "a"),
                new Owner("owner"),
                new Attempt.Request(leaseMillis, renewed, false, 60_000),
                WaitLimit.endless());
        long deadline = BEGIN + Timing.validityNanos(attempt.leaseMillis);
        return new LimitedHold(attempt, new Attempt.Grant(5, false, deadline, 0, confirmed), BEGIN, 10, null);
    }

    private static LockLost.Reason reasonAtItsDeadline(Hold hold) {
        assertThat(hold.loseIfPast(hold.deadlineNanos())).isTrue();
        return hold.lossReason();
    }

    @Test
    void request_forALongerLease_isForNoLongerThanTheHoldMayLast() {
        assertThat(new Attempt.Request(30_000, true, false, 10_000).leaseMillis())
                .isEqualTo(10_000);
        assertThat(new Attempt.Request(30_000, true, false, 60_000).leaseMillis())
                .isEqualTo(30_000);
        assertThat(new Attempt.Request(30_000, true, false).leaseMillis()).isEqualTo(30_000);
    }

    @Test
    void leaseAt_nearTheEnd_isTheRestInWholeMilliseconds() {
        Hold hold = hold(30_000, true, true);
        assertThat(hold.leaseAt(BEGIN, 30_000)).isEqualTo(30_000);
        assertThat(hold.leaseAt(BEGIN + 30_000 * MILLI, 30_000)).isEqualTo(30_000);
        assertThat(hold.leaseAt(BEGIN + 30_000 * MILLI + 1, 30_000)).isEqualTo(29_999);
        assertThat(hold.leaseAt(BEGIN + 60_000 * MILLI, 30_000)).isEqualTo(1);
        assertThat(hold.leaseAt(BEGIN + 99_000 * MILLI, 30_000)).isEqualTo(1);
    }

    @Test
    void leaseAt_ofAHoldWithoutEnd_isWhatIsWanted() {
        Attempt attempt = new Attempt(
                7,
                LockKeys.of("p", "a"),
                new Owner("owner"),
                new Attempt.Request(30_000, true, false),
                WaitLimit.endless());
        Hold hold = new Hold(attempt, new Attempt.Grant(5, false, 100, 0, true), 0, 10, null);
        assertThat(hold.leaseAt(Long.MAX_VALUE, 30_000)).isEqualTo(30_000);
        assertThat(hold.warningNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(hold.maxHoldMillis()).isZero();
    }

    @Test
    void loss_afterALeaseThatReachesTheEnd_isThatItWasHeldTooLong() {
        Hold hold = hold(30_000, true, true);
        long sent = BEGIN + 40_000 * MILLI + 1;
        assertThat(hold.extend(BEGIN, sent, hold.leaseAt(sent, 30_000))).isTrue();
        hold.ask(Leased.Asker.WATCHDOG, 0);
        assertThat(reasonAtItsDeadline(hold)).isEqualTo(LockLost.Reason.HELD_TOO_LONG);
    }

    @Test
    void loss_afterALeaseThatEndsBefore_isAsOfAnyHold() {
        Hold hold = hold(30_000, true, true);
        assertThat(hold.extend(BEGIN, BEGIN + 20_000 * MILLI, 30_000)).isTrue();
        assertThat(reasonAtItsDeadline(hold)).isEqualTo(LockLost.Reason.EXPIRED);
    }

    @Test
    void loss_afterALeaseThatCameTooLate_isAsOfAnyHold() {
        Hold hold = hold(30_000, true, true);
        assertThat(hold.extend(hold.deadlineNanos(), BEGIN + 30_000 * MILLI, 30_000))
                .isFalse();
        assertThat(reasonAtItsDeadline(hold)).isEqualTo(LockLost.Reason.EXPIRED);
    }

    /** The lease was asked for before the hold began, and ends a little sooner. */
    @Test
    void loss_ofAGrantForTheWholeTime_isThatItWasHeldTooLong() {
        assertThat(reasonAtItsDeadline(hold(90_000, false, true))).isEqualTo(LockLost.Reason.HELD_TOO_LONG);
        assertThat(reasonAtItsDeadline(hold(90_000, false, false)))
                .as("of a claim")
                .isEqualTo(LockLost.Reason.EXPIRED);
    }

    @Test
    void covers_aLeaseThatLastsToTheEnd_anyOther() {
        Hold hold = hold(30_000, false, true);
        assertThat(hold.covers(BEGIN, 40_000, false)).isFalse();
        long sent = BEGIN + 1_000 * MILLI;
        assertThat(hold.extend(sent, sent, hold.leaseAt(sent, 90_000))).isTrue();
        assertThat(hold.covers(sent + MILLI, 90_000, false)).isTrue();
        assertThat(hold.covers(hold.deadlineNanos(), 90_000, false)).isFalse();
    }

    @Test
    void reentry_withALongerLease_countsForNoLongerThanTheHoldMayLast() {
        Hold hold = hold(30_000, true, true);
        hold.reentered(600_000, true, 0);
        assertThat(hold.leaseMillis()).isEqualTo(60_000);
        assertThat(hold.renewedMillis()).isEqualTo(60_000);
    }

    @Test
    void warning_isDueAThirdBeforeTheEnd_once() {
        Hold hold = hold(30_000, true, true);
        assertThat(hold.warningNanos()).isEqualTo(BEGIN + 40_000 * MILLI);
        hold.warned();
        assertThat(hold.warningNanos()).isEqualTo(Long.MAX_VALUE);
    }
}
