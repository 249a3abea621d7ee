package io.github.redislocks.torture;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/** A thread of a worker that acquires one or two permits of a pool, in all ways. */
final class PermitUsers extends Deeds {

    static final String POOL = "permits";
    /** How many permits there are. */
    static final int SIZE = 3;

    private static final Duration LIMIT = Duration.ofSeconds(1);
    private static final int CANCEL_MICROS = 3_000;
    private static final int SHORT_MICROS = 4_000;
    /** Of so many holds, one is long. */
    private static final int LONG = 8;

    private static final int LONG_STEPS = 15;
    private static final int STEP_MICROS = 20_000;

    private final Permits permits;

    PermitUsers(Worker.Order order, int number, TestLocks locks, EventLog log, AtomicBoolean stop) {
        super(order, number, POOL, log, stop);
        this.permits = locks.permits(POOL, SIZE);
    }

    /** A handle as the log sees it. */
    private record Held(PermitHandle handle) implements Possession {

        @Override
        public long token() {
            return handle.fencingToken();
        }

        @Override
        public boolean isHeld() {
            return handle.isHeld();
        }

        @Override
        public void release() {
            handle.close();
        }
    }

    @Override
    void once(Resource resource) throws InterruptedException {
        int count = 1 + random.nextInt(2);
        int way = random.nextInt(8);
        long limit = way == 0 ? 0 : way <= 2 ? LIMIT.toNanos() : -1;
        log(actor, Event.Kind.ASK, limit, way == 3 ? "CANCEL" : "PERMITS");
        Optional<PermitHandle> got =
                switch (way) {
                    case 0 -> permits.tryAcquire(count, Duration.ZERO);
                    case 1, 2 -> permits.tryAcquire(count, LIMIT);
                    case 3 -> acquireOrCancel(count);
                    default -> Optional.of(permits.acquire(count));
                };
        if (got.isEmpty()) {
            log(actor, way == 3 ? Event.Kind.CANCELLED : Event.Kind.NO, 0, "");
            return;
        }
        Held held = new Held(got.get());
        String numbers =
                got.get().numbers().stream().map(number -> " " + number).collect(Collectors.joining());
        if (!entered(actor, held, Event.PERMITS + numbers)) {
            return;
        }
        pause(SHORT_MICROS);
        if (random.nextInt(LONG) == 0) {
            for (int steps = random.nextInt(LONG_STEPS); steps > 0 && believes(actor, held); steps--) {
                pause(STEP_MICROS);
            }
        }
        giveUp(actor, held);
    }

    private Optional<PermitHandle> acquireOrCancel(int count) {
        CompletableFuture<PermitHandle> acquired = permits.acquireAsync(count);
        long until = System.nanoTime() + random.nextInt(CANCEL_MICROS) * 1_000L;
        while (!acquired.isDone() && System.nanoTime() < until) {
            LockSupport.parkNanos(until - System.nanoTime());
        }
        acquired.cancel(false);
        try {
            return Optional.of(acquired.join());
        } catch (CancellationException e) {
            return Optional.empty();
        } catch (CompletionException e) {
            throw e.getCause() instanceof LockUnavailableException away ? away : new IllegalStateException(e);
        }
    }
}
