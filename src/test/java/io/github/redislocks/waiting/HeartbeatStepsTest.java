package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.Job;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which waiters are asked for, and what each answer does to one, in a client in which nothing else happens. */
class HeartbeatStepsTest extends StillClient {

    private static final long HEARTBEAT = 1_500;

    private final Heartbeats heartbeats = client.heartbeats();
    private final List<Job> due = new ArrayList<>();

    private long inspect(long horizon) {
        due.clear();
        return heartbeats.inspect(clock.nanoTime(), horizon, (key, job) -> {
            assertThat(key).isEqualTo(keys.lock());
            due.add(job);
        });
    }

    private long inspect() {
        return inspect(clock.nanoTime());
    }

    /** One that stands in line, since now. */
    private Attempt queued() {
        Attempt attempt = begin(true);
        attempt.queued(clock.nanoTime(), 4, -1);
        return attempt;
    }

    /** The heartbeat of the only one that stands in line, on its way. */
    private Job heartbeat() {
        clock.advanceMillis(HEARTBEAT);
        inspect();
        assertThat(due).hasSize(1);
        Job job = due.get(0);
        assertThat(job.begin()).isTrue();
        job.call(clock.nanoTime(), MILLI);
        return job;
    }

    private void answer(Job job, String code, Object... values) {
        job.answered(new Reply(code, List.of(values)), clock.nanoTime());
    }

    /** When whatever an error may have left is looked at again. */
    private long look() {
        return clock.nanoTime() + 1_500 * MILLI;
    }

    @Test
    void waiter_isAskedForOnceInAHeartbeat() {
        begin(true);
        assertThat(inspect()).as("it asks by itself, and is looked at").isEqualTo(look());
        Attempt waiter = queued();
        long next = clock.nanoTime() + HEARTBEAT * MILLI;
        assertThat(inspect()).isEqualTo(next);
        assertThat(inspect(next - 1)).isEqualTo(next);
        assertThat(due).isEmpty();
        assertThat(inspect(next)).isEqualTo(look());
        assertThat(due).hasSize(1);
        Job job = due.get(0);
        assertThat(job.wantsPing()).isTrue();
        assertThat(job.patienceNanos()).isEqualTo(3 * HEARTBEAT * MILLI);
        Call call = job.call(clock.nanoTime(), MILLI);
        assertThat(call.script().name()).isEqualTo("heartbeat");
        assertThat(call.args()).contains(Long.toString(waiter.number));
        job.begin();
        inspect(next);
        assertThat(due).as("one is under way").isEmpty();
    }

    @Test
    void waiterWithAVerdict_isNotAskedFor() {
        queued().decide(new Attempt.Grant(5, false, 1, 1, true));
        assertThat(inspect(Long.MAX_VALUE)).as("only looked at").isEqualTo(look());
        assertThat(due).isEmpty();
    }

    @Test
    void waiterWhoseThreadMetAnError_isTakenOut() {
        Attempt stranded = queued();
        inspect();
        assertThat(commands()).isEmpty();
        stranded.stranded = true;
        inspect();
        assertThat(command().call().script().name()).isEqualTo("leave");
        assertThat(client.attempts().isEmpty()).isTrue();
    }

    @Test
    void rescueThatMeetsAnError_keepsNoOtherWaiterFromItsHeartbeat() {
        queued().stranded = true;
        queued();
        clock.advanceMillis(HEARTBEAT);
        // The first two are of the test.
        clock.failReadings(3, 1);
        assertThatThrownBy(this::inspect).isInstanceOf(InternalError.class);
        clock.heal();
        assertThat(due).hasSize(1);
        inspect();
        assertThat(client.attempts().count()).isEqualTo(1);
    }

    @Test
    void waiter_isNotAskedForInTheGraceAfterAFailover() {
        queued();
        client.epoch().next(clock.nanoTime() + 20_000 * MILLI);
        clock.advanceMillis(5_000);
        assertThat(inspect()).isEqualTo(clock.nanoTime() + 15_000 * MILLI);
        assertThat(due).isEmpty();
    }

    /** From now on the server does not answer, and that is known at once. */
    private void silence() {
        client.monitored()
                .of(keys.lock())
                .failed(
                        Scripts.locked(keys),
                        new RedisException.Unanswered("away", true, new IOException("cut")),
                        clock.nanoTime(),
                        2_000 * MILLI,
                        clock.nanoTime());
    }

    @Test
    void waiter_failsWhenItsServerHasBeenAwayForTooLong() {
        Attempt waiter = begin(false);
        long retryFor = waiter.retryForNanos;
        clock.advanceMillis(1);
        silence();
        clock.advanceMillis(1);
        assertThat(inspect()).isEqualTo(clock.nanoTime() + retryFor - MILLI + 1);
        clock.advanceMillis(retryFor / MILLI - 1);
        assertThat(inspect()).as("no sooner than after a pause").isEqualTo(clock.nanoTime() + 100 * MILLI);
        assertThat(waiter.undecided()).isTrue();
        silence();
        Attempt later = begin(false);
        clock.advanceMillis(1);
        inspect();
        assertThat(waiter.verdict())
                .isInstanceOfSatisfying(
                        Attempt.Failure.class,
                        failure -> assertThat(failure.exception()).isInstanceOf(LockUnavailableException.class));
        assertThat(later.undecided()).as("no request of its time has failed").isTrue();
    }

    @Test
    void waiterWithATimeOfItsOwn_bearsAnyOutage() {
        Attempt timed = client.attempts()
                .make(
                        keys,
                        client.owners().caller(),
                        new Attempt.Request(LEASE, true, false),
                        WaitLimit.within(clock.nanoTime(), Long.MAX_VALUE / 2, 1));
        client.attempts().begin(timed);
        silence();
        clock.advanceMillis(3_600_000);
        assertThat(inspect()).isEqualTo(look());
        assertThat(timed.undecided()).isTrue();
    }

    @Test
    void grant_isTheVerdict_fromTheSendingOn() {
        Attempt waiter = queued();
        Job job = heartbeat();
        long sent = clock.nanoTime();
        answer(job, "GRANTED", 6L, 1L, 9L);
        long deadline = sent + Timing.validityNanos(3 * HEARTBEAT);
        assertThat(waiter.verdict()).isEqualTo(new Attempt.Grant(6, true, deadline, sent, false));
        assertThat(waiter.isHeartbeatInFlight()).isFalse();
        assertThat(commands()).isEmpty();
    }

    @Test
    void grantToOneThatHasLeft_isGivenBack() {
        Attempt waiter = queued();
        Job job = heartbeat();
        waiter.leave(null);
        answer(job, "GRANTED", 6L, 1L, 9L);
        assertThat(command().call().args()).contains(Long.toString(waiter.number));
    }

    @Test
    void place_isAsTheAnswerSays() {
        Attempt waiter =
                client.attempts().make(hold(enter()), client.owners().caller(), 1, "condition", WaitLimit.endless());
        client.attempts().begin(waiter);
        waiter.queued(clock.nanoTime(), 4, -1);
        Job job = heartbeat();
        answer(job, "WAITING", 6L, 9L);
        assertThat(waiter.position()).isEqualTo(new Attempt.QueuePosition(clock.nanoTime(), 6));
        assertThat(waiter.nextHeartbeatNanos()).isEqualTo(clock.nanoTime() + HEARTBEAT * MILLI);
        assertThat(waiter.condition()).isNotNull();
        job = heartbeat();
        answer(job, "QUEUED", 7L, 200L, 9L);
        assertThat(waiter.position()).isEqualTo(new Attempt.QueuePosition(clock.nanoTime(), 7));
        assertThat(waiter.nextHeartbeatNanos()).isEqualTo(clock.nanoTime() + 201 * MILLI);
        assertThat(waiter.condition()).isNull();
    }

    @Test
    void answerThatSaysNothing_isAskedForAgainAfterAPause_butAtOnceIfItWasOnlyLate() {
        Attempt waiter = queued();
        Job job = heartbeat();
        long before = waiter.nextHeartbeatNanos();
        answer(job, "LATE", 9L);
        assertThat(waiter.nextHeartbeatNanos()).isEqualTo(before);
        assertThat(waiter.isHeartbeatInFlight()).isFalse();
        answer(job, "GONE");
        assertThat(waiter.nextHeartbeatNanos()).isEqualTo(clock.nanoTime() + 100 * MILLI);
    }

    @Test
    void answerToACopy_leavesTheWaiterInDoubt() {
        Attempt waiter = queued();
        Job job = heartbeat();
        job.answered(new Reply("QUEUED", List.of(7L, 200L, 9L), true), clock.nanoTime());
        assertThat(waiter.mayRun()).isTrue();
    }

    @Test
    void heartbeatWithoutAnAnswer_isSentAgainAfterAPause() {
        Attempt waiter = queued();
        heartbeat().failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        assertThat(waiter.nextHeartbeatNanos()).isEqualTo(clock.nanoTime() + 100 * MILLI);
        assertThat(waiter.mayRun()).isTrue();
        assertThat(waiter.isHeartbeatInFlight()).isFalse();
        heartbeat().failed(new RedisException.Unready("young", 1), clock.nanoTime());
        assertThat(waiter.nextHeartbeatNanos()).isEqualTo(clock.nanoTime() + HEARTBEAT * MILLI);
        assertThat(commands()).isEmpty();
    }

    @Test
    void heartbeatOfOneThatHasEnded_isFollowedByALeave() {
        Attempt waiter = queued();
        Job job = heartbeat();
        client.attempts().end(waiter);
        job.failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        assertThat(commands()).hasSize(1);
        job.end();
        assertThat(commands()).as("it has been told").hasSize(1);
    }

    @Test
    void heartbeatOfWhichNobodyWasTold_leavesTheWaiterInDoubt() {
        Attempt waiter = queued();
        Job job = heartbeat();
        client.attempts().end(waiter);
        job.end();
        assertThat(waiter.mayRun()).isTrue();
        assertThat(waiter.isHeartbeatInFlight()).isFalse();
        assertThat(commands()).hasSize(1);
    }

    private static RedisException refused() {
        return new RedisException.Refused("NOPERM", null);
    }

    @Test
    void heartbeatThatIsRefusedForGood_endsTheWait() {
        Attempt waiter = queued();
        heartbeat().failed(refused(), clock.nanoTime());
        assertThat(waiter.verdict())
                .isInstanceOfSatisfying(
                        Attempt.Failure.class,
                        failure -> assertThat(failure.exception())
                                .isInstanceOf(LockUnavailableException.class)
                                .hasMessageContaining("NOPERM"));
    }

    @Test
    void heartbeatThatIsRefusedForAWhile_isSentAgain() {
        Attempt waiter = queued();
        heartbeat().failed(new RedisException.Refused("LOADING", null), clock.nanoTime());
        assertThat(waiter.undecided()).isTrue();
        clock.advanceMillis(100);
        inspect();
        assertThat(due).hasSize(1);
    }
}
