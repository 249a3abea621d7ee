package io.github.redislocks.torture;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** One thread of a worker: takes locks in all ways, changes what they protect, and logs what it sees. */
final class Hammer implements Runnable {

    static final String LONG = "long";
    static final String CONDITIONS = "conditions";
    static final String LEASES = "leases";
    private static final List<String> SHORT = List.of("plain", "fair", CONDITIONS, LEASES);

    private static final int SHORT_HOLD_MICROS = 4_000;
    private static final int SHORT_PAUSE_MICROS = 40_000;
    private static final int LONG_HOLD_MILLIS = 4_500;
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long FAILURE_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int AWAIT_MILLIS = 200;

    private final String actor;
    private final Worker.Order order;
    private final boolean holdsLong;
    private final TestLocks locks;
    private final EventLog log;
    private final AtomicBoolean stop;
    private final Random random;

    Hammer(Worker.Order order, int number, TestLocks locks, EventLog log, AtomicBoolean stop) {
        this.actor = order.name() + "/t" + number;
        this.order = order;
        this.holdsLong = number == Worker.SHORT_THREADS;
        this.locks = locks;
        this.log = log;
        this.stop = stop;
        this.random = new Random(order.seed() * 31 + actor.hashCode());
    }

    @Override
    public void run() {
        try (Resource resource = new Resource(order.resource())) {
            while (!stop.get()) {
                String name = holdsLong ? LONG : SHORT.get(random.nextInt(SHORT.size()));
                try {
                    once(name, locks.lock(name, name.equals("fair")), resource);
                } catch (LockUnavailableException e) {
                    log(Event.Kind.FAIL, name, 0, e.getClass().getSimpleName());
                    LockSupport.parkNanos(FAILURE_PAUSE_NANOS);
                }
                LockSupport.parkNanos(random.nextInt(SHORT_PAUSE_MICROS) * 1_000L);
            }
        } catch (Throwable e) {
            String at = e.getStackTrace().length == 0 ? "" : " at " + e.getStackTrace()[0];
            log(Event.Kind.BUG, "", 0, (e + at).replaceAll("\\s", " "));
        }
    }

    private void once(String name, TestLock lock, Resource resource) throws InterruptedException {
        TestLock.Way way = way(name);
        log(Event.Kind.ASK, name, way.patience, way.name());
        if (!lock.acquire(way)) {
            log(Event.Kind.NO, name, 0, "");
            return;
        }
        if (!entered(name, lock, way.isRenewed() ? Event.RENEWED : way.name())) {
            mustBeTold(name, lock);
            return;
        }
        boolean lost = !change(name, lock, resource);
        if (name.equals(CONDITIONS) && !lost && !meet(name, lock)) {
            return;
        }
        if (believes(name, lock)) {
            giveUp(name, lock);
        } else {
            log(Event.Kind.LOST, name, 0, "isHeld");
            mustBeTold(name, lock);
        }
    }

    private TestLock.Way way(String name) {
        if (name.equals(LEASES)) {
            return random.nextInt(3) == 0 ? TestLock.Way.LEASED_TIMED : TestLock.Way.LEASED;
        }
        return switch (random.nextInt(8)) {
            case 0 -> TestLock.Way.TRY;
            case 1, 2 -> TestLock.Way.TIMED;
            case 3 -> TestLock.Way.INTERRUPTIBLY;
            default -> TestLock.Way.LOCK;
        };
    }

    /** Logs the entry; false if the hold was lost before it could be. */
    private boolean entered(String name, TestLock lock, String text) {
        // From before the library is asked: what it says is true then, if the thread stands still afterwards.
        long now = System.nanoTime();
        try {
            log.add(new Event(now, actor, Event.Kind.IN, name, lock.token(), text));
            return true;
        } catch (LockLostException e) {
            log(Event.Kind.LOST, name, 0, e.reason().name());
            return false;
        }
    }

    private boolean enteredAgain(String name, TestLock lock, String text) {
        boolean entered = entered(name, lock, text);
        if (!entered) {
            mustBeTold(name, lock);
        }
        return entered;
    }

    private boolean believes(String name, TestLock lock) {
        long now = System.nanoTime();
        boolean held = lock.isHeld();
        if (held) {
            log.add(new Event(now, actor, Event.Kind.HELD, name, 0, ""));
        }
        return held;
    }

    /** The critical section; false if the lock was lost in it. */
    private boolean change(String name, TestLock lock, Resource resource) {
        long token;
        try {
            token = lock.token();
        } catch (LockLostException e) {
            return false;
        }
        long fenced = resource.readFenced(name, token);
        long plain = resource.read(name);
        boolean held = hold(name, lock) && believes(name, lock);
        if (held) {
            LockSupport.parkNanos(random.nextInt(1_000_000));
            resource.write(name, plain + 1);
            log(Event.Kind.WROTE, name, plain, Event.PLAIN);
        }
        // Also by who has lost: it is the resource that must refuse.
        if (fenced >= 0 && resource.writeFenced(name, token, fenced + 1)) {
            log(Event.Kind.WROTE, name, fenced, Event.FENCED);
        } else {
            log(Event.Kind.REFUSED, name, token, "");
        }
        return held;
    }

    private boolean hold(String name, TestLock lock) {
        if (!holdsLong) {
            LockSupport.parkNanos(random.nextInt(SHORT_HOLD_MICROS) * 1_000L);
            return true;
        }
        long end = System.nanoTime() + random.nextInt(LONG_HOLD_MILLIS) * 1_000_000L;
        boolean held = true;
        while (held && System.nanoTime() < end && !stop.get()) {
            LockSupport.parkNanos(STEP_NANOS);
            held = believes(name, lock);
        }
        return held;
    }

    /** Awaits or signals; false if the lock is not held afterwards. */
    private boolean meet(String name, TestLock lock) throws InterruptedException {
        int what = random.nextInt(4);
        try {
            if (what == 0) {
                log(Event.Kind.OUT, name, 0, "await");
                lock.await(random.nextInt(AWAIT_MILLIS) * 1_000_000L);
                return enteredAgain(name, lock, Event.RENEWED);
            }
            if (what < 3) {
                lock.signal();
            }
        } catch (LockLostException e) {
            log(Event.Kind.LOST, name, 0, e.reason().name());
            mustBeTold(name, lock);
            return false;
        } catch (LockUnavailableException e) {
            log(Event.Kind.FAIL, name, 0, e.getClass().getSimpleName());
            return lock.isHeld() && (what != 0 || enteredAgain(name, lock, Event.STILL));
        }
        return true;
    }

    private void giveUp(String name, TestLock lock) {
        log(Event.Kind.OUT, name, 0, "unlock");
        try {
            lock.release();
            log(Event.Kind.FREED, name, 0, "");
        } catch (LockLostException e) {
            log(Event.Kind.LOST, name, 0, e.reason().name());
        }
    }

    /** Once told, always told. */
    private void mustBeTold(String name, TestLock lock) {
        try {
            lock.release();
            log(Event.Kind.BUG, name, 0, "unlock returned after the loss was told");
        } catch (IllegalMonitorStateException e) {
            // As it must be.
        }
    }

    private void log(Event.Kind kind, String lock, long number, String text) {
        log.add(actor, kind, lock, number, text);
    }
}
