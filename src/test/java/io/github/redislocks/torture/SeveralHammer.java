package io.github.redislocks.torture;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.MultiLockHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread of a worker that takes two locks of three at once, in any order, or one of them alone. In the log each lock
 * is the business of an actor of its own, {@code worker/thread.lock}, so that the checker sees several holds at a time.
 */
final class SeveralHammer implements Runnable {

    static final List<String> NAMES = List.of("one", "two", "three");

    /** How the log calls an acquisition that may have this lock while it waits for others. */
    static final String WAY = "SEVERAL";

    private static final Duration LIMIT = Duration.ofSeconds(1);
    private static final int HOLD_MICROS = 4_000;
    private static final int PAUSE_MICROS = 80_000;
    private static final long FAILURE_PAUSE_NANOS = 20_000_000;

    private final String actor;
    private final Worker.Order order;
    private final TestLocks locks;
    private final EventLog log;
    private final AtomicBoolean stop;
    private final Random random;

    SeveralHammer(Worker.Order order, int number, TestLocks locks, EventLog log, AtomicBoolean stop) {
        this.actor = order.name() + "/t" + number;
        this.order = order;
        this.locks = locks;
        this.log = log;
        this.stop = stop;
        this.random = new Random(order.seed() * 31 + actor.hashCode());
    }

    /** The thread of an actor, which is one for each lock where the thread takes several. */
    static String thread(String actor) {
        int dot = actor.indexOf('.', actor.indexOf('/'));
        return dot < 0 ? actor : actor.substring(0, dot);
    }

    @Override
    public void run() {
        try (Resource resource = new Resource(order.resource())) {
            while (!stop.get()) {
                List<String> names = new ArrayList<>(NAMES);
                Collections.shuffle(names, random);
                once(names.subList(0, random.nextInt(4) == 0 ? 1 : 2), resource);
                LockSupport.parkNanos(random.nextInt(PAUSE_MICROS) * 1_000L);
            }
        } catch (Throwable e) {
            log.add(
                    actor,
                    Event.Kind.BUG,
                    "",
                    0,
                    (e + " at " + Arrays.toString(e.getStackTrace())).replaceAll("\\s", " "));
        }
    }

    private void once(List<String> names, Resource resource) throws InterruptedException {
        boolean timed = random.nextInt(3) == 0;
        String way = names.size() == 1 ? TestLock.Way.LOCK.name() : WAY;
        all(names, System.nanoTime(), Event.Kind.ASK, timed ? LIMIT.toNanos() : -1, way);
        MultiLockHandle held;
        try {
            held = timed ? locks.tryAcquireAll(names, LIMIT).orElse(null) : locks.acquireAll(names);
        } catch (LockUnavailableException e) {
            all(names, System.nanoTime(), Event.Kind.FAIL, 0, e.getClass().getSimpleName());
            LockSupport.parkNanos(FAILURE_PAUSE_NANOS);
            return;
        }
        if (held == null) {
            // Which lock it was is not known: the others were acquired meanwhile, and given back.
            all(names, System.nanoTime(), Event.Kind.CANCELLED, 0, "");
            return;
        }
        if (entered(names, held)) {
            change(names, held, resource);
        }
        release(names, held);
    }

    private boolean entered(List<String> names, MultiLockHandle held) {
        long now = System.nanoTime();
        Map<String, Long> tokens = new HashMap<>();
        try {
            boolean alarm = held.previousHolderLost();
            for (String name : names) {
                tokens.put(name, held.fencingToken(name));
            }
            if (alarm) {
                all(names, now, Event.Kind.ALARM, 0, "");
            }
        } catch (LockLostException e) {
            all(names, now, Event.Kind.LOST, 0, e.reason().name());
            return false;
        }
        tokens.forEach((name, token) -> log.add(new Event(now, part(name), Event.Kind.IN, name, token, Event.RENEWED)));
        return true;
    }

    /** The critical section, which reads all counters before it writes the first. */
    private void change(List<String> names, MultiLockHandle held, Resource resource) {
        Map<String, Long> plain = new HashMap<>();
        Map<String, Long> fenced = new HashMap<>();
        Map<String, Long> tokens = new HashMap<>();
        try {
            for (String name : names) {
                tokens.put(name, held.fencingToken(name));
            }
        } catch (LockLostException e) {
            return;
        }
        for (String name : names) {
            fenced.put(name, resource.readFenced(name, tokens.get(name)));
            plain.put(name, resource.read(name));
        }
        LockSupport.parkNanos(random.nextInt(HOLD_MICROS) * 1_000L);
        long now = System.nanoTime();
        boolean believed = held.isHeld();
        if (believed) {
            all(names, now, Event.Kind.HELD, 0, "");
        }
        for (String name : names) {
            if (believed) {
                resource.write(name, plain.get(name) + 1);
                log.add(part(name), Event.Kind.WROTE, name, plain.get(name), Event.PLAIN);
            }
            long before = fenced.get(name);
            if (before >= 0 && resource.writeFenced(name, tokens.get(name), before + 1)) {
                log.add(part(name), Event.Kind.WROTE, name, before, Event.FENCED);
            } else {
                log.add(part(name), Event.Kind.REFUSED, name, tokens.get(name), "");
            }
        }
    }

    /** Releases all; those that were lost are named by the exception, the others are free afterwards. */
    private void release(List<String> names, MultiLockHandle held) {
        all(names, System.nanoTime(), Event.Kind.OUT, 0, Event.UNLOCK);
        Map<String, String> lost = new HashMap<>();
        try {
            held.close();
        } catch (LockLostException e) {
            lost.put(e.lockName(), e.reason().name());
            for (Throwable other : e.getSuppressed()) {
                if (other instanceof LockLostException more) {
                    lost.put(more.lockName(), more.reason().name());
                }
            }
        }
        for (String name : names) {
            String reason = lost.get(name);
            log.add(
                    part(name),
                    reason == null ? Event.Kind.FREED : Event.Kind.LOST,
                    name,
                    0,
                    reason == null ? "" : reason);
        }
        if (held.isHeld()) {
            log.add(actor, Event.Kind.BUG, "", 0, "held after its release");
        }
    }

    private void all(List<String> names, long nanos, Event.Kind kind, long number, String text) {
        for (String name : names) {
            log.add(new Event(nanos, part(name), kind, name, number, text));
        }
    }

    private String part(String name) {
        return actor + "." + name;
    }
}
