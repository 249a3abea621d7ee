package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The memory of an attempt: the answers to its requests, and requests without one. */
class AttemptTest {

    private static final long MILLI = 1_000_000;
    private static final String SERVER = "memory";

    private final FakeClock clock = new FakeClock();
    private final ServerTimes times = new ServerTimes(clock);
    private final Attempt attempt = new Attempt(
            1,
            LockKeys.of("redis-locks", "job"),
            new Owner("a:1"),
            new Attempt.Request(30_000, true, false),
            WaitLimit.endless());

    @ParameterizedTest
    @CsvSource({"-2, 1500", "-1, 1500", "0, 1", "400, 401", "1499, 1500", "1500, 1500", "20000, 1500"})
    void queued_isToAskAgainAfterTheHoldersLease_andWithinAHeartbeat(long pttl, long millis) {
        assertThat(attempt.mayExistInRedis()).isFalse();
        attempt.queued(7 * MILLI, 5, pttl);
        assertThat(attempt.nextHeartbeatNanos()).isEqualTo((7 + millis) * MILLI);
        assertThat(attempt.position()).isEqualTo(new Attempt.QueuePosition(7 * MILLI, 5));
        assertThat(attempt.mayExistInRedis()).isTrue();
    }

    @Test
    void lookAgain_leavesATimeThatSomebodyElseHasSet() {
        attempt.lookAgain(0, 7 * MILLI);
        assertThat(attempt.nextHeartbeatNanos()).isEqualTo(1_507 * MILLI);
        attempt.queued(8 * MILLI, 5, 40);
        attempt.lookAgain(1_507 * MILLI, 9 * MILLI);
        assertThat(attempt.nextHeartbeatNanos()).isEqualTo(49 * MILLI);
    }

    /** As when the connections of two threads are cut. */
    @Test
    void twoUnansweredRequestsAtOnce_theLaterIsRemembered() throws InterruptedException {
        times.saw(SERVER, new Reply("OK", List.of(1_000_000L)), 1);
        ServerTimes.Date early = sent(0, 1);
        ServerTimes.Date late = sent(0, 2_000);
        assertThat(early.mayRunUntilMicros(SERVER)).isLessThan(late.mayRunUntilMicros(SERVER));
        int tries = 20_000;
        List<Attempt> attempts = new ArrayList<>();
        for (int i = 0; i < tries; i++) {
            attempts.add(new Attempt(
                    i, attempt.keys, attempt.owner, new Attempt.Request(30_000, true, false), WaitLimit.endless()));
        }
        AtomicInteger arrivals = new AtomicInteger();
        Thread sender = new Thread(() -> both(attempts, early, arrivals));
        sender.start();
        both(attempts, late, arrivals);
        sender.join();
        assertThat(attempts)
                .filteredOn(each -> each.mayRunUntilMicros(SERVER) != late.mayRunUntilMicros(SERVER))
                .isEmpty();
    }

    /** Notes the date in each of them, together with another thread. */
    private static void both(List<Attempt> attempts, ServerTimes.Date date, AtomicInteger arrivals) {
        for (int i = 0; i < attempts.size(); i++) {
            arrivals.incrementAndGet();
            while (arrivals.get() < 2 * (i + 1)) {
                Thread.onSpinWait();
            }
            attempts.get(i).mayHaveRun(date);
        }
    }

    /** The date of a request that was sent to the server. */
    private ServerTimes.Date sent(long sentMillis, long timeoutMillis) {
        ServerTimes.Date date = times.date(sentMillis * MILLI, timeoutMillis * MILLI);
        date.micros(SERVER);
        return date;
    }

    @Test
    void requestsThatMayRun_longestLast_countUntilTheLast() {
        times.saw(SERVER, new Reply("LATE", List.of(1_000L)), 0);
        attempt.mayHaveRun(sent(0, 300));
        assertThat(attempt.mayRunUntilMicros(SERVER)).isEqualTo(301_000);
        attempt.mayHaveRun(sent(100, 1_000));
        assertThat(attempt.mayRunUntilMicros(SERVER)).isEqualTo(1_101_000);
    }

    @Test
    void requestsThatMayRun_longestFirst_countUntilThatOne() {
        times.saw(SERVER, new Reply("LATE", List.of(1_000L)), 0);
        attempt.mayHaveRun(sent(0, 1_000));
        attempt.mayHaveRun(sent(100, 300));
        assertThat(attempt.mayRunUntilMicros(SERVER)).isEqualTo(1_001_000);
    }

    private Attempt attempt(boolean fair, WaitLimit limit) {
        return new Attempt(
                1, LockKeys.of("redis-locks", "job"), new Owner("a:1"), new Attempt.Request(30_000, true, fair), limit);
    }

    private static Attempt.Grant grant(long token) {
        return new Attempt.Grant(token, false, 100, 0, true);
    }

    @Test
    void stage_atFirst_isBehindOnlyForOneThatWaitsAndIsNotFair() {
        assertThat(attempt.isBehind()).isTrue();
        assertThat(attempt.isInLocalQueue()).isTrue();
        Attempt fair = attempt(true, WaitLimit.endless());
        assertThat(fair.isBehind()).isFalse();
        assertThat(fair.fair).isTrue();
        Attempt hasty = attempt(true, WaitLimit.forAnswer(MILLI, 0));
        assertThat(hasty.isBehind()).isFalse();
        assertThat(hasty.fair).isFalse();
        assertThat(hasty.bearsOutages()).isTrue();
        assertThat(attempt.bearsOutages()).isFalse();
        assertThat(attempt.toString()).isEqualTo("attempt 1 of a:1 for job");
    }

    @Test
    void stages_areGoneThroughInTheirOrder() {
        attempt.placeLost();
        assertThat(attempt.isBehind()).isTrue();
        assertThat(attempt.mayAsk()).isFalse();
        attempt.wakeToAsk();
        assertThat(attempt.mayAsk()).as("another has the turn").isFalse();
        attempt.asks();
        attempt.hasTurn();
        assertThat(attempt.isBehind()).isFalse();
        assertThat(attempt.isInLocalQueue()).isFalse();
        assertThat(attempt.mayAsk()).isTrue();
        assertThat(attempt.position()).isNull();
        attempt.queued(7, 5, -1);
        assertThat(attempt.mayAsk()).as("heartbeats ask").isFalse();
        attempt.wakeToAsk();
        assertThat(attempt.mayAsk()).as("it knows that the lock is free").isTrue();
        attempt.asks();
        assertThat(attempt.mayAsk()).isFalse();
        attempt.placeLost();
        assertThat(attempt.isBehind()).isFalse();
    }

    @Test
    void verdict_isTheFirst_untilItsGrantIsTakenBack() {
        assertThat(attempt.undecided()).isTrue();
        assertThat(attempt.decide(grant(1))).isTrue();
        assertThat(attempt.decide(grant(2))).isFalse();
        assertThat(attempt.verdict()).isEqualTo(grant(1));
        assertThat(attempt.undecided()).isFalse();
        assertThat(attempt.isInLocalQueue()).isFalse();
        assertThat(attempt.hasFailed()).isFalse();
        assertThat(attempt.leave(null)).isFalse();
        Attempt.Verdict seen = attempt.verdict();
        attempt.reopen((Attempt.Grant) seen);
        assertThat(attempt.undecided()).isTrue();
        assertThat(attempt.leave(null)).isTrue();
        assertThat(attempt.hasFailed()).isTrue();
        attempt.reopen((Attempt.Grant) seen);
        assertThat(attempt.hasFailed()).isTrue();
    }

    @Test
    void verdict_thatIsAFailure_isThrownWithTheStackOfItsThread() {
        IllegalStateException closed = new IllegalStateException("closed");
        closed.setStackTrace(new StackTraceElement[0]);
        attempt.decide(new Attempt.Failure(closed));
        assertThat(attempt.hasFailed()).isTrue();
        assertThat(((Attempt.Failure) attempt.verdict()).raised()).isSameAs(closed);
        assertThat(closed.getStackTrace()).isNotEmpty();
    }

    @Test
    void verdictOfAnotherThread_wakesItsThread() throws InterruptedException {
        AtomicReference<Attempt> made = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            Attempt own = attempt(false, WaitLimit.endless());
            made.set(own);
            while (own.undecided()) {
                LockSupport.park(own);
            }
        });
        waiter.start();
        Awaitility.await().until(() -> waiter.getState() == Thread.State.WAITING);
        made.get().decide(grant(1));
        waiter.join(10_000);
        assertThat(waiter.isAlive()).isFalse();
    }

    @Test
    void toldThatTheLockIsFree_wakesItsThread() throws InterruptedException {
        AtomicReference<Attempt> made = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            Attempt own = attempt(true, WaitLimit.endless());
            own.queued(1, 1, -1);
            made.set(own);
            while (!own.mayAsk()) {
                LockSupport.park(own);
            }
        });
        waiter.start();
        Awaitility.await().until(() -> waiter.getState() == Thread.State.WAITING);
        made.get().wakeToAsk();
        waiter.join(10_000);
        assertThat(waiter.isAlive()).isFalse();
    }

    @Test
    void heartbeat_beginsOnlyWithoutAVerdict() {
        assertThat(attempt.beginHeartbeat()).isTrue();
        assertThat(attempt.isHeartbeatInFlight()).isTrue();
        assertThat(attempt.isInDoubt()).isTrue();
        attempt.endHeartbeat();
        assertThat(attempt.isHeartbeatInFlight()).isFalse();
        assertThat(attempt.isInDoubt()).isFalse();
        attempt.decide(grant(1));
        assertThat(attempt.beginHeartbeat()).isFalse();
        assertThat(attempt.isHeartbeatInFlight()).isFalse();
    }

    @Test
    void doubt_staysUntilARequestGoesOut() {
        Attempt.Grant lapsed = new Attempt.Grant(5, false, 1, 1, true);
        attempt.decide(lapsed);
        attempt.doubted();
        assertThat(attempt.beginHeartbeat()).isFalse();
        assertThat(attempt.isDoubted()).as("no request was sent").isTrue();
        attempt.reopen(lapsed);
        assertThat(attempt.beginHeartbeat()).isTrue();
        assertThat(attempt.isDoubted()).isFalse();
    }

    @Test
    void heartbeat_isDueWhenItWasSaid_orAHeartbeatAfterALook() {
        attempt.heartbeatAt(5);
        assertThat(attempt.nextHeartbeatNanos()).isEqualTo(5);
        attempt.lookAgain(7 * MILLI);
        assertThat(attempt.nextHeartbeatNanos()).isEqualTo(1_507 * MILLI);
    }

    @Test
    void requestWithoutAnAnswer_leavesTheAttemptInDoubt_ifItWasSent() {
        attempt.unanswered(new RedisException.Refused("NOPERM", null), sent(0, 300));
        attempt.unanswered(new RedisException.Unanswered("away", false, null), sent(0, 300));
        attempt.answered(new Reply("BUSY", List.of()), sent(0, 300));
        assertThat(attempt.mayRun()).isFalse();
        assertThat(attempt.isInDoubt()).isFalse();
        assertThat(attempt.mayRunUntilMicros(SERVER)).isZero();
        attempt.unanswered(new RedisException.Unanswered("away", true, null), sent(0, 300));
        assertThat(attempt.mayRun()).isTrue();
        assertThat(attempt.isInDoubt()).isTrue();
        assertThat(attempt.mayExistInRedis()).isTrue();
    }

    @Test
    void answerToACopy_leavesTheAttemptInDoubt() {
        attempt.answered(new Reply("BUSY", List.of(), true), sent(0, 300));
        assertThat(attempt.mayRun()).isTrue();
    }

    @Test
    void numberInRedis_isKnownUntilAnAnswerSaysThatItIsNot() {
        attempt.known();
        assertThat(attempt.mayExistInRedis()).isTrue();
        attempt.unknown();
        assertThat(attempt.mayExistInRedis()).isFalse();
    }

    @Test
    void caller_beginsOnce_andMustReturnFromAConditionLater() {
        assertThat(attempt.beganNanos()).isEqualTo(Long.MAX_VALUE);
        attempt.begins(5, 3);
        assertThat(attempt.beganNanos()).isEqualTo(5);
        assertThat(attempt.failoverEpoch()).isEqualTo(3);
        Attempt waiting = new Attempt(
                2, attempt.keys, attempt.owner, new Attempt.Request(30_000, true, false), WaitLimit.endless(), 4, "c");
        assertThat(waiting.isBehind()).isFalse();
        assertThat(waiting.isIn("c")).isTrue();
        assertThat(waiting.bearsOutages()).isTrue();
        assertThat(waiting.holds).isEqualTo(4);
        waiting.leftCondition();
        assertThat(waiting.isInCondition()).isFalse();
        waiting.mustReturn(9);
        assertThat(waiting.bearsOutages()).isFalse();
        assertThat(waiting.beganNanos()).isEqualTo(9);
        waiting.had(() -> true);
        assertThat(waiting.had().isLost()).isTrue();
    }
}
