package io.github.redislocks.testkit;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.Clock;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

/** The clock of one client. While the client is paused, its background threads wait in this clock. */
final class ClientClock implements Clock {

    /** The prefix of the names of the library's threads. */
    private static final String OWN = "redis-locks-";

    private final TestTime time;
    private final Bell resumed = new Bell();
    private volatile boolean paused;

    ClientClock(TestTime time) {
        this.time = time;
    }

    void pause() {
        paused = true;
    }

    void resume() {
        paused = false;
        resumed.ring();
    }

    boolean isPaused() {
        return paused;
    }

    @Override
    public long nanoTime() {
        stand();
        return time.nanos();
    }

    @Override
    public void park(Object blocker, long nanos) {
        long now = nanoTime();
        parkUntil(blocker, nanos > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + nanos);
    }

    @Override
    public void parkUntil(Object blocker, long until) {
        time.park(blocker, until);
        stand();
    }

    @Override
    public long restOf(long nanos) {
        return 0;
    }

    @Override
    public long untilNanos(Instant wall) {
        return time.untilNanos(wall);
    }

    /**
     * Makes a background thread of a paused client wait until the client is resumed. Any other caller goes on at once.
     */
    private void stand() {
        while (paused && Thread.currentThread().getName().startsWith(OWN)) {
            resumed.await(System.nanoTime() + TimeUnit.DAYS.toNanos(1), () -> !paused);
        }
    }
}
