package io.github.redislocks.torture;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A control thread, which does nothing, or what costs nothing, and logs when it could not even do that in time, until
 * it is interrupted.
 */
final class Stalls {

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
    private static final long WORTH_LOGGING_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private Stalls() {}

    static Thread watch(EventLog log, String actor) {
        return watch(log, actor, () -> {});
    }

    static Thread watch(EventLog log, String actor, Runnable work) {
        Thread thread = new Thread(
                () -> {
                    long last = System.nanoTime();
                    while (!Thread.currentThread().isInterrupted()) {
                        LockSupport.parkNanos(TICK_NANOS);
                        work.run();
                        long now = System.nanoTime();
                        if (now - last > WORTH_LOGGING_NANOS) {
                            log.add(new Event(now, actor, Event.Kind.STALL, "", now - last, ""));
                        }
                        last = now;
                    }
                },
                "stalls");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
