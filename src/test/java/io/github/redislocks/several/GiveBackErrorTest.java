package io.github.redislocks.several;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.client.SteppedClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.PendingCommand;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** An error while a call gives locks back leaves what the thread had before the call, and nothing else. */
class GiveBackErrorTest extends SteppedClient {

    @Override
    protected Settings options() {
        return Settings.DEFAULTS.withLocalReentry(false);
    }

    @Test
    void errorWhileAReentryIsUndone_leavesTheOuterHold() {
        begin();
        others.lock("job2", false).lock(); // the second lock is busy
        sync.lock();
        Hold hold = held(sync);
        SeveralLocks both = client.several(List.of("job", "job2"), false, options());
        during("release_inner", () -> {
            throw new InternalError("of the test");
        });
        WaitLimit limit = both.limitOfTry();
        assertThatThrownBy(() -> both.acquire(null, limit)).isInstanceOf(InternalError.class);
        assertThat(hold.count()).as("held as often as before the call").isEqualTo(1);
        assertThat(hold.stranded).as("left to the watchdog, which releases it").isFalse();
        watch();
        assertThat(held(sync)).as("the hold of the outer lock()").isSameAs(hold);
    }

    /** A failover comes after the first grant of the request has become a hold, so the call gives that hold back. */
    @Test
    void errorAnywhereAfterTheRequestForAll_leavesNoneTaken() {
        begin();
        boolean met = true;
        for (int reading = 1; met; reading++) {
            List<String> names = List.of("a" + reading, "b" + reading);
            SeveralLocks both = client.several(names, false, options());
            long graceEnd = clock.nanoTime() + 500 * MILLI;
            AtomicBoolean failedOver = new AtomicBoolean();
            clock.failReadings(
                    thread -> {
                        if (!failedOver.get() && !client.holds.all().isEmpty()) {
                            failedOver.set(true);
                            inside.epoch().next(graceEnd);
                        }
                        return failedOver.get();
                    },
                    reading,
                    1);
            Throwable thrown = catchThrowable(() -> both.acquire(null, both.limitOfTry()));
            met = clock.heal() >= reading;
            assertThat(failedOver).isTrue();
            watch();
            long now = clock.nanoTime();
            inside.heartbeats().inspect(now, now, (key, job) -> {});
            for (PendingCommand command : client.watchdog.commands()) {
                command.answered(redis.run(command.call(clock.nanoTime(), MILLI), MILLI), clock.nanoTime());
            }
            assertThat(client.holds.all()).isEmpty();
            for (String name : names) {
                Sync theirs = others.lock(name, false);
                assertThat(theirs.tryLock())
                        .as("%s, reading %d, %s", name, reading, thrown)
                        .isTrue();
                theirs.unlock();
            }
            clock.advanceMillis(500);
        }
    }
}
