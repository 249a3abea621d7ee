package io.github.redislocks.torture;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** A thread of a worker that acquires one lock again and again until it is stopped, and logs what it sees. */
abstract class Deeds implements Runnable {

    private static final int PAUSE_MICROS = 40_000;
    private static final long FAILURE_PAUSE_NANOS = 20_000_000;

    final String actor;
    final Random random;
    private final String lock;
    private final Worker.Order order;
    private final EventLog log;
    private final AtomicBoolean stop;

    Deeds(Worker.Order order, int number, String lock, EventLog log, AtomicBoolean stop) {
        this.actor = order.name() + "/t" + number;
        this.lock = lock;
        this.order = order;
        this.log = log;
        this.stop = stop;
        this.random = new Random(order.seed() * 31 + actor.hashCode());
    }

    /** Acquires the lock in some way, uses it, and releases it. */
    abstract void once(Resource resource) throws InterruptedException;

    @Override
    public void run() {
        try (Resource resource = new Resource(order.resource())) {
            while (!stop.get()) {
                try {
                    once(resource);
                } catch (LockUnavailableException e) {
                    log(actor, Event.Kind.FAIL, 0, e.getClass().getSimpleName());
                    LockSupport.parkNanos(FAILURE_PAUSE_NANOS);
                }
                LockSupport.parkNanos(random.nextInt(PAUSE_MICROS) * 1_000L);
            }
        } catch (Throwable e) {
            String at = e.getStackTrace().length == 0 ? "" : " at " + e.getStackTrace()[0];
            log(actor, Event.Kind.BUG, 0, (e + at).replaceAll("\\s", " "));
        }
    }

    /** A hold, as the library describes it. */
    interface Possession {

        long token();

        boolean isHeld();

        /** Throws after a loss. */
        void release();
    }

    /** Logs the entry; false if the hold was lost before it could be. */
    final boolean entered(String who, Possession hold, String text) {
        // From before the library is asked: what it says is true then, if the thread stands still afterwards.
        long now = System.nanoTime();
        try {
            log.add(new Event(now, who, Event.Kind.IN, lock, hold.token(), text));
            return true;
        } catch (LockLostException e) {
            log(who, Event.Kind.LOST, 0, e.reason().name());
            mustBeTold(who, hold);
            return false;
        }
    }

    final boolean believes(String who, Possession hold) {
        long now = System.nanoTime();
        boolean held = hold.isHeld();
        if (held) {
            log.add(new Event(now, who, Event.Kind.HELD, lock, 0, ""));
        }
        return held;
    }

    final void giveUp(String who, Possession hold) {
        if (!believes(who, hold)) {
            log(who, Event.Kind.LOST, 0, "isHeld");
            mustBeTold(who, hold);
            return;
        }
        log(who, Event.Kind.OUT, 0, Event.UNLOCK);
        try {
            hold.release();
            log(who, Event.Kind.FREED, 0, "");
        } catch (LockLostException e) {
            log(who, Event.Kind.LOST, 0, e.reason().name());
        }
        if (hold.isHeld()) {
            log(who, Event.Kind.BUG, 0, "held after its release");
        }
    }

    private void mustBeTold(String who, Possession hold) {
        try {
            hold.release();
            log(who, Event.Kind.BUG, 0, "a release returned after the loss was told");
        } catch (IllegalMonitorStateException e) {
            // As it must be.
        }
    }

    final void log(String who, Event.Kind kind, long number, String text) {
        log.add(who, kind, lock, number, text);
    }

    final void pause(int micros) {
        LockSupport.parkNanos(random.nextInt(micros) * 1_000L);
    }
}
