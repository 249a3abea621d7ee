package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockListener;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The thread of a try without time gets no processor for a command timeout before its first request. */
class HeldUpTryTest extends SteppedClient {

    private volatile boolean slow;

    @Override
    protected List<LockListener> listeners() {
        return List.of(new LockListener() {
            @Override
            public Acquiring acquiring(String name) {
                if (slow) {
                    clock.advanceMillis(1_001);
                }
                return null;
            }
        });
    }

    @Test
    void tryWithoutTime_takesAFreeLock_howeverLateItsThreadRuns() throws InterruptedException {
        begin();
        slow = true;
        assertThat(sync.tryLock(0, LEASE, true)).isTrue();
    }

    @Test
    void tryLock_takesAFreeLock_howeverLateItsThreadRuns() {
        begin();
        slow = true;
        assertThat(sync.tryLock(LEASE, true)).isTrue();
    }
}
