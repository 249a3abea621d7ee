package io.github.redislocks.simulation;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.MultiLock;
import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.simulation.boot.Simulated;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;

/** A thread of an application, which does one thing after the other with the locks. */
final class Caller {

    /** An operation of a caller; all are about equally frequent, but for the last two. */
    enum Operation {
        LOCK,
        LOCK_AGAIN,
        TRY,
        TRY_FOR_A_TIME,
        LOCK_WITH_LEASE,
        LOCK_INTERRUPTIBLY,
        TRY_WITH_LEASE,
        ACQUIRE,
        TRY_ACQUIRE,
        ACQUIRE_ASYNC,
        CANCEL_ASYNC,
        LOCK_SEVERAL,
        TRY_SEVERAL,
        ACQUIRE_SEVERAL,
        END_WITH_THE_LOCK,
        FORCE,
        DELETE
    }

    private static final long MILLISECOND = 1_000_000;
    private static final long SECOND = 1_000_000_000;
    /** How much later than its time a timed call may end. */
    private static final long LATE_NANOS = 200 * MILLISECOND;

    private final Scenario scenario;
    private final World world;
    private final Client client;
    private final String name;
    private final Seeded random;
    private String waitsFor;

    Caller(Scenario scenario, Client client, String name, Seeded random) {
        this.scenario = scenario;
        this.world = scenario.world;
        this.client = client;
        this.name = name;
        this.random = random;
    }

    /** The lock for which the caller waits without a time limit, or null. */
    String waitsFor() {
        return waitsFor;
    }

    /** Whether the process is stopped, for a time or for ever. */
    boolean isStopped() {
        return world.isPaused(client.number);
    }

    void run(int operations) {
        for (int i = 0; i < operations && !client.isClosed(); i++) {
            Operation operation = operation();
            Seeded numbers = random.another();
            try {
                world.event("%s: %s", name, operation);
                act(operation, numbers);
            } catch (LockLostException | LockUnavailableException | InterruptedException e) {
                world.event("%s: %s", name, e.getClass().getSimpleName());
            } catch (IllegalStateException e) {
                if (!client.locks.isClosed()) {
                    world.fail(name + ": " + text(e));
                }
                return;
            } catch (Throwable e) {
                world.fail(name + ": " + text(e));
            } finally {
                waitsFor = null;
                Thread.interrupted();
            }
            sleep(numbers.oneIn(3) ? numbers.between(1_000, 200 * MILLISECOND) : numbers.between(1_000, MILLISECOND));
        }
    }

    private Operation operation() {
        Operation operation = random.of(Operation.values());
        boolean rare = operation == Operation.FORCE || operation == Operation.DELETE;
        return rare && !random.oneIn(6) ? Operation.LOCK : operation;
    }

    private void act(Operation operation, Seeded numbers) throws InterruptedException {
        String lockName = scenario.names.get(numbers.oneIn(4) ? 1 : 0);
        FencedLock lock = scenario.isFair() ? client.locks.fairLock(lockName) : client.locks.reentrantLock(lockName);
        Duration wait = Duration.ofNanos(numbers.between(MILLISECOND, 2 * SECOND));
        Duration lease = Duration.ofMillis(numbers.between(100, 3000));
        switch (operation) {
            case LOCK, LOCK_AGAIN -> {
                waitsFor = lockName;
                lock.lock();
                use(lock, numbers);
            }
            case TRY -> {
                if (timed(lockName, Duration.ZERO, 600 * MILLISECOND, lock::tryLock)) {
                    use(lock, numbers);
                }
            }
            case TRY_FOR_A_TIME -> {
                if (timed(lockName, wait, LATE_NANOS, () -> lock.tryLock(wait))) {
                    use(lock, numbers);
                }
            }
            case LOCK_WITH_LEASE -> {
                waitsFor = lockName;
                lock.lock(lease);
                use(lock, numbers);
            }
            case LOCK_INTERRUPTIBLY -> {
                waitsFor = lockName;
                lock.lockInterruptibly();
                use(lock, numbers);
            }
            case TRY_WITH_LEASE -> {
                if (timed(lockName, wait, LATE_NANOS, () -> lock.tryLock(wait, lease))) {
                    use(lock, numbers);
                }
            }
            case ACQUIRE -> {
                waitsFor = lockName;
                use(client.locks.acquire(lockName), numbers);
            }
            case TRY_ACQUIRE -> {
                Optional<LockHandle> handle = client.locks.tryAcquire(lockName, wait);
                if (handle.isPresent()) {
                    use(handle.get(), numbers);
                }
            }
            case ACQUIRE_ASYNC -> acquireAsync(lockName, SECOND * 20, numbers);
            case CANCEL_ASYNC -> acquireAsync(lockName, numbers.between(1_000, 300 * MILLISECOND), numbers);
            case LOCK_SEVERAL -> {
                MultiLock both = several();
                both.lock();
                use(both, numbers);
            }
            case TRY_SEVERAL -> {
                MultiLock both = several();
                if (numbers.oneIn(2) ? both.tryLock() : both.tryLock(wait.toNanos(), TimeUnit.NANOSECONDS)) {
                    use(both, numbers);
                }
            }
            case ACQUIRE_SEVERAL -> {
                Optional<MultiLockHandle> both = client.locks.tryAcquireAll(scenario.names, wait);
                if (both.isPresent()) {
                    sleep(numbers.between(1_000, 100 * MILLISECOND));
                    both.get().release();
                }
            }
            case END_WITH_THE_LOCK ->
                world.thread(client.number, name + "-ends", () -> {
                            try {
                                if (lock.tryLock()) {
                                    got(lock);
                                }
                            } catch (LockUnavailableException | LockLostException | IllegalStateException e) {
                                world.event("%s: %s", name, e.getClass().getSimpleName());
                            }
                        })
                        .start();
            case FORCE -> {
                scenario.server.beginForcing(lockName);
                try {
                    lock.forceUnlock();
                } finally {
                    scenario.server.endForcing(lockName);
                }
            }
            case DELETE -> {
                scenario.server.broken(lockName);
                scenario.server.redis.del(Server.lockKey(lockName));
            }
        }
    }

    private MultiLock several() {
        return client.locks.multiLock(scenario.names.toArray(String[]::new));
    }

    /** A call that waits for a time. */
    private interface Timed {
        boolean call() throws InterruptedException;
    }

    private boolean timed(String lockName, Duration wait, long lateNanos, Timed call) throws InterruptedException {
        long began = world.now();
        long pausedBefore = world.pausedNanos(client.number);
        boolean acquired = call.call();
        // A thread that is preempted in the midst of it is late by what others took.
        long most = wait.toNanos() * 101 / 100 + lateNanos + world.pausedNanos(client.number) - pausedBefore;
        long took = world.now() - began;
        if (took > most) {
            world.fail(String.format("a try for %s took %.3f ms", wait, took / 1e6));
        }
        if (!acquired && scenario.isWithoutFaults() && scenario.server.ownedUntil(lockName) < began) {
            world.fail("a try was told that " + lockName + " is busy, which nobody had");
        }
        return acquired;
    }

    private void acquireAsync(String lockName, long patienceNanos, Seeded numbers) throws InterruptedException {
        CompletableFuture<LockHandle> future = client.locks.acquireAsync(lockName);
        try {
            long until = world.now() + patienceNanos;
            while (!future.isDone() && world.now() < until) {
                LockSupport.parkNanos(Math.min(50 * MILLISECOND, patienceNanos));
                if (Thread.interrupted()) {
                    break;
                }
            }
            if (!future.cancel(true)) {
                use(future.get(), numbers);
            }
        } catch (CancellationException e) {
            world.event("%s: cancelled", name);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalArgumentException(e);
        }
    }

    private Ledger.Possession got(FencedLock lock) {
        waitsFor = null;
        return scenario.ledger.acquired(
                lock.getName(),
                name,
                () -> lock.isHeldByCurrentThread() && lock.getHoldCount() == 1,
                lock::fencingToken);
    }

    private void use(FencedLock lock, Seeded numbers) throws InterruptedException {
        Ledger.Possession possession = got(lock);
        boolean held = true;
        try {
            switch (numbers.below(10)) {
                case 0 -> sleep(numbers.between(SECOND, 6 * SECOND));
                case 1, 2 -> sleep(numbers.between(MILLISECOND, 300 * MILLISECOND));
                case 3, 4 -> sleep(numbers.between(1_000, MILLISECOND));
                case 5 -> again(lock, numbers);
                case 6 -> {
                    held = false;
                    client.events.awaits();
                    Condition condition = lock.newCondition("c");
                    scenario.ledger.leaves(possession, lock::isHeldByCurrentThread);
                    condition.await(numbers.between(MILLISECOND, 500 * MILLISECOND), TimeUnit.NANOSECONDS);
                    held = true;
                    possession = got(lock);
                }
                case 7 -> lock.newCondition("c").signalAll();
                case 8 -> lock.ensureHeld();
                default -> {}
            }
        } finally {
            if (held) {
                scenario.ledger.leaves(possession, lock::isHeldByCurrentThread);
                lock.unlock();
            } else if (lock.isHeldByCurrentThread()) {
                // The await was interrupted, and has acquired the lock again.
                lock.unlock();
            }
        }
    }

    private void again(FencedLock lock, Seeded numbers) {
        if (numbers.oneIn(2)) {
            lock.lock();
        } else {
            lock.lock(Duration.ofMillis(numbers.between(100, 3000)));
        }
        try {
            sleep(numbers.between(1_000, 5 * MILLISECOND));
        } finally {
            lock.unlock();
        }
    }

    private void use(LockHandle handle, Seeded numbers) {
        waitsFor = null;
        Ledger.Possession possession =
                scenario.ledger.acquired(handle.name(), name, handle::isHeld, handle::fencingToken);
        try {
            sleep(numbers.oneIn(6) ? numbers.between(SECOND, 4 * SECOND) : numbers.between(1_000, 100 * MILLISECOND));
        } finally {
            scenario.ledger.leaves(possession, handle::isHeld);
            switch (numbers.below(4)) {
                case 0 -> handle.releaseAfter(Duration.ofMillis(numbers.between(1, 500)));
                case 1 -> handle.releaseAsync();
                case 2 -> handle.close();
                default -> handle.release();
            }
        }
    }

    private void use(MultiLock both, Seeded numbers) {
        try {
            sleep(numbers.between(1_000, 100 * MILLISECOND));
        } finally {
            both.unlock();
        }
    }

    /** Sleeps for a time of this client, even if it is interrupted. */
    private static void sleep(long nanos) {
        boolean interrupted = false;
        long until = Simulated.nanoTime() + nanos;
        for (long left = nanos; left > 0; left = until - Simulated.nanoTime()) {
            LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    static String text(Throwable e) {
        StringWriter text = new StringWriter();
        e.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
