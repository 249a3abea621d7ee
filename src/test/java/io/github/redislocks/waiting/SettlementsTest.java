package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLost;
import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Answer;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Settlements.Result;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which grants become holds, in a client in which nothing else happens. */
class SettlementsTest extends StillClient {

    private Settlements.Settlement of(Attempt attempt, @Nullable Hold lost) {
        return client.settlements().of(attempt, WaitLimit.endless(), lost);
    }

    private Settlements.Settlement of(Attempt attempt) {
        return of(attempt, null);
    }

    /** Valid for so long from now on. */
    private Attempt.Grant grant(long millis, boolean confirmed) {
        long now = clock.nanoTime();
        return new Attempt.Grant(5, true, now + millis * MILLI, now, confirmed);
    }

    /** As a message tells it. */
    private Attempt.Grant told(long token) {
        return new Attempt.Grant(token, false, 0, clock.nanoTime(), false);
    }

    @Test
    void grantThatIsConfirmed_isAHoldThatIsRenewedByItsLease() {
        Attempt attempt = enter();
        Settlements.Settlement settlement = of(attempt);
        long sent = clock.nanoTime() - 200 * MILLI;
        long deadline = sent + Timing.validityNanos(LEASE);
        assertThat(settlement.settle(new Attempt.Grant(5, true, deadline, clock.nanoTime(), true)))
                .isEqualTo(Result.HELD);
        Hold made = settlement.made;
        assertThat(client.holds().get(keys, client.owners().caller())).isSameAs(made);
        assertThat(made.deadlineNanos()).isEqualTo(deadline);
        assertThat(made.nextRenewalNanos()).isEqualTo(sent + Timing.renewalNanos(LEASE));
        assertThat(made.previousLost).isTrue();
        assertThat(made.token).isEqualTo(5);
        assertThat(client.attempts().isUnderWay(attempt)).isFalse();
        assertThat(attempt.had()).isNull();
        assertThat(commands()).isEmpty();
        assertThat(settlement.unconfirmed()).isNull();
    }

    @Test
    void watchdog_isWokenForTheRenewal() {
        Attempt attempt = enter();
        // The time that the start of the attempt asked for is far away.
        of(attempt).settle(grant(90, false));
        assertThat(client.watchdog().isIdle()).isTrue();
        clock.advanceMillis(30);
        assertThat(client.watchdog().isIdle()).isFalse();
    }

    @Test
    void grantOfAClaim_isConfirmedWhenAThirdOfItIsOver() {
        Settlements.Settlement settlement = of(enter());
        settlement.settle(grant(3_000, false));
        assertThat(settlement.made.nextRenewalNanos()).isEqualTo(clock.nanoTime() + 1_000 * MILLI);
    }

    @Test
    void leaseOfItsOwn_isNotRenewed() {
        Attempt attempt = client.attempts()
                .make(keys, client.owners().caller(), new Attempt.Request(LEASE, false, false), WaitLimit.endless());
        client.attempts().begin(attempt);
        Settlements.Settlement settlement = of(attempt);
        settlement.settle(grant(10_000, true));
        assertThat(settlement.made.nextRenewalNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void grantWhoseTimeIsOver_hasLapsed() {
        Attempt attempt = enter();
        assertThat(of(attempt).settle(grant(0, true))).isEqualTo(Result.LAPSED);
        assertThat(client.holds().all()).isEmpty();
        assertThat(client.attempts().isUnderWay(attempt)).isTrue();
    }

    @Test
    void grantAfterAFailover_hasLapsedUntilTheGraceIsOver() {
        client.epoch().next(clock.nanoTime() + 10 * MILLI);
        Attempt attempt = enter();
        assertThat(of(attempt).settle(grant(10_000, true))).isEqualTo(Result.LAPSED);
        clock.advanceMillis(10);
        assertThat(of(attempt).settle(grant(10_000, true))).isEqualTo(Result.HELD);
    }

    @Test
    void holdOfAGrantOfTheServerBefore_isRenewedAtOnce() {
        Settlements.Settlement settlement = of(enter());
        client.epoch().next(clock.nanoTime());
        assertThat(settlement.settle(grant(10_000, true))).isEqualTo(Result.HELD);
        assertThat(settlement.made.nextRenewalNanos()).isEqualTo(clock.nanoTime());
    }

    @Test
    void grantByAMessage_isDatedByTheLastRequestThatIsOlder() {
        Attempt attempt = begin(true);
        long sent = clock.nanoTime();
        attempt.queued(sent, 4, -1);
        clock.advanceMillis(1_000);
        Settlements.Settlement settlement = of(attempt);
        assertThat(settlement.settle(told(5))).isEqualTo(Result.HELD);
        long claim = Timing.validityNanos(Timing.claimMillis(LEASE));
        assertThat(settlement.made.deadlineNanos()).isEqualTo(sent + claim);
    }

    @Test
    void grantByAMessage_thatMayBeOlderThanTheLastAnswer_hasLapsed() {
        Attempt attempt = begin(true);
        attempt.queued(clock.nanoTime(), 5, -1);
        assertThat(of(attempt).settle(told(5))).isEqualTo(Result.LAPSED);
    }

    @Test
    void grant_thatALaterRequestFindsGivenToAnother_hasLapsed() {
        Attempt attempt = begin(true);
        long now = clock.nanoTime();
        Attempt.Grant grant = new Answer.Granted(5, false, false).claimOf(attempt, now, now);
        clock.advanceMillis(1);
        attempt.queued(clock.nanoTime(), 6, -1);
        assertThat(of(attempt).settle(grant)).isEqualTo(Result.LAPSED);
    }

    @Test
    void grantOfAReply_countsFromItsRequest_forTheLeaseOrForAClaim() {
        Attempt attempt = begin(true);
        Answer.Granted granted = new Answer.Granted(5, true, false);
        assertThat(granted.of(attempt, 7, 9))
                .isEqualTo(new Attempt.Grant(5, true, 7 + Timing.validityNanos(LEASE), 9, true));
        assertThat(granted.claimOf(attempt, 7, 9))
                .isEqualTo(new Attempt.Grant(5, true, 7 + Timing.validityNanos(Timing.claimMillis(LEASE)), 9, false));
    }

    /** The server has lost its data, and its clock is behind that of the server before. */
    @Test
    void grantWithASmallerToken_ofALaterRequest_isAHold() {
        Attempt attempt = begin(true);
        attempt.queued(clock.nanoTime(), 6, -1);
        clock.advanceMillis(1);
        long now = clock.nanoTime();
        assertThat(of(attempt).settle(new Answer.Granted(5, false, false).claimOf(attempt, now, now)))
                .isEqualTo(Result.HELD);
    }

    @Test
    void grantByAMessage_toOneWithoutAPlace_isOpenUntilItHasTheTurn() {
        Attempt holder = enter();
        Attempt attempt = enter();
        Attempt.Grant told = told(5);
        attempt.decide(told);
        Settlements.Settlement settlement = of(attempt);
        assertThat(settlement.settle(told)).isEqualTo(Result.OPEN);
        assertThat(settlement.pauseNanos(clock.nanoTime())).isEqualTo(Long.MAX_VALUE);
        client.localQueue().exit(keys, holder.number);
        assertThat(settlement.pauseNanos(clock.nanoTime())).isZero();
        assertThat(settlement.settle(told)).isEqualTo(Result.LAPSED);
    }

    @Test
    void attemptWithoutAGrant_hasNothingToWaitFor() {
        assertThat(of(enter()).pauseNanos(clock.nanoTime())).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void holdThatWasLostBefore_isBelowTheNewOne_andOlderOnesAreCountedInIt() {
        Hold first = hold(enter());
        first.lose(LockLost.Reason.TAKEN);
        Settlements.Settlement second = of(begin(true), first);
        second.settle(grant(10_000, true));
        assertThat(second.made.below).isSameAs(first);
        client.losses().lose(second.made, LockLost.Reason.TAKEN);
        Settlements.Settlement third = of(begin(true), second.made);
        third.settle(grant(10_000, true));
        assertThat(third.made.below).isSameAs(first);
        assertThat(first.count()).isEqualTo(2);
        client.holds().remove(third.made);
        assertThat(client.holds().get(keys, client.owners().caller())).isSameAs(first);
    }

    @Test
    void attemptInDoubt_isLeftOnceItsHoldHasEnded() {
        Attempt attempt = enter();
        ServerTimes.Date date = client.serverTimes().date(clock.nanoTime(), MILLI);
        client.serverTimes().saw(redis.serverOf(keys.lock()), new Reply("LATE", List.of(1_000L)), clock.nanoTime());
        date.micros(redis.serverOf(keys.lock()));
        attempt.mayHaveRun(date);
        Settlements.Settlement settlement = of(attempt);
        settlement.settle(grant(10_000, true));
        assertThat(attempt.had()).isSameAs(settlement.made);
        assertThat(command().call().script().name()).isEqualTo("leave");
    }

    /** The message came before the grant had become a hold. */
    @Test
    void holdThatWasSaidToBeForcedBefore_isAskedForAtOnce() {
        Attempt attempt = enter();
        client.attempts().hurry(attempt);
        Settlements.Settlement settlement = of(attempt);
        settlement.settle(grant(10_000, true));
        assertThat(settlement.made.nextRenewalNanos()).isLessThanOrEqualTo(clock.nanoTime());
        assertThat(settlement.made.isDoubted()).isTrue();
    }

    @Test
    void holdOfAClientThatWatchesDeletions_isAskedAboutSoon() {
        Inside watching = Inside.of(new LockClient(
                "client", Settings.DEFAULTS.withWatchDeletions(true), List.of(), clock, redis, Threads.DAEMONS));
        Attempt attempt = enter();
        Settlements.Settlement settlement = watching.settlements().of(attempt, WaitLimit.endless(), null);
        settlement.settle(grant(29_000, true));
        assertThat(settlement.made.nextRenewalNanos()).isEqualTo(clock.nanoTime() + Timing.UNWATCHED_NANOS);
    }
}
