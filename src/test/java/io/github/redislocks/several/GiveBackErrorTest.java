package io.github.redislocks.several;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.client.SteppedClient;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.util.List;
import org.junit.jupiter.api.Test;

/** An error in the undoing of a re-entry must not end the hold that the thread had before the call. */
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
}
