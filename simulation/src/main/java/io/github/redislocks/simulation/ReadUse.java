package io.github.redislocks.simulation;

import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisReadLock;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.RedisReentrantReadWriteLock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The operations of a caller with a read-write lock. The locks have the names of the plain locks. */
final class ReadUse {

    private static final long MILLISECOND = 1_000_000;
    private static final long SECOND = 1_000_000_000;

    private final Scenario scenario;
    private final Caller caller;
    private final RedisReentrantReadWriteLock both;
    private final RedisReadLock lock;
    private final Seeded numbers;

    ReadUse(Scenario scenario, Caller caller, String lockName, Seeded numbers) {
        this.scenario = scenario;
        this.caller = caller;
        this.both = caller.client().locks.readWriteLock(lockName);
        this.lock = both.readLock();
        this.numbers = numbers;
    }

    void read() {
        caller.waitsToRead(lock.getName());
        lock.lock();
        use(got());
    }

    void readInterruptibly() throws InterruptedException {
        caller.waitsToRead(lock.getName());
        lock.lockInterruptibly();
        use(got());
    }

    void tryToRead() throws InterruptedException {
        if (caller.timed(this::writtenUntil, Duration.ZERO, Caller.TRY_NANOS, lock::tryLock)) {
            use(got());
        }
    }

    void readWithin(Duration wait) throws InterruptedException {
        Caller.Timed call = () -> lock.tryLock(wait.toNanos(), TimeUnit.NANOSECONDS);
        if (caller.timed(this::writtenUntil, wait, Caller.LATE_NANOS, call)) {
            use(got());
        }
    }

    private long writtenUntil() {
        return scenario.server.order(lock.getName()).writtenUntil();
    }

    /** Reads many times in a row, so that shares often end while threads come and go. */
    void readOften() {
        boolean pauses = numbers.oneIn(2);
        for (int i = numbers.below(10) + 3; i > 0; i--) {
            caller.waitsToRead(lock.getName());
            lock.lock();
            unlock(got());
            if (pauses) {
                Caller.sleep(numbers.between(1_000, 4 * MILLISECOND));
            }
        }
    }

    /** Writes, and reads inside. Unlocks one or the other first. */
    void writeAndRead() {
        RedisReentrantLock writeLock = both.writeLock();
        caller.waitsFor(lock.getName());
        writeLock.lock();
        Ledger.Possession writing = caller.got(writeLock);
        boolean writes = true;
        boolean reads = false;
        try {
            lock.lock();
            reads = true;
            Caller.sleep(numbers.between(1_000, 50 * MILLISECOND));
            if (numbers.below(4) > 0) {
                writes = false;
                caller.unlock(writeLock, writing);
                // The read lock goes on, or was lost with the write lock.
                reads = false;
                use(got());
            }
        } finally {
            try {
                if (reads) {
                    lock.unlock();
                }
            } finally {
                if (writes) {
                    caller.unlock(writeLock, writing);
                }
            }
        }
    }

    /** Tries to write while it reads, which is refused. */
    void upgrade() {
        caller.waitsToRead(lock.getName());
        lock.lock();
        Ledger.Possession reading = got();
        RedisReentrantLock writeLock = both.writeLock();
        boolean writes = false;
        try {
            if (numbers.oneIn(2)) {
                writes = writeLock.tryLock();
            } else {
                writeLock.lock();
                writes = true;
            }
            if (writes && lock.isHeldByCurrentThread()) {
                scenario.world.fail(caller + " reads and writes");
            }
        } catch (IllegalMonitorStateException refused) {
            // Expected: the caller reads.
        } finally {
            try {
                if (writes) {
                    writeLock.unlock();
                }
            } finally {
                unlock(reading);
            }
        }
    }

    private Ledger.Possession got() {
        caller.waitsFor(null);
        return scenario.ledger.reads(
                lock.getName(), caller.toString(), caller.client(), lock::isHeldByCurrentThread, lock::version);
    }

    private void use(Ledger.Possession possession) {
        try {
            switch (numbers.below(8)) {
                case 0 -> Caller.sleep(numbers.between(SECOND, 4 * SECOND));
                case 1, 2 -> Caller.sleep(numbers.between(MILLISECOND, 200 * MILLISECOND));
                case 3, 4 -> Caller.sleep(numbers.between(1_000, MILLISECOND));
                case 5 -> {
                    lock.lock();
                    try {
                        Caller.sleep(numbers.between(1_000, 5 * MILLISECOND));
                    } finally {
                        lock.unlock();
                    }
                }
                case 6 -> lock.ensureHeld();
                default -> {}
            }
        } finally {
            unlock(possession);
        }
    }

    private void unlock(Ledger.Possession possession) {
        scenario.ledger.stopsReading(possession, lock::isHeldByCurrentThread, lock::version);
        try {
            lock.unlock();
            scenario.ledger.ended(possession, true);
        } catch (LockLostException e) {
            scenario.ledger.ended(possession, false);
            throw e;
        }
    }
}
