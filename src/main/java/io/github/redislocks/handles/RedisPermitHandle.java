package io.github.redislocks.handles;

import io.github.redislocks.PermitHandle;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.state.PermitOwner;
import io.github.redislocks.state.PermitPool;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The handle of some permits. Thread-safe. */
public final class RedisPermitHandle extends RedisLockHandle implements PermitHandle {

    public RedisPermitHandle(LockClient client, PermitPool pool, int wanted) {
        super(client, pool, wanted);
    }

    /** Acquires the permits; the calling thread waits. The result is empty if too few were free. */
    public Optional<PermitHandle> acquirePermits(WaitLimit limit) throws InterruptedException {
        return take(limit) ? Optional.of(this) : Optional.empty();
    }

    @Override
    public List<Integer> numbers() {
        String numbers = ((PermitOwner) handleOwner()).numbers();
        return Arrays.stream(numbers.split(" ")).map(Integer::valueOf).toList();
    }

    @Override
    long checkKept(Duration sinceAcquired) {
        throw new UnsupportedOperationException(
                "Permits offer no releaseAfter: a permit is either held or free. Release the handle when that time has"
                        + " come, or use a lock.");
    }

    /** Describes the permits: their name, numbers and token, and whether they are held. Sends no request. */
    @Override
    public String toString() {
        return "PermitHandle " + Shown.of(name()) + numbers() + '[' + describe() + ']';
    }
}
