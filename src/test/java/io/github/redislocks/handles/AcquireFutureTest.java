package io.github.redislocks.handles;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockHandle;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class AcquireFutureTest {

    @Test
    void busy_ofATry_isEmpty() {
        AcquireFuture<LockHandle, Optional<LockHandle>> future = AcquireFuture.trying();
        future.busy();
        assertThat(future).isCompletedWithValue(Optional.empty());
    }

    /** The user of the future would wait for ever if busy() threw. */
    @Test
    void busy_ofAnAcquisitionThatWaits_failsTheFuture() {
        AcquireFuture<LockHandle, LockHandle> future = AcquireFuture.waiting();
        future.busy();
        assertThat((CompletableFuture<?>) future).isCompletedExceptionally();
    }
}
