package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When a command is sent whose caller has gone, and when no more. */
class ErrandTest {

    private static final long SECOND = 1_000_000_000;
    private static final long UNTIL = 10 * SECOND;

    private final FakeClock clock = new FakeClock();
    private final Waiting errand = new Waiting();

    /** One that is to be sent once more a second after each answer. */
    private final class Waiting extends Errand {

        private int givenUp;

        Waiting() {
            super(clock, "key", UNTIL);
        }

        @Override
        Call call() {
            return Protocol.locked(Keys.of("redis-locks", "job"));
        }

        @Override
        long follow(Reply reply, long sentNanos) {
            return SECOND;
        }

        @Override
        void giveUp() {
            givenUp++;
        }
    }

    @Test
    void answered_andToWait_isNotDueSooner() {
        errand.begin();
        errand.answered(new Reply("DONE", List.of()), clock.nanoTime());
        errand.end();
        assertThat(errand.isDue(clock.nanoTime() + SECOND - 1)).isFalse();
        assertThat(errand.isDue(clock.nanoTime() + SECOND)).isTrue();
    }

    @Test
    void ended_andNobodyToldWhatBecameOfIt_isDueSoon() {
        errand.begin();
        assertThat(errand.isUnderWay()).isTrue();
        errand.end();
        assertThat(errand.isUnderWay()).isFalse();
        assertThat(errand.isDue(clock.nanoTime())).as("not in a tight loop").isFalse();
        assertThat(errand.isDue(clock.nanoTime() + SECOND / 10)).isTrue();
    }

    @Test
    void withoutAnAnswer_untilItsTimeIsOver_isGivenUpOnce() {
        assertThat(errand.isDue(UNTIL)).isTrue();
        assertThat(errand.isDone()).isFalse();
        assertThat(errand.isDue(UNTIL + 1)).isFalse();
        assertThat(errand.isDone()).isTrue();
        assertThat(errand.isDue(UNTIL + 2)).isFalse();
        assertThat(errand.givenUp).isEqualTo(1);
    }
}
