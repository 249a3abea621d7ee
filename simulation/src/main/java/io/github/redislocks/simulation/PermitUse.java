package io.github.redislocks.simulation;

import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The operations of a caller with the permits of the pool. */
final class PermitUse {

    /** The number of permits in the pool. */
    static final int SIZE = 3;

    private static final long MILLISECOND = 1_000_000;
    private static final long SECOND = 1_000_000_000;

    private final Scenario scenario;
    private final Caller caller;
    private final Permits permits;
    private final Seeded numbers;
    private final int count;

    PermitUse(Scenario scenario, Caller caller, Seeded numbers) {
        this.scenario = scenario;
        this.caller = caller;
        this.permits = caller.client().locks.permits(Server.POOL, SIZE);
        this.numbers = numbers;
        this.count = numbers.oneIn(2) ? 1 : numbers.below(SIZE) + 1;
    }

    void acquire() throws InterruptedException {
        caller.waitsFor(Server.POOL);
        use(permits.acquire(count));
    }

    void acquireWithin(Duration wait) throws InterruptedException {
        boolean waits = numbers.below(3) > 0;
        Duration most = waits ? wait : Duration.ZERO;
        PermitHandle[] handle = new PermitHandle[1];
        Caller.Timed call = () -> {
            handle[0] = permits.tryAcquire(count, most).orElse(null);
            return handle[0] != null;
        };
        if (caller.timed(this::shortUntil, most, waits ? Caller.LATE_NANOS : Caller.TRY_NANOS, call)) {
            use(handle[0]);
        }
    }

    private long shortUntil() {
        return scenario.server.pool().shortUntil(count);
    }

    /** Acquires permits without a waiting thread, and may give up. */
    void acquireAsync(Duration wait) {
        if (numbers.oneIn(3)) {
            CompletableFuture<Optional<PermitHandle>> future = permits.tryAcquireAsync(count, wait);
            if (Caller.isAcquired(future)) {
                future.join().ifPresent(this::use);
            }
            return;
        }
        CompletableFuture<PermitHandle> future = permits.acquireAsync(count);
        caller.awaitDone(future, numbers.oneIn(2) ? 20 * SECOND : numbers.between(1_000, 300 * MILLISECOND));
        if (!future.cancel(true) && Caller.isAcquired(future)) {
            use(future.join());
        }
    }

    private void use(PermitHandle handle) {
        caller.waitsFor(null);
        Ledger.Possession possession = scenario.ledger.takes(handle, caller.toString(), caller.client());
        try {
            Caller.sleep(
                    numbers.oneIn(6) ? numbers.between(SECOND, 4 * SECOND) : numbers.between(1_000, 100 * MILLISECOND));
        } finally {
            scenario.ledger.leaves(possession, handle::isHeld);
            switch (numbers.below(3)) {
                case 1 -> handle.releaseAsync().thenAccept(released -> scenario.ledger.ended(possession, released));
                case 2 -> handle.close();
                default -> scenario.ledger.ended(possession, handle.release());
            }
        }
    }
}
