package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockListener;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.watchdog.PendingCommand;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An error that keeps the listeners from hearing of a lock that the client gives up. */
@Timeout(30)
class ToldGivingUpTest extends SteppedResidence {

    @Override
    protected List<LockListener> listeners() {
        return List.of(new LockListener() {});
    }

    @Test
    void release_whoseListenersCannotBeTold_isOver() {
        kept.lock();
        kept.unlock();
        residences.byWaiter(KEY, residence().lease().attempt);
        PendingCommand release = inside.watchdog().commands().iterator().next();
        Reply reply = redis.run(release.call(clock.nanoTime(), MILLI), MILLI);
        release.begin();
        long now = clock.nanoTime();
        clock.failReadings(1, 1);
        assertThatThrownBy(() -> release.answered(reply, now)).satisfies(ToldGivingUpTest::isOfTheTelling);
        clock.heal();
        assertThat(inside.holds().all()).isEmpty();
        assertThat(residence().turn.isFree()).isTrue();
    }

    private static void isOfTheTelling(Throwable error) {
        assertThat(error).isInstanceOf(InternalError.class);
        assertThat(error.getStackTrace())
                .anyMatch(frame -> frame.getMethodName().equals("publish"));
    }
}
