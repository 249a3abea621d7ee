package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.WaitLimit;
import org.junit.jupiter.api.Test;

/** Which calls are under way, and which may begin. */
class AttemptsTest extends StillClient {

    private final Attempts attempts = client.attempts();

    private Attempt fromCondition() {
        Hold hold = hold(enter());
        return new Attempt(
                attempts.nextNumber(), keys, hold.owner, hold.request(), WaitLimit.endless(), 1, "condition");
    }

    @Test
    void call_isUnderWayFromItsBeginToItsEnd() {
        Attempt attempt = attempts.make(
                keys, client.owners().caller(), new Attempt.Request(LEASE, true, false), WaitLimit.endless());
        assertThat(attempts.isUnderWay(attempt)).isFalse();
        assertThat(attempts.hasEnded(attempt)).isTrue();
        client.epoch().next(0);
        attempts.begin(attempt);
        assertThat(attempt.beganNanos()).isEqualTo(clock.nanoTime());
        assertThat(attempts.isUnderWay(attempt)).isTrue();
        assertThat(attempts.hasEnded(attempt)).isFalse();
        assertThat(attempts.get(attempt.number)).isSameAs(attempt);
        assertThat(attempts.get(attempt.number + 1)).isNull();
        assertThat(attempts.all()).containsExactly(attempt);
        assertThat(attempts.isEmpty()).isFalse();
        attempts.end(attempt);
        assertThat(attempts.isEmpty()).isTrue();
        assertThat(attempts.nextNumber()).isEqualTo(attempt.number + 1);
    }

    @Test
    void begin_hasTheWatchdogLookUpWhenARenewalWouldBeDue() {
        begin(true);
        clock.advanceMillis(9_999);
        assertThat(client.watchdog().isIdle()).isTrue();
        clock.advanceMillis(1);
        assertThat(client.watchdog().isIdle()).isFalse();
    }

    @Test
    void callThatFailed_hasEnded() {
        Attempt attempt = begin(true);
        attempt.leave(null);
        assertThat(attempts.hasEnded(attempt)).isTrue();
    }

    @Test
    void callerThatIsNotParked_orHasAVerdict_isAwake() {
        Attempt attempt = begin(true);
        long now = clock.nanoTime();
        assertThat(attempts.isAwake(attempt, 0)).isTrue();
        assertThat(attempts.isAwake(attempt, now)).as("time has woken it").isTrue();
        assertThat(attempts.isAwake(attempt, now + 1)).isFalse();
        assertThat(attempts.isAwake(attempt, Long.MAX_VALUE)).isFalse();
        attempt.leave(null);
        assertThat(attempts.isAwake(attempt, now + 1))
                .as("its verdict wakes it")
                .isTrue();
        attempts.end(attempt);
        assertThat(attempts.isAwake(attempt, 0)).isFalse();
    }

    /** The answer was made before all were hurried, and is read after it. */
    @Test
    void waitersThatAreHurriedWhileAHeartbeatIsUnderWay_askAtOnce() {
        Attempt waiter = begin(true);
        waiter.queued(clock.nanoTime(), 6, -1);
        assertThat(waiter.beginHeartbeat()).isTrue();
        long sent = clock.nanoTime();
        attempts.hurry();
        clock.advanceMillis(5);
        waiter.endHeartbeat();
        waiter.queued(sent, 6, -1);
        assertThat(waiter.nextHeartbeatNanos()).isLessThanOrEqualTo(clock.nanoTime());
    }

    @Test
    void waiters_areHurriedAllOrOne() {
        Attempt first = begin(true);
        Attempt second = begin(true);
        first.heartbeatAt(7);
        second.heartbeatAt(7);
        attempts.hurry(first);
        assertThat(first.nextHeartbeatNanos()).isZero();
        assertThat(second.nextHeartbeatNanos()).isEqualTo(7);
        assertThat(client.watchdog().isIdle()).isFalse();
        attempts.hurry();
        assertThat(second.nextHeartbeatNanos()).isZero();
    }

    /** The reply may be from before what the message tells of, and says when to ask again by what was then. */
    @Test
    void waiter_hurriedWhileItsRequestIsUnderWay_asksAgainBehindTheReply() {
        Attempt attempt = begin(true);
        attempt.asks();
        attempts.hurry(attempt);
        attempt.queued(100, 1, 30_000);
        assertThat(attempt.nextHeartbeatNanos()).isEqualTo(100);
        assertThat(attempt.beginHeartbeat()).isTrue();
        attempt.endHeartbeat();
        attempt.queued(200, 1, 30_000);
        assertThat(attempt.nextHeartbeatNanos()).isEqualTo(1_500_000_200L);
        attempts.hurry(attempt);
        attempt.asks();
        attempt.queued(300, 1, 30_000);
        assertThat(attempt.nextHeartbeatNanos()).isEqualTo(1_500_000_300L);
    }

    @Test
    void hurry_ofAll_wakesTheWatchdog() {
        assertThat(client.watchdog().isIdle()).isTrue();
        attempts.hurry();
        assertThat(client.watchdog().isIdle()).isFalse();
    }

    @Test
    void drain_endsAllButThoseThatGetAHoldBackFromACondition() {
        Attempt usual = begin(true);
        Attempt back = fromCondition();
        attempts.begin(back);
        Attempt late = fromCondition();
        attempts.drain();
        assertThat(usual.hasFailed()).isTrue();
        assertThat(back.undecided()).isTrue();
        assertThat(attempts.isClosed()).isFalse();
        attempts.checkOpen();
        attempts.begin(late);
        assertThat(attempts.isUnderWay(late)).isTrue();
        assertThatThrownBy(() -> begin(true)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void close_endsAll() {
        Attempt back = fromCondition();
        attempts.begin(back);
        attempts.checkOpen();
        attempts.close();
        assertThat(attempts.isClosed()).isTrue();
        assertThat(back.hasFailed()).isTrue();
        attempts.end(back);
        assertThatThrownBy(() -> attempts.begin(fromCondition())).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(attempts::checkOpen)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void callThatGoesOn_isToldOfTheClose() {
        Attempt attempt = begin(true);
        attempts.failIfClosed(attempt);
        assertThat(attempt.undecided()).isTrue();
        Attempt.Grant lapsed = new Attempt.Grant(5, false, 1, 1, true);
        attempt.decide(lapsed);
        attempts.close();
        attempt.reopen(lapsed);
        attempts.failIfClosed(attempt);
        assertThat(attempt.hasFailed()).isTrue();
    }
}
