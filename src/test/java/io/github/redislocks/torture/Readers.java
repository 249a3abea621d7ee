package io.github.redislocks.torture;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A thread of a worker that reads what writers change: under the read lock, optimistically, or after a downgrade. In
 * the log its reads are the business of an actor of their own, {@code worker/thread.read}.
 */
final class Readers extends Deeds {

    private static final int READ_MICROS = 3_000;

    private final TestLocks locks;
    private final TestLock writeLock;
    private final TestLock readLock;
    private final String reader = actor + ".read";

    Readers(Worker.Order order, int number, TestLocks locks, EventLog log, AtomicBoolean stop) {
        super(order, number, Hammer.SHARED, log, stop);
        this.locks = locks;
        this.writeLock = locks.writeLock(Hammer.SHARED);
        this.readLock = locks.readLock(Hammer.SHARED);
    }

    @Override
    void once(Resource resource) throws InterruptedException {
        switch (random.nextInt(8)) {
            case 0 -> downgrade(resource);
            case 1, 2 -> readOptimistically(resource);
            case 3 -> read(TestLock.Way.TRY, resource);
            case 4 -> read(TestLock.Way.TIMED, resource);
            case 5 -> read(TestLock.Way.INTERRUPTIBLY, resource);
            default -> read(TestLock.Way.LOCK, resource);
        }
    }

    private void read(TestLock.Way way, Resource resource) throws InterruptedException {
        log(reader, Event.Kind.ASK, way.limit, way.name());
        try {
            if (!readLock.acquire(way)) {
                log(reader, Event.Kind.NO, 0, "");
                return;
            }
        } catch (LockUnavailableException e) {
            log(reader, Event.Kind.FAIL, 0, e.getClass().getSimpleName());
            return;
        }
        if (entered(reader, readLock, Event.READ)) {
            look(resource);
        }
    }

    /** Reads both values under the read lock, and gives it up. */
    private void look(Resource resource) {
        long began = System.nanoTime();
        long copy = resource.readCopy(Hammer.SHARED);
        pause(READ_MICROS);
        long plain = resource.read(Hammer.SHARED);
        if (believes(reader, readLock)) {
            log(reader, Event.Kind.SAW, plain, copy + " " + began);
        }
        giveUp(reader, readLock);
    }

    private void readOptimistically(Resource resource) {
        long began = System.nanoTime();
        long stamp = locks.stamp(Hammer.SHARED);
        if (stamp == 0) {
            return;
        }
        long copy = resource.readCopy(Hammer.SHARED);
        pause(READ_MICROS);
        long plain = resource.read(Hammer.SHARED);
        if (locks.validate(Hammer.SHARED, stamp)) {
            log(actor, Event.Kind.SAW, plain, copy + " " + began);
        }
    }

    private void downgrade(Resource resource) throws InterruptedException {
        log(actor, Event.Kind.ASK, -1, TestLock.Way.LOCK.name());
        writeLock.acquire(TestLock.Way.LOCK);
        if (writeLock.isHeld() && writeLock.previousHolderLost()) {
            log(actor, Event.Kind.ALARM, 0, "");
        }
        if (!entered(actor, writeLock, Event.RENEWED)) {
            return;
        }
        log(reader, Event.Kind.ASK, -1, TestLock.Way.LOCK.name());
        boolean reads = false;
        try {
            reads = readLock.acquire(TestLock.Way.LOCK) && entered(reader, readLock, Event.READ);
        } catch (LockLostException e) {
            log(reader, Event.Kind.LOST, 0, e.reason().name());
        }
        giveUp(actor, writeLock);
        if (reads) {
            look(resource);
        }
    }
}
