package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an attempt remembers of the answers to its requests, and of requests without one. */
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

    /** The date of a request that was sent to the server. */
    private ServerTimes.Date sent(long sentMillis, long timeoutMillis) {
        ServerTimes.Date date = times.date(sentMillis * MILLI, timeoutMillis * MILLI);
        date.micros(SERVER);
        return date;
    }

    @Test
    void requestsThatMayRun_longestLast_countUntilTheLast() {
        times.saw(SERVER, new Reply("CHECKED", List.of(1_000L)), 0);
        attempt.mayHaveRun(sent(0, 300));
        assertThat(attempt.mayRunUntilMicros(SERVER)).isEqualTo(301_000);
        attempt.mayHaveRun(sent(100, 1_000));
        assertThat(attempt.mayRunUntilMicros(SERVER)).isEqualTo(1_101_000);
    }

    @Test
    void requestsThatMayRun_longestFirst_countUntilThatOne() {
        times.saw(SERVER, new Reply("CHECKED", List.of(1_000L)), 0);
        attempt.mayHaveRun(sent(0, 1_000));
        attempt.mayHaveRun(sent(100, 300));
        assertThat(attempt.mayRunUntilMicros(SERVER)).isEqualTo(1_001_000);
    }
}
