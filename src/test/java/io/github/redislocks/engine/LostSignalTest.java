package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.SteppedClient;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.time.Instant;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * An acquisition whose time has come is signalled before the async thread has turned to it, and again while it works.
 */
class LostSignalTest extends SteppedClient {

    /** Each of these runs at a reading of the clock by the async thread. */
    private volatile @Nullable Queue<Runnable> atReadings;

    @Override
    protected Clock stepping() {
        Clock base = super.stepping();
        return new Clock() {
            @Override
            public long nanoTime() {
                Queue<Runnable> events = atReadings;
                if (events != null && Thread.currentThread().getName().contains("async")) {
                    Runnable event = events.poll();
                    if (event != null) {
                        event.run();
                    }
                }
                return base.nanoTime();
            }

            @Override
            public long untilNanos(Instant time) {
                return base.untilNanos(time);
            }

            @Override
            public void park(Object blocker, long nanos) {
                base.park(blocker, nanos);
            }
        };
    }

    private static final class Told implements AsyncAcquisitions.Caller {
        volatile @Nullable Object result;

        @Override
        public void acquired(Held held) {
            result = held;
        }

        @Override
        public void busy() {
            result = "busy";
        }

        @Override
        public void failed(Throwable failure) {
            result = failure;
        }
    }

    private AsyncAcquisitions.Pending begin(long number, WaitLimit limit, Told told) {
        HandleOwner owner = new HandleOwner("client", number, told, loss -> {});
        return inside.async().begin(sync, owner, limit, told);
    }

    @Test
    void cancelledAcquisition_whileAnotherThatIsDueIsSignalledTwice_isReported() {
        sync.lock(); // both wait in the local queue behind this
        Told ofTimed = new Told();
        Told ofOther = new Told();
        long now = clock.nanoTime();
        AsyncAcquisitions.Pending timed = begin(1, WaitLimit.within(now, 5_000 * MILLI, 10_000 * MILLI), ofTimed);
        AsyncAcquisitions.Pending other = begin(2, WaitLimit.endless(), ofOther);
        await().until(() -> inside.async().isIdle());
        Queue<Runnable> events = new ConcurrentLinkedQueue<>();
        // The time of `timed` has come: the thread has found no signals, and looks who is due.
        events.add(() -> {
            other.cancellation.run();
            timed.run(); // as owner.wake()
        });
        // The thread has turned to `timed`.
        events.add(timed); // the second owner.wake() of a hand-off
        atReadings = events;
        clock.advanceMillis(5_001);
        await().atMost(Duration.ofSeconds(5)).until(() -> ofTimed.result != null);
        assertThat(events).isEmpty();
        // Nothing revives it, not even another signal.
        other.run();
        await().atMost(Duration.ofSeconds(3)).until(() -> ofOther.result != null);
    }
}
