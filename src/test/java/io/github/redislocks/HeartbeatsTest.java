package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.client.Inside;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Heartbeats;
import io.github.redislocks.watchdog.Job;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Heartbeats go one at a time. A leave follows one whose attempt has ended meanwhile: it may have made its place anew.
 */
class HeartbeatsTest extends FakeTime {

    private static final long SOON = 2_000_000_000;

    private static final Attempt.Request REQUEST = new Attempt.Request(30_000, true, false);

    private final Inside client = inside;
    private final Heartbeats heartbeats = client.heartbeats();
    private final Attempt attempt = client.attempts()
            .make(LockKeys.of("redis-locks", "job"), client.owners().caller(), REQUEST, WaitLimit.endless());

    @BeforeEach
    void beginAttempt() {
        client.attempts().begin(attempt);
    }

    @AfterEach
    void endAttempt() {
        client.attempts().end(attempt);
    }

    /** The jobs that are due at a time at which the client's own watchdog finds none. */
    private List<Job> due() {
        List<Job> jobs = new ArrayList<>();
        long now = clock.nanoTime();
        heartbeats.inspect(now, now + SOON, (key, job) -> jobs.add(job));
        return jobs;
    }

    @Test
    void heartbeatUnderWay_isTheOnlyOne_alsoIfItsServerChanges() {
        attempt.queued(clock.nanoTime(), 0, -1);
        Job first = due().get(0);
        assertThat(first.begin()).isTrue();
        assertThat(due()).isEmpty();
        first.end();
        assertThat(due()).hasSize(1);
    }

    /** A walk looks at all waiters, and each answer would begin another one. */
    @Test
    void rest_ofTheWatchdog_growsWithTheWaiters_toWhatAnyLeaseBears() {
        List<Attempt> waiters = new ArrayList<>();
        for (int count : List.of(999, 1_000, 10_000)) {
            for (int i = 0; i < count; i++) {
                Attempt waiter = client.attempts().make(attempt.keys, attempt.owner, REQUEST, WaitLimit.endless());
                client.attempts().begin(waiter);
                waiters.add(waiter);
            }
            assertThat(heartbeats.restNanos())
                    .as(waiters.size() + " waiters and one")
                    .isEqualTo(Math.min((waiters.size() - 999) * 1_000L, 4_166_666));
        }
        waiters.forEach(client.attempts()::end);
    }

    @Test
    void attemptThatIsDecidedInThatMoment_isNotAskedFor() {
        attempt.queued(clock.nanoTime(), 0, -1);
        Job heartbeat = due().get(0);
        attempt.decide(new Attempt.Failure(new IllegalStateException("of the test")));
        assertThat(heartbeat.begin()).isFalse();
        assertThat(attempt.isInDoubt()).isFalse();
    }

    /** A heartbeat that is under way. */
    private Heartbeats.Heartbeat underWay() {
        Heartbeats.Heartbeat heartbeat = heartbeats.new Heartbeat(attempt);
        assertThat(heartbeat.begin()).isTrue();
        return heartbeat;
    }

    /** The heartbeat runs, and makes the place of an attempt that has ended. */
    private void runsTooLate(Heartbeats.Heartbeat heartbeat) {
        other.lock();
        client.attempts().end(attempt);
        redis.run(heartbeat.call(clock.nanoTime(), 1_000_000_000), 1_000_000_000);
        assertThat(server.zset(KEY + ":queue")).hasSize(1);
    }

    private void nothingIsLeft() {
        settle();
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        other.unlock();
    }

    @Test
    void heartbeat_ofWhichNobodyIsTold_afterTheEndOfItsAttempt_isFollowedByALeave() {
        Heartbeats.Heartbeat heartbeat = underWay();
        runsTooLate(heartbeat);
        heartbeat.end();
        nothingIsLeft();
    }

    /** The first copy has made the place, and the second gets this answer. */
    @ParameterizedTest
    @ValueSource(strings = {"QUEUED", "WAITING", "GRANTED", "LATE", "STALE"})
    void heartbeat_thatIsAnswered_afterTheEndOfItsAttempt_isFollowedByALeave(String code) {
        Heartbeats.Heartbeat heartbeat = underWay();
        attempt.leave(null);
        runsTooLate(heartbeat);
        long now = clock.server().getAsLong();
        heartbeat.answered(new Reply(code, List.of(1L, 0L, now), true), clock.nanoTime());
        heartbeat.end();
        nothingIsLeft();
    }

    @Test
    void heartbeat_thatIsNotAnswered_afterTheEndOfItsAttempt_isFollowedByALeave() {
        Heartbeats.Heartbeat heartbeat = underWay();
        runsTooLate(heartbeat);
        heartbeat.failed(new RedisException.Unanswered("of the test", true, null), clock.nanoTime());
        heartbeat.end();
        nothingIsLeft();
    }

    @Test
    void heartbeat_thatIsLate_isSentAgainAtOnce() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        clock.stepServerMillis(2_000);
        pass(1_500);
        assertThat(redis.log().count("heartbeat"))
                .as("a late request and its repetition")
                .isEqualTo(2);
        other.unlock();
        waiter.end();
    }

    @Test
    void heartbeat_ofWhichNobodyIsTold_mayRun_andIsNotUnderWay() {
        Heartbeats.Heartbeat heartbeat = underWay();
        heartbeat.end();
        assertThat(attempt.mayRun()).isTrue();
        assertThat(attempt.isHeartbeatInFlight()).isFalse();
    }

    @Test
    void heartbeat_thatIsAnswered_leavesNoDoubt() {
        Heartbeats.Heartbeat heartbeat = underWay();
        heartbeat.answered(new Reply("QUEUED", List.of(1L, 2L, clock.server().getAsLong())), clock.nanoTime());
        heartbeat.end();
        assertThat(attempt.isInDoubt()).isFalse();
    }
}
