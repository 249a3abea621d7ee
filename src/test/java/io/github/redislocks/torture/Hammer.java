package io.github.redislocks.torture;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** A thread of a worker: takes locks in all ways, changes what they protect, and logs what it sees. */
final class Hammer implements Runnable {

    static final String LONG = "long";
    static final String CONDITIONS = "conditions";
    static final String LEASES = "leases";
    /** The lock that has readers as well. */
    static final String SHARED = "shared";

    private static final List<String> SHORT = List.of("plain", "fair", CONDITIONS, LEASES, SHARED);

    private static final int SHORT_HOLD_MICROS = 4_000;
    private static final int SHORT_PAUSE_MICROS = 40_000;
    private static final int LONG_HOLD_MILLIS = 4_500;
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long FAILURE_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int AWAIT_MILLIS = 200;
    /** Of so many acquisitions without a thread, one may be cancelled. */
    private static final int CANCELS = 8;

    private static final int CANCEL_MICROS = 3_000;
    private static final Duration KEPT = Duration.ofMillis(10);
    /** Of so many holds, one is entered once more. */
    private static final int REENTRIES = 4;

    private final String actor;
    private final Worker.Order order;
    private final boolean holdsLong;
    private final boolean byHandles;
    private final TestLocks locks;
    private final EventLog log;
    private final AtomicBoolean stop;
    private final Random random;
    /** How often the lock is held, or is still to be unlocked after a loss. */
    private int depth;

    Hammer(Worker.Order order, int number, TestLocks locks, EventLog log, AtomicBoolean stop) {
        this.actor = order.name() + "/t" + number;
        this.order = order;
        this.holdsLong = number == Worker.SHORT_THREADS;
        this.byHandles = number % 2 == 1;
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
                    boolean fair = name.equals("fair");
                    TestLock lock = usesHandles(name) ? locks.handles(name, fair) : locks.lock(name, fair);
                    once(name, lock, resource);
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

    /** Some threads do, and each thread that holds for long now and then: it is there that losses are seen soonest. */
    private boolean usesHandles(String name) {
        return holdsLong ? random.nextBoolean() : byHandles && !name.equals(CONDITIONS);
    }

    private void once(String name, TestLock lock, Resource resource) throws InterruptedException {
        TestLock.Way way = way(name);
        if (!lock.isReentrant() && way == TestLock.Way.LOCK && random.nextInt(CANCELS) == 0) {
            log(Event.Kind.ASK, name, way.limit, "CANCEL");
            if (lock.acquireOrCancel(random.nextInt(CANCEL_MICROS) * 1_000L)) {
                inside(name, lock, way, resource);
            } else {
                log(Event.Kind.CANCELLED, name, 0, "");
            }
            return;
        }
        log(Event.Kind.ASK, name, way.limit, way.name() + (lock.isReentrant() ? "" : Event.BY_HANDLE));
        if (!lock.acquire(way)) {
            log(Event.Kind.NO, name, 0, "");
            return;
        }
        inside(name, lock, way, resource);
    }

    private void inside(String name, TestLock lock, TestLock.Way way, Resource resource) throws InterruptedException {
        depth = 1;
        if (!entered(name, lock, way.isRenewed() ? Event.RENEWED : way.name())) {
            mustBeTold(name, lock);
            return;
        }
        if (change(name, lock, resource) && !goOn(name, lock, way)) {
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

    /** Enters once more, meets others in the Condition, goes out again; false if nothing is held any more. */
    private boolean goOn(String name, TestLock lock, TestLock.Way way) throws InterruptedException {
        if (!lock.isReentrant()) {
            return true;
        }
        return (random.nextInt(REENTRIES) > 0 || reenter(name, lock, way))
                && (!name.equals(CONDITIONS) || meet(name, lock))
                && (depth == 1 || exit(name, lock));
    }

    private boolean reenter(String name, TestLock lock, TestLock.Way way) throws InterruptedException {
        long began = System.nanoTime();
        try {
            long token = lock.token();
            began = System.nanoTime();
            lock.acquire(way.isRenewed() ? TestLock.Way.LOCK : TestLock.Way.LEASED);
            depth++;
            if (lock.token() == token) {
                count(name, lock, Event.REENTER);
                return true;
            }
        } catch (LockUnavailableException e) {
            log(Event.Kind.FAIL, name, 0, e.getClass().getSimpleName());
            count(name, lock, "");
            return true;
        } catch (LockLostException e) {
            log(Event.Kind.LOST, name, 0, e.reason().name());
            mustBeTold(name, lock);
            return false;
        }
        // The hold was lost, and this is a new one over that which is still to be unlocked.
        log.add(new Event(began, actor, Event.Kind.LOST, name, 0, "reentry"));
        log.add(new Event(began, actor, Event.Kind.ASK, name, -1, ""));
        if (entered(name, lock, way.isRenewed() ? Event.RENEWED : way.name())) {
            giveUp(name, lock);
            depth--;
        }
        mustBeTold(name, lock);
        return false;
    }

    private boolean exit(String name, TestLock lock) {
        depth--;
        try {
            lock.release();
            count(name, lock, Event.EXIT);
            return true;
        } catch (LockLostException e) {
            log(Event.Kind.LOST, name, 0, e.reason().name());
            mustBeTold(name, lock);
            return false;
        }
    }

    private void count(String name, TestLock lock, String what) {
        log(Event.Kind.COUNT, name, lock.holdCount(), what);
    }

    /** Logs the entry; false if the hold was lost before it could be. */
    private boolean entered(String name, TestLock lock, String text) {
        // From before the library is asked: what it says is true then, if the thread stands still afterwards.
        long now = System.nanoTime();
        try {
            if (lock.previousHolderLost()) {
                log.add(new Event(now, actor, Event.Kind.ALARM, name, 0, ""));
            }
            log.add(new Event(now, actor, Event.Kind.IN, name, lock.token(), text));
            return true;
        } catch (LockLostException e) {
            log(Event.Kind.LOST, name, 0, e.reason().name());
            return false;
        }
    }

    private boolean enteredAgain(String name, TestLock lock, String text) {
        boolean entered = entered(name, lock, text);
        if (entered) {
            count(name, lock, Event.AWAIT);
        } else {
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
        // Even by a thread that has lost the lock: the resource must refuse.
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
                log(Event.Kind.OUT, name, 0, Event.AWAIT);
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
            return what != 0 && lock.isHeld();
        }
        return true;
    }

    private void giveUp(String name, TestLock lock) {
        log(Event.Kind.OUT, name, 0, Event.UNLOCK);
        boolean keeps = !lock.isReentrant() && random.nextInt(CANCELS) == 0;
        try {
            if (keeps) {
                lock.releaseAfter(KEPT);
            } else {
                lock.release();
            }
            log(Event.Kind.FREED, name, keeps ? KEPT.toNanos() : 0, "");
        } catch (LockLostException e) {
            log(Event.Kind.LOST, name, 0, e.reason().name());
        }
    }

    /** Once told, always told: as often as it is still to be unlocked. */
    private void mustBeTold(String name, TestLock lock) {
        for (; depth > 0; depth--) {
            try {
                lock.release();
                log(Event.Kind.BUG, name, 0, "unlock returned after the loss was told");
            } catch (IllegalMonitorStateException e) {
                // As it must be.
            }
        }
    }

    private void log(Event.Kind kind, String lock, long number, String text) {
        log.add(actor, kind, lock, number, text);
    }
}
