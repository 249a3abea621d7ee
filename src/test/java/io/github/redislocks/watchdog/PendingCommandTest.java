package io.github.redislocks.watchdog;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests when a pending command is due, and when it is done or given up. */
class PendingCommandTest {

    private static final long SECOND = 1_000_000_000;
    private static final long UNTIL = 10 * SECOND;

    private final FakeClock clock = new FakeClock();
    private final Waiting command = new Waiting();

    /** A command that wants to be sent again a second after each reply. */
    private final class Waiting extends PendingCommand {

        private int givenUp;
        private int unanswered;
        private long wait = SECOND;
        private Need need = Need.NOW;

        Waiting() {
            super(clock, "key", UNTIL);
        }

        @Override
        public Call call() {
            return Inspections.locked(LockKeys.of("redis-locks", "job"));
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            return wait;
        }

        @Override
        public Need need() {
            return need;
        }

        @Override
        public void unanswered() {
            unanswered++;
        }

        @Override
        public void giveUp() {
            givenUp++;
        }
    }

    @Test
    void answered_withAPause_isDueAfterThePause() {
        command.begin();
        command.answered(new Reply("DONE", List.of()), clock.nanoTime());
        command.end();
        assertThat(command.isDue(clock.nanoTime() + SECOND - 1)).isFalse();
        assertThat(command.isDue(clock.nanoTime() + SECOND)).isTrue();
    }

    @Test
    void end_withoutAnOutcome_isDueSoon() {
        command.begin();
        assertThat(command.isUnderWay()).isTrue();
        command.end();
        assertThat(command.isUnderWay()).isFalse();
        assertThat(command.isDue(clock.nanoTime())).as("not in a tight loop").isFalse();
        assertThat(command.isDue(clock.nanoTime() + SECOND / 10)).isTrue();
    }

    @Test
    void isDue_afterItsTime_givesUpOnce() {
        assertThat(command.isDue(UNTIL)).isTrue();
        assertThat(command.isDone()).isFalse();
        assertThat(command.isDue(UNTIL + 1)).isFalse();
        assertThat(command.isDone()).isTrue();
        assertThat(command.isDue(UNTIL + 2)).isFalse();
        assertThat(command.givenUp).isEqualTo(1);
    }

    @Test
    void answered_withDone_isNotDueAgain() {
        command.wait = PendingCommand.DONE;
        command.begin();
        command.answered(new Reply("DONE", List.of()), clock.nanoTime());
        assertThat(command.isUnderWay()).isFalse();
        assertThat(command.isDone()).isTrue();
        assertThat(command.isDue(clock.nanoTime())).isFalse();
        assertThat(command.givenUp).isZero();
    }

    @Test
    void failed_isDueAfterAPause() {
        clock.advanceMillis(5);
        long now = clock.nanoTime();
        command.begin();
        command.failed(new RedisException.Unanswered("away", true, null), now);
        assertThat(command.isUnderWay()).isFalse();
        assertThat(command.unanswered).isEqualTo(1);
        assertThat(command.nextTryNanos()).isGreaterThan(now);
        assertThat(command.isDue(now)).isFalse();
        assertThat(command.isDue(command.nextTryNanos())).isTrue();
    }

    @Test
    void isDue_whileTheHoldIsInUse_checksAgainSoon() {
        command.need = PendingCommand.Need.LATER;
        long now = clock.nanoTime();
        assertThat(command.isDue(now)).isFalse();
        command.need = PendingCommand.Need.NOW;
        assertThat(command.isDue(now)).isFalse();
        assertThat(command.nextTryNanos()).isBetween(now + 1, now + SECOND / 10);
        assertThat(command.isDue(command.nextTryNanos())).isTrue();
    }

    @Test
    void hasten_makesItDueAtOnce() {
        command.begin();
        command.answered(new Reply("DONE", List.of()), clock.nanoTime());
        clock.advanceMillis(1);
        assertThat(command.isDue(clock.nanoTime())).isFalse();
        command.hasten();
        assertThat(command.isDue(clock.nanoTime())).isTrue();
        assertThat(command.key()).isEqualTo("key");
        assertThat(command.patienceNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void end_afterAReply_keepsItsPause() {
        command.begin();
        command.answered(new Reply("DONE", List.of()), clock.nanoTime());
        long next = command.nextTryNanos();
        command.end();
        assertThat(command.nextTryNanos()).isEqualTo(next);
    }
}
