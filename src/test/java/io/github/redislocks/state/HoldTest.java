package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLost;
import io.github.redislocks.fixture.NearTheEnd;
import org.junit.jupiter.api.Test;

class HoldTest {

    /** More than a report needs. */
    private static final int DEPTHS = 120;

    private static Hold hold(boolean renewed, long deadlineNanos) {
        Attempt attempt = new Attempt(
                7,
                LockKeys.of("p", "a"),
                new Owner("owner"),
                new Attempt.Request(30_000, renewed, false),
                WaitLimit.endless());
        Attempt.Grant grant = new Attempt.Grant(5, false, deadlineNanos, 0, true);
        return new Hold(attempt, grant, 0, renewed ? 10 : Long.MAX_VALUE, null);
    }

    @Test
    void leaseOfItsOwn_isWantedFromItsBegin() {
        assertThat(hold(false, 100).wantedUntilNanos()).isEqualTo(30_000_000_000L);
    }

    @Test
    void extend_beforeTheDeadline_movesItOnAndNeverBack() {
        Hold hold = hold(true, 100);
        assertThat(hold.extend(50, 200)).isTrue();
        assertThat(hold.deadlineNanos()).isEqualTo(200);
        assertThat(hold.extend(50, 150)).isTrue();
        assertThat(hold.deadlineNanos()).isEqualTo(200);
    }

    @Test
    void extend_atTheDeadline_doesNotReviveIt() {
        Hold hold = hold(true, 100);
        assertThat(hold.isValid(100)).isFalse();
        assertThat(hold.extend(100, 200)).isFalse();
        assertThat(hold.loseIfPast(100)).isTrue();
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.EXPIRED);
    }

    @Test
    void lose_andRelease_onlyTheFirstCounts() {
        Hold released = hold(true, 100);
        assertThat(released.beginRelease(50)).isEqualTo(100);
        assertThat(released.lose(LockLost.Reason.TAKEN)).isFalse();
        assertThat(released.loseIfPast(1_000)).isFalse();
        assertThat(released.extend(50, 200)).isFalse();
        assertThat(released.lossReason()).isNull();

        Hold lost = hold(true, 100);
        assertThat(lost.lose(LockLost.Reason.TAKEN)).isTrue();
        assertThat(lost.lose(LockLost.Reason.CLOSED)).isFalse();
        assertThat(lost.beginRelease(50)).isZero();
        assertThat(lost.lossReason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void loseIfPast_withAnUnansweredRenewal_isUnconfirmed() {
        Hold hold = hold(true, 100);
        hold.ask(Leased.Asker.WATCHDOG, 0);
        assertThat(hold.loseIfPast(99)).isFalse();
        assertThat(hold.loseIfPast(100)).isTrue();
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
    }

    @Test
    void releaseFailed_afterTheRelease_isTheLoss() {
        Hold hold = hold(true, 100);
        hold.beginRelease(50);
        assertThat(hold.releaseFailed(false)).isTrue();
        assertThat(hold.releaseFailed(false)).isFalse();
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(hold.isReleasedTooLate()).isFalse();
    }

    @Test
    void releasedTooLate_isALossWhoseReleaseGoesOn() {
        Hold hold = hold(true, 100);
        assertThat(hold.releasedTooLate()).as("none has begun").isFalse();
        hold.beginRelease(50);
        assertThat(hold.releasedTooLate()).isTrue();
        assertThat(hold.isLost()).isTrue();
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        assertThat(hold.beginTelling()).isTrue();
        assertThat(hold.isReleasedTooLate()).isTrue();
    }

    @Test
    void loss_forEachReason_isToldOnceUnlessThatFails() {
        for (LockLost.Reason reason : LockLost.Reason.values()) {
            Hold hold = hold(true, 100);
            assertThat(hold.beginTelling()).as("not lost").isFalse();
            hold.lose(reason);
            assertThat(hold.beginTelling()).isTrue();
            assertThat(hold.beginTelling()).isFalse();
            assertThat(hold.lossReason()).isEqualTo(reason);
            hold.endTelling(false);
            assertThat(hold.lossReason()).isEqualTo(reason);
            assertThat(hold.beginTelling()).as("after an error, again").isTrue();
            hold.endTelling(true);
            assertThat(hold.lossReason()).isEqualTo(reason);
            assertThat(hold.beginTelling()).as("the listeners were notified").isFalse();
            assertThat(hold.isReleasedTooLate()).isFalse();
        }
    }

    @Test
    void renewal_lastsAsLongAsTheOutermostAcquisitionWithoutALease() {
        Hold outerRenewed = hold(true, 100);
        outerRenewed.reentered(30_000, false, 77);
        outerRenewed.exited();
        assertThat(outerRenewed.isRenewed()).isTrue();
        assertThat(outerRenewed.nextRenewalNanos()).isEqualTo(10);

        Hold innerRenewed = hold(false, 100);
        assertThat(innerRenewed.isRenewed()).isFalse();
        innerRenewed.reentered(30_000, true, 77);
        assertThat(innerRenewed.nextRenewalNanos()).isEqualTo(77);
        innerRenewed.reentered(30_000, true, 88);
        innerRenewed.exited();
        assertThat(innerRenewed.isRenewed()).isTrue();
        innerRenewed.exited();
        assertThat(innerRenewed.isRenewed()).isFalse();
        assertThat(innerRenewed.nextRenewalNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void release_inTime_endsTheHold() {
        Hold hold = hold(true, 100);
        assertThat(hold.beginRelease(100)).as("too late").isZero();
        assertThat(hold.isReleasing()).isFalse();
        hold.beginRelease(50);
        assertThat(hold.isReleasing()).isTrue();
        assertThat(hold.isOpen()).isFalse();
        assertThat(hold.isLost()).isFalse();
    }

    @Test
    void strandedHold_isNotValid() {
        Hold hold = hold(true, 100);
        assertThat(hold.isValid(99)).isTrue();
        hold.stranded = true;
        assertThat(hold.isValid(99)).isFalse();
    }

    @Test
    void reentry_isCoveredByWhatIsLeft() {
        long deadline = Timing.validityNanos(30_000) + 1;
        Hold renewed = hold(true, deadline);
        assertThat(renewed.covers(1, 60_000, true)).isTrue();
        assertThat(renewed.covers(deadline, 60_000, true)).isFalse();
        assertThat(renewed.covers(1, 30_000, false)).isTrue();
        assertThat(renewed.covers(2, 30_000, false)).isFalse();
        Hold named = hold(false, deadline);
        assertThat(named.covers(1, 1, true)).isFalse();
        assertThat(named.covers(deadline, 0, false)).isFalse();
    }

    @Test
    void leases_areTheLongestThatWereAskedFor() {
        Hold hold = hold(false, 100);
        assertThat(hold.leaseMillis()).isEqualTo(30_000);
        assertThat(hold.renewedMillis()).isZero();
        hold.reentered(60_000, false, 0);
        hold.reentered(20_000, true, 0);
        assertThat(hold.leaseMillis()).isEqualTo(60_000);
        assertThat(hold.renewedMillis()).isEqualTo(20_000);
        assertThat(hold.renewalNanos()).isEqualTo(Timing.renewalNanos(20_000));
        hold.reentered(10_000, true, 0);
        assertThat(hold.renewedMillis()).isEqualTo(20_000);
        assertThat(hold.count()).isEqualTo(4);
    }

    @Test
    void holdGivenBackByACondition_isHeldAndRenewedAsBefore() {
        Hold before = hold(true, 100);
        before.reentered(30_000, true, 0);
        Hold resumed = hold(false, 100);
        resumed.resume(before, 2);
        assertThat(resumed.count()).isEqualTo(2);
        assertThat(resumed.isRenewed()).isTrue();
        assertThat(resumed.renewedMillis()).isEqualTo(30_000);
    }

    /** Else the loss of one that is lost before the thread has it would be told to no listener. */
    @Test
    void holdOfACondition_needsNoTellingOfItsAcquisition() {
        Hold given = hold(true, 100);
        Attempt attempt =
                new Attempt(7, given.keys(), given.owner, given.request(), WaitLimit.endless(), 1, "condition");
        Hold hold = new Hold(attempt, new Attempt.Grant(5, false, 100, 0, true), 0, 10, null);
        assertThat(hold.isAnnounced()).isTrue();
        assertThat(hold(true, 100).isAnnounced()).isFalse();
    }

    @Test
    void renewNext_countsForOneThatIsRenewed() {
        Hold renewed = hold(true, 100);
        renewed.renewNext(55);
        assertThat(renewed.nextRenewalNanos()).isEqualTo(55);
        renewed.renewAt(66);
        assertThat(renewed.nextRenewalNanos()).isEqualTo(66);
        Hold named = hold(false, 100);
        named.renewNext(55);
        assertThat(named.nextRenewalNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void notesOfTheWatchdog_areKept() {
        Hold hold = hold(true, 100);
        hold.lossSeen(5);
        hold.lossSeen(6);
        assertThat(hold.lossSeenNanos()).isEqualTo(5);
        assertThat(hold.secondsSinceFenceRefresh(3_000_000_000L)).isEqualTo(3);
        hold.fenceRefreshed(2_000_000_000L);
        assertThat(hold.secondsSinceFenceRefresh(3_000_000_000L)).isEqualTo(1);
        hold.answeredIn(4);
        assertThat(hold.failoverEpoch()).isEqualTo(4);
        hold.beginRenewal();
        assertThat(hold.isRenewing()).isTrue();
        assertThat(hold.isToldFirst()).isTrue();
        assertThat(hold.isToldFirst()).isFalse();
        assertThat(hold.successor()).isNull();
    }

    @Test
    void loss_namesTheHold() {
        Hold hold = hold(true, 100);
        LockLost loss = hold.loss(LockLost.Reason.TAKEN);
        assertThat(loss.lockName()).isEqualTo("a");
        assertThat(loss.token()).isEqualTo(5);
        assertThat(hold.thread()).isSameAs(Thread.currentThread());
        assertThat(hold.keys()).isEqualTo(LockKeys.of("p", "a"));
    }

    /** A thread that begins to report a loss at the end of its stack can note that the report has failed. */
    @Test
    void beginTelling_atTheEndOfTheStack_leavesTheStackToEndIt() throws Exception {
        int overflows = 0;
        for (int left = 0; NearTheEnd.goesOn(left, overflows, DEPTHS); left++) {
            Hold hold = hold(true, 1_000);
            assertThat(hold.lose(LockLost.Reason.TAKEN)).isTrue();
            int above = left;
            boolean met = NearTheEnd.inAThread(() -> NearTheEnd.overflows(above, () -> {
                if (hold.beginTelling()) {
                    NearTheEnd.useFrames(8);
                    hold.endTelling(true);
                }
            }));
            overflows += met ? 1 : 0;
            assertThat(hold.isUntold()).as("%d calls above", left).isEqualTo(met);
            assertThat(hold.beginTelling()).as("%d calls above", left).isEqualTo(met);
        }
        assertThat(overflows).isBetween(1, NearTheEnd.MOST - 1);
    }
}
