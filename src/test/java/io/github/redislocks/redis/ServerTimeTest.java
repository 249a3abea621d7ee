package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The estimated time of Redis, when another server takes over. */
class ServerTimeTest {

    private static final long OLD = 5_000_000;
    private static final long NEW = 3_000_000;

    private final ServerTime time = new ServerTime();

    private static Reply reply(String code, long micros) {
        return new Reply(code, List.of(micros));
    }

    @Test
    void notAfter_known_countsFromTheSending() {
        time.saw(reply("OK", OLD), 100_000);
        assertThat(time.notAfterMicros(600_000, 1_000_000)).isEqualTo(OLD + 1_500);
    }

    @Test
    void saw_replyWithoutTheTime_changesNothing() {
        time.saw(reply("OK", OLD), 1_000);
        time.saw(new Reply("SUCCEEDED", List.of(7L, 0L)), 2_000_000_000);
        time.saw(new Reply("FREED", List.of(1L)), 4_000_000_000L);
        assertThat(time.notAfterMicros(1_000, 0)).isEqualTo(OLD);
    }

    @Test
    void forget_untilTheNewServerAnswers_allDatesAreLate() {
        time.saw(reply("OK", OLD), 1_000);
        time.forget(2_000);
        assertThat(time.notAfterMicros(2_000, 1_000_000_000)).isZero();
        time.saw(reply("LATE", NEW), 3_000);
        assertThat(time.notAfterMicros(3_000, 0)).isEqualTo(NEW);
    }

    @Test
    void forget_answersOfTheOldServer_areIgnored() {
        time.saw(reply("OK", OLD), 1_000);
        time.forget(2_000);
        time.saw(reply("OK", OLD), 1_999);
        time.saw(reply("LATE", OLD), 1_999);
        assertThat(time.notAfterMicros(2_000, 1_000_000_000)).isZero();
        time.saw(reply("OK", NEW), 3_000);
        time.saw(reply("LATE", OLD), 1_999);
        assertThat(time.notAfterMicros(3_000, 0)).isEqualTo(NEW);
    }
}
