package io.github.redislocks.simulation;

import io.github.redislocks.FencedLock;
import io.github.redislocks.Leadership;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.MultiLock;
import io.github.redislocks.MultiLockHandle;
import io.github.redislocks.simulation.boot.Simulated;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/** A thread of an application, which does one operation with the locks after the other. */
final class Caller {

    /**
     * An operation of a caller. All operations on plain locks but {@link #FORCE} and {@link #DELETE} are about equally
     * frequent.
     */
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
        ASYNC_FOR_A_TIME,
        WITH_LOCK_ASYNC,
        RUN_INTERRUPTED_BY_LOSS,
        LOCK_SEVERAL,
        TRY_SEVERAL,
        ACQUIRE_SEVERAL,
        WAIT_FOR_A_THING,
        WAIT_A_WHILE_FOR_A_THING,
        GIVE_A_THING,
        LEAD,
        END_WITH_THE_LOCK,
        FORCE,
        DELETE,
        READ,
        READ_INTERRUPTIBLY,
        TRY_TO_READ,
        READ_FOR_A_TIME,
        READ_OFTEN,
        WRITE_AND_READ,
        UPGRADE,
        TAKE_PERMITS,
        TRY_PERMITS,
        PERMITS_ASYNC;

        private static final List<Operation> PLAIN = List.of(values()).subList(0, READ.ordinal());
        private static final List<Operation> SHARED = List.of(values()).subList(READ.ordinal(), values().length);
    }

    /**
     * Chooses the operations of one schedule: all, or a few in half of the schedules, so that those few often run at
     * the same time (swarm testing: Groce, Zhang, Eide, Chen and Regehr, 2012).
     */
    static Operation[] some(Seeded random) {
        Operation[] all = Operation.PLAIN.toArray(Operation[]::new);
        if (random.oneIn(2)) {
            return all;
        }
        Operation[] few = new Operation[random.below(4) + 2];
        // Choose from all operations, or from neighbours, which are related.
        int first = random.below(all.length);
        int among = random.oneIn(2) ? all.length : few.length + 1;
        for (int i = 0; i < few.length; i++) {
            few[i] = all[(first + random.below(among)) % all.length];
        }
        return few;
    }

    /**
     * Chooses the operations of a schedule with readers and permits: a third of them on plain locks, the others in half
     * of the schedules from neighbours.
     */
    static Operation[] shared(Seeded random) {
        Operation[] some = new Operation[random.below(6) + 3];
        int first = random.below(Operation.SHARED.size());
        int among = random.oneIn(2) ? Operation.SHARED.size() : 4;
        for (int i = 0; i < some.length; i++) {
            some[i] = i % 3 == 2
                    ? Operation.PLAIN.get(random.below(Operation.PLAIN.size()))
                    : Operation.SHARED.get((first + random.below(among)) % Operation.SHARED.size());
        }
        return some;
    }

    private static final long MILLISECOND = 1_000_000;
    private static final long SECOND = 1_000_000_000;
    /** How long after its time a timed call may end. */
    static final long LATE_NANOS = 200 * MILLISECOND;
    /** How long a try without time may take. */
    static final long TRY_NANOS = 600 * MILLISECOND;
    /** Stands for the end of a time about which nothing is known. */
    private static final LongSupplier NO_CHECK = () -> Long.MAX_VALUE;

    private final Scenario scenario;
    private final World world;
    private final Client client;
    private final String name;
    private final Seeded random;
    private String waitsFor;
    private boolean waitsToRead;
    private String needs;
    private long needsSince;
    private Thread giver;

    Caller(Scenario scenario, Client client, String name, Seeded random) {
        this.scenario = scenario;
        this.world = scenario.world;
        this.client = client;
        this.name = name;
        this.random = random;
    }

    Client client() {
        return client;
    }

    @Override
    public String toString() {
        return name;
    }

    /** The lock or pool for which the caller waits without a time limit, or null. */
    String waitsFor() {
        return waitsFor;
    }

    /** Whether the caller waits to read. */
    boolean waitsToRead() {
        return waitsToRead;
    }

    /** Notes for which lock or pool the caller waits without a time limit; null for none. */
    void waitsFor(String lockName) {
        waitsFor = lockName;
        waitsToRead = false;
    }

    /** Notes that the caller waits without a time limit to read under a lock. */
    void waitsToRead(String lockName) {
        waitsFor = lockName;
        waitsToRead = true;
    }

    /** The lock under whose Condition the caller waits for a thing of the store, or null. */
    String needs() {
        return needs;
    }

    /** The true time at which that wait began. */
    long needsSince() {
        return needsSince;
    }

    /** Starts a thread of the same process that puts a thing into the store, unless one is running. */
    void isGiven(String lockName) {
        if (giver == null || !giver.isAlive()) {
            Caller other = new Caller(scenario, client, name + "'s giver", random.another());
            giver = scenario.start(client, other.name, () -> other.give(lockName));
        }
    }

    private void give(String lockName) {
        attempt(Operation.GIVE_A_THING, () -> give(lock(lockName)));
    }

    /** Whether the process is paused or was killed. */
    boolean isStopped() {
        return world.isPaused(client.number);
    }

    void run(int operations) {
        for (int i = 0; i < operations && !client.isClosed(); i++) {
            Operation operation = operation();
            Seeded numbers = random.another();
            boolean goesOn = attempt(operation, () -> act(operation, numbers));
            scenario.names.forEach(lockName -> log("NO", lockName));
            if (!goesOn) {
                return;
            }
            sleep(numbers.oneIn(3) ? numbers.between(1_000, 200 * MILLISECOND) : numbers.between(1_000, MILLISECOND));
        }
    }

    /** Work that may end by one of the exceptions of a lock. */
    private interface Work {
        void run() throws InterruptedException;
    }

    /** Does the work. Returns whether the client can still be used. */
    private boolean attempt(Operation operation, Work work) {
        try {
            world.event("%s: %s", name, operation);
            work.run();
        } catch (LockUnavailableException e) {
            world.event("%s: %s", name, e.getClass().getSimpleName());
            if (scenario.isWithoutFaults()) {
                world.fail(name + ": unavailable without a fault: " + text(e));
            }
        } catch (LockLostException | InterruptedException e) {
            world.event("%s: %s", name, e.getClass().getSimpleName());
        } catch (IllegalStateException e) {
            if (!client.locks.isClosed()) {
                world.fail(name + ": " + text(e));
            }
            return false;
        } catch (Throwable e) {
            world.fail(name + ": " + text(e));
        } finally {
            waitsFor(null);
            needs = null;
            Thread.interrupted();
        }
        return true;
    }

    /** Notes, for a picture, that a call begins or has ended. A call that got a lock was noted as ended before. */
    private void log(String kind, String lockName) {
        world.log(client.toString(), name, kind, lockName, 0, "");
    }

    private FencedLock lock(String lockName) {
        return scenario.isFair()
                ? client.locks.reentrantLock(lockName, LockOptions.defaults().fair(true))
                : client.locks.reentrantLock(lockName);
    }

    private FencedLock fixed(String lockName, Duration lease) {
        LockOptions options = LockOptions.defaults().fair(scenario.isFair()).fixedLease(lease);
        return client.locks.reentrantLock(lockName, options);
    }

    private Operation operation() {
        Operation operation = random.of(scenario.operations);
        boolean breaks = operation == Operation.FORCE || operation == Operation.DELETE;
        boolean rare = breaks && !scenario.isWithoutFaults();
        boolean waits =
                switch (operation) {
                    case WAIT_FOR_A_THING, WAIT_A_WHILE_FOR_A_THING, GIVE_A_THING -> true;
                    default -> false;
                };
        boolean unsupported = waits && scenario.server.isQuorum();
        return rare && !random.oneIn(6) || unsupported ? Operation.LOCK : operation;
    }

    private void act(Operation operation, Seeded numbers) throws InterruptedException {
        String lockName = scenario.names.get(numbers.oneIn(4) ? 1 : 0);
        FencedLock lock = lock(lockName);
        Duration wait = Duration.ofNanos(numbers.between(MILLISECOND, 2 * SECOND));
        Duration lease = Duration.ofMillis(numbers.between(100, 3000));
        log("ASK", lockName);
        switch (operation) {
            case LOCK, LOCK_AGAIN -> {
                waitsFor(lockName);
                lock.lock();
                use(lock, numbers);
            }
            case TRY -> {
                if (timed(lockName, Duration.ZERO, TRY_NANOS, lock::tryLock)) {
                    use(lock, numbers);
                }
            }
            case TRY_FOR_A_TIME -> {
                if (timed(lockName, wait, LATE_NANOS, () -> lock.tryLock(wait))) {
                    use(lock, numbers);
                }
            }
            case LOCK_WITH_LEASE -> {
                waitsFor(lockName);
                fixed(lockName, lease).lock();
                use(lock, numbers);
            }
            case LOCK_INTERRUPTIBLY -> {
                waitsFor(lockName);
                lock.lockInterruptibly();
                use(lock, numbers);
            }
            case TRY_WITH_LEASE -> {
                if (timed(
                        lockName, wait, LATE_NANOS, () -> fixed(lockName, lease).tryLock(wait))) {
                    use(lock, numbers);
                }
            }
            case ACQUIRE -> {
                waitsFor(lockName);
                use(client.locks.reentrantLock(lockName).acquire(), numbers);
            }
            case TRY_ACQUIRE -> {
                List<LockHandle> handles = new ArrayList<>();
                if (timed(
                        lockName,
                        wait,
                        LATE_NANOS,
                        () -> client.locks
                                .reentrantLock(lockName)
                                .tryAcquire(wait)
                                .map(handles::add)
                                .isPresent())) {
                    use(handles.get(0), numbers);
                }
            }
            case ACQUIRE_ASYNC -> acquireAsync(lockName, SECOND * 20, numbers);
            case CANCEL_ASYNC -> acquireAsync(lockName, numbers.between(1_000, 300 * MILLISECOND), numbers);
            case ASYNC_FOR_A_TIME -> {
                CompletableFuture<LockHandle> future =
                        client.locks.reentrantLock(lockName).acquireAsync();
                failLater(future, wait);
                if (timed(NO_CHECK, wait, LATE_NANOS, () -> isAcquired(future))) {
                    use(future.join(), numbers);
                }
            }
            case WITH_LOCK_ASYNC -> withLockAsync(lockName, numbers);
            case RUN_INTERRUPTED_BY_LOSS -> runInterruptedByLoss(lockName, numbers);
            case LOCK_SEVERAL -> {
                MultiLock both = several();
                both.lock();
                use(both, numbers);
            }
            case TRY_SEVERAL -> {
                MultiLock both = several();
                boolean waits = numbers.oneIn(2);
                Duration most = waits ? wait : Duration.ZERO;
                if (timed(
                        NO_CHECK,
                        most,
                        waits ? LATE_NANOS : TRY_NANOS,
                        () -> waits ? both.tryLock(wait.toNanos(), TimeUnit.NANOSECONDS) : both.tryLock())) {
                    use(both, numbers);
                }
            }
            case ACQUIRE_SEVERAL -> {
                List<MultiLockHandle> handles = new ArrayList<>();
                if (timed(
                        NO_CHECK,
                        wait,
                        LATE_NANOS,
                        () -> client.locks
                                .multiLock(scenario.names)
                                .tryAcquire(wait)
                                .map(handles::add)
                                .isPresent())) {
                    use(handles.get(0), numbers);
                }
            }
            case WAIT_FOR_A_THING -> waitForAThing(lock, Long.MAX_VALUE);
            case WAIT_A_WHILE_FOR_A_THING -> waitForAThing(lock, wait.toNanos());
            case GIVE_A_THING -> give(lock);
            case LEAD -> lead(lockName, numbers);
            case END_WITH_THE_LOCK ->
                scenario.start(client, name + "-ends", () -> {
                    try {
                        if (lock.tryLock()) {
                            got(lock);
                        }
                    } catch (LockUnavailableException | LockLostException | IllegalStateException e) {
                        world.event("%s: %s", name, e.getClass().getSimpleName());
                    }
                });
            case FORCE -> {
                awaitHeld(lockName, numbers);
                scenario.server.beginForcing(lockName);
                boolean ended = false;
                try {
                    ended = lock.forceUnlock();
                } finally {
                    scenario.server.endForcing(lockName, ended);
                }
            }
            case DELETE -> {
                awaitHeld(lockName, numbers);
                scenario.server.delete(lockName);
            }
            case READ -> new ReadUse(scenario, this, lockName, numbers).read();
            case READ_INTERRUPTIBLY -> new ReadUse(scenario, this, lockName, numbers).readInterruptibly();
            case TRY_TO_READ -> new ReadUse(scenario, this, lockName, numbers).tryToRead();
            case READ_FOR_A_TIME -> new ReadUse(scenario, this, lockName, numbers).readWithin(wait);
            case READ_OFTEN -> new ReadUse(scenario, this, lockName, numbers).readOften();
            case WRITE_AND_READ -> new ReadUse(scenario, this, lockName, numbers).writeAndRead();
            case UPGRADE -> new ReadUse(scenario, this, lockName, numbers).upgrade();
            case TAKE_PERMITS -> new PermitUse(scenario, this, numbers).acquire();
            case TRY_PERMITS -> new PermitUse(scenario, this, numbers).acquireWithin(wait);
            case PERMITS_ASYNC -> new PermitUse(scenario, this, numbers).acquireAsync(wait);
        }
    }

    /** Waits a short time until somebody has the lock, preferably somebody who keeps it for long. */
    private void awaitHeld(String lockName, Seeded numbers) {
        sleep(numbers.between(1_000, 300 * MILLISECOND));
        for (int i = 0; i < 20 && scenario.server.isFree(lockName); i++) {
            sleep(5 * MILLISECOND);
        }
    }

    private MultiLock several() {
        return client.locks.multiLock(List.of(scenario.names.toArray(String[]::new)));
    }

    /** A call with a time limit. */
    interface Timed {
        boolean call() throws InterruptedException;
    }

    private boolean timed(String lockName, Duration wait, long lateNanos, Timed call) throws InterruptedException {
        return timed(() -> scenario.server.ownedUntil(lockName), wait, lateNanos, call);
    }

    /**
     * Makes a call that has to end in time. Without faults, it may fail only if what it wants was busy.
     *
     * @param busyUntil tells until when that was, as far as the simulation has seen
     */
    boolean timed(LongSupplier busyUntil, Duration wait, long lateNanos, Timed call) throws InterruptedException {
        long began = world.now();
        long pausedBefore = world.pausedNanos(client.number);
        boolean acquired = call.call();
        // A thread that is preempted meanwhile is late by the time of the others.
        long most = wait.toNanos() * 101 / 100 + lateNanos + world.pausedNanos(client.number) - pausedBefore;
        long took = world.now() - began;
        if (took > most) {
            world.fail(String.format("a try for %s took %.3f ms", wait, took / 1e6));
        }
        if (!acquired && scenario.isWithoutFaults() && busyUntil.getAsLong() < began) {
            world.fail("a try found busy what was free");
        }
        return acquired;
    }

    private void acquireAsync(String lockName, long patienceNanos, Seeded numbers) {
        CompletableFuture<LockHandle> future =
                client.locks.reentrantLock(lockName).acquireAsync();
        awaitDone(future, patienceNanos);
        if (future.cancel(true)) {
            world.event("%s: cancelled", name);
        } else if (isAcquired(future)) {
            use(future.join(), numbers);
        }
    }

    /** Waits until a future has completed, for the given time at most, or until an interrupt. */
    void awaitDone(CompletableFuture<?> future, long nanos) {
        long until = world.now() + nanos;
        while (!future.isDone() && world.now() < until) {
            LockSupport.parkNanos(Math.min(50 * MILLISECOND, nanos));
            if (Thread.interrupted()) {
                break;
            }
        }
    }

    /** Waits until a future has completed, in spite of interrupts. Returns false if the future was cancelled. */
    static boolean isAcquired(CompletableFuture<?> future) {
        try {
            future.join();
            return true;
        } catch (CancellationException e) {
            return false;
        } catch (CompletionException e) {
            if (e.getCause() instanceof TimeoutException) {
                return false;
            } else if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        }
    }

    /** Does what {@code orTimeout} does, on a thread of the simulation. */
    private void failLater(CompletableFuture<?> future, Duration wait) {
        scenario.start(client, name + "'s timer", () -> {
            sleep(wait.toNanos());
            future.completeExceptionally(new TimeoutException());
        });
    }

    /** Works under a lock that is acquired without a waiting thread. Gives the acquisition up in some schedules. */
    private void withLockAsync(String lockName, Seeded numbers) {
        long work = numbers.between(1_000, 500 * MILLISECOND);
        CompletableFuture<Boolean> future = client.locks.reentrantLock(lockName).callWithHandleAsync(held -> {
            Ledger.Possession possession =
                    scenario.ledger.acquired(lockName, name, client, held::isHeld, held::fencingToken);
            CompletableFuture<Boolean> done = new CompletableFuture<>();
            scenario.start(client, name + "'s work", () -> {
                sleep(work);
                scenario.ledger.leaves(possession, held::isHeld);
                done.complete(true);
            });
            return done;
        });
        if (numbers.oneIn(2)) {
            failLater(future, Duration.ofNanos(numbers.between(1_000, SECOND)));
        }
        isAcquired(future);
    }

    /** Works under a lock. If the lock is lost, the thread must be interrupted soon. */
    private void runInterruptedByLoss(String lockName, Seeded numbers) throws InterruptedException {
        LockOptions options = LockOptions.defaults();
        waitsFor(lockName);
        client.locks.reentrantLock(lockName, options).runWithHandle(held -> {
            waitsFor(null);
            Ledger.Possession possession =
                    scenario.ledger.acquired(lockName, name, client, held::isHeld, held::fencingToken);
            long[] lostAt = {Long.MAX_VALUE};
            held.lost().thenAccept(loss -> lostAt[0] = world.now());
            long pausedBefore = world.pausedNanos(client.number);
            long until = Simulated.nanoTime() + numbers.between(MILLISECOND, 4 * SECOND);
            while (Simulated.nanoTime() < until && !Thread.interrupted()) {
                LockSupport.parkNanos(Math.min(100 * MILLISECOND, until - Simulated.nanoTime()));
                long late = world.now() - lostAt[0] - world.pausedNanos(client.number) + pausedBefore;
                if (lostAt[0] != Long.MAX_VALUE && late > LATE_NANOS) {
                    world.fail(name + " is not interrupted by the loss of " + lockName);
                }
            }
            scenario.ledger.leaves(possession, held::isHeld);
        });
    }

    Ledger.Possession got(FencedLock lock) {
        waitsFor(null);
        return scenario.ledger.acquired(lock.getName(), name, client, isHeldOnce(lock), lock::fencingToken);
    }

    private static BooleanSupplier isHeldOnce(FencedLock lock) {
        return () -> lock.isHeldByCurrentThread() && lock.getHoldCount() == 1;
    }

    private void use(FencedLock lock, Seeded numbers) throws InterruptedException {
        Ledger.Possession possession = got(lock);
        boolean held = true;
        try {
            int use = numbers.below(10);
            // On a quorum, replace the uses of Conditions, which a quorum does not support.
            switch (scenario.server.isQuorum() && (use == 6 || use == 7) ? 8 : use) {
                case 0 -> sleep(numbers.between(SECOND, 6 * SECOND));
                case 1, 2 -> sleep(numbers.between(MILLISECOND, 300 * MILLISECOND));
                case 3, 4 -> sleep(numbers.between(1_000, MILLISECOND));
                case 5 -> again(lock, numbers);
                case 6 -> {
                    held = false;
                    long nanos = numbers.between(MILLISECOND, 500 * MILLISECOND);
                    Condition condition = lock.newCondition("c");
                    await(lock, possession, () -> condition.await(nanos, TimeUnit.NANOSECONDS));
                    held = true;
                }
                case 7 -> lock.newCondition("c").signalAll();
                case 8 -> lock.ensureHeld();
                default -> {}
            }
        } catch (InterruptedException e) {
            held = true;
            throw e;
        } finally {
            if (held) {
                unlock(lock, possession);
            }
        }
    }

    void unlock(FencedLock lock, Ledger.Possession possession) {
        scenario.ledger.leaves(possession, lock::isHeldByCurrentThread);
        try {
            lock.unlock();
            scenario.ledger.ended(possession, true);
        } catch (LockLostException e) {
            scenario.ledger.ended(possession, false);
            throw e;
        }
    }

    /**
     * Waits in a Condition: the possession ends, and begins again unless an exception says that the lock is not held.
     */
    private void await(FencedLock lock, Ledger.Possession possession, Work waiting) throws InterruptedException {
        client.events.awaits();
        scenario.ledger.leaves(possession, lock::isHeldByCurrentThread);
        try {
            waiting.run();
        } catch (InterruptedException e) {
            scenario.ledger.cameBack(possession, isHeldOnce(lock), lock::fencingToken);
            throw e;
        } catch (Throwable e) {
            // If a close has begun, the hold is about to end.
            if (lock.isHeldByCurrentThread() && !client.locks.isClosed()) {
                world.fail(name + ": an await threw, and the lock is held: " + text(e));
            }
            throw e;
        }
        scenario.ledger.cameBack(possession, isHeldOnce(lock), lock::fencingToken);
    }

    /**
     * Takes a thing from the store. While the store is empty, waits for a signal, for the given time at most. A caller
     * whose time is over without a signal leaves the things to others.
     */
    private void waitForAThing(FencedLock lock, long mostNanos) throws InterruptedException {
        String lockName = lock.getName();
        boolean untimed = mostNanos == Long.MAX_VALUE;
        waitsFor(lockName);
        lock.lock();
        Ledger.Possession possession = got(lock);
        boolean held = true;
        try {
            Condition condition = lock.newCondition(Store.CONDITION);
            long[] left = {mostNanos};
            while (left[0] > 0 && scenario.store.isEmpty(lockName)) {
                held = false;
                needs = untimed ? lockName : null;
                needsSince = world.now();
                await(lock, possession, () -> {
                    if (untimed) {
                        condition.await();
                    } else {
                        left[0] = condition.awaitNanos(left[0]);
                    }
                });
                needs = null;
                held = true;
            }
            // Look into the store even if the time was over: the signal may have come before.
            if (!scenario.store.isEmpty(lockName)) {
                scenario.store.take(lockName);
            }
        } catch (InterruptedException e) {
            held = true;
            throw e;
        } finally {
            needs = null;
            if (held) {
                unlock(lock, possession);
            }
        }
    }

    /** Puts a thing into the store, and signals one caller that waits for it. */
    private void give(FencedLock lock) {
        waitsFor(lock.getName());
        lock.lock();
        Ledger.Possession possession = got(lock);
        try {
            scenario.store.add(lock.getName());
            boolean told = false;
            try {
                lock.newCondition(Store.CONDITION).signal();
                told = true;
            } finally {
                if (!told) {
                    scenario.store.take(lock.getName());
                }
            }
        } finally {
            unlock(lock, possession);
        }
    }

    /** Is a candidate for leader for some time. After a close that ends in time, no work of the candidate goes on. */
    private void lead(String lockName, Seeded numbers) {
        Seeded terms = numbers.another();
        AtomicInteger working = new AtomicInteger();
        List<Long> tokens = new ArrayList<>();
        Leadership leadership = client.locks.leadership(lockName, term -> {
            working.incrementAndGet();
            try {
                tokens.add(term.fencingToken());
                Ledger.Possession possession =
                        scenario.ledger.acquired(lockName, name, client, term::isHeld, term::fencingToken);
                if (terms.oneIn(2)) {
                    term.awaitStopping(Duration.ofNanos(terms.between(MILLISECOND, SECOND)));
                } else {
                    sleep(terms.between(1_000, 100 * MILLISECOND));
                }
                scenario.ledger.leaves(possession, term::isHeld);
            } finally {
                working.decrementAndGet();
            }
        });
        sleep(numbers.between(MILLISECOND, 2 * SECOND));
        if (leadership.close(Duration.ofNanos(numbers.between(MILLISECOND, 2 * SECOND)))) {
            String token = scenario.server.writerToken(lockName);
            boolean has = scenario.isWithoutFaults() && token != null && tokens.contains(Long.valueOf(token));
            if (has || working.get() > 0 || leadership.isLeader()) {
                world.fail(name + ": a leadership is closed and " + (has ? "has the lock" : "leads"));
            }
        }
    }

    private void again(FencedLock lock, Seeded numbers) {
        if (numbers.oneIn(2)) {
            lock.lock();
        } else {
            fixed(lock.getName(), Duration.ofMillis(numbers.between(100, 3000))).lock();
        }
        try {
            sleep(numbers.between(1_000, 5 * MILLISECOND));
        } finally {
            lock.unlock();
        }
    }

    private void use(LockHandle handle, Seeded numbers) {
        waitsFor(null);
        Ledger.Possession possession =
                scenario.ledger.acquired(handle.name(), name, client, handle::isHeld, handle::fencingToken);
        if (numbers.oneIn(2)) {
            possession.asksForLoss();
            handle.lost().thenAccept(loss -> possession.reportsLoss());
        }
        try {
            sleep(numbers.oneIn(6) ? numbers.between(SECOND, 4 * SECOND) : numbers.between(1_000, 100 * MILLISECOND));
        } finally {
            scenario.ledger.leaves(possession, handle::isHeld);
            switch (numbers.below(scenario.server.isQuorum() ? 3 : 4)) {
                case 3 -> {
                    Duration least = Duration.ofMillis(numbers.between(1, 500));
                    boolean released = handle.releaseAfter(least);
                    scenario.ledger.ended(possession, released);
                    if (released) {
                        scenario.ledger.retains(possession, least);
                    }
                }
                case 1 -> handle.releaseAsync().thenAccept(released -> scenario.ledger.ended(possession, released));
                case 2 -> handle.close();
                default -> scenario.ledger.ended(possession, handle.release());
            }
        }
    }

    private void use(MultiLock both, Seeded numbers) {
        List<Ledger.Possession> possessions = got(both::isHeldByCurrentThread, both::fencingToken);
        try {
            sleep(numbers.between(1_000, 100 * MILLISECOND));
        } finally {
            possessions.forEach(each -> scenario.ledger.leaves(each, both::isHeldByCurrentThread));
            both.unlock();
        }
    }

    private void use(MultiLockHandle both, Seeded numbers) {
        List<Ledger.Possession> possessions = got(both::isHeld, both::fencingToken);
        sleep(numbers.oneIn(6) ? numbers.between(SECOND, 4 * SECOND) : numbers.between(1_000, 100 * MILLISECOND));
        possessions.forEach(each -> scenario.ledger.leaves(each, both::isHeld));
        switch (numbers.below(3)) {
            case 1 -> both.releaseAsync();
            case 2 -> both.close();
            default -> both.release();
        }
    }

    /** Notes that the caller has acquired several locks. */
    private List<Ledger.Possession> got(BooleanSupplier isHeld, ToLongFunction<String> token) {
        return scenario.names.stream()
                .map(each -> scenario.ledger.acquired(each, name, client, isHeld, () -> token.applyAsLong(each)))
                .toList();
    }

    /** Sleeps for a time by this client's clock, in spite of interrupts. */
    static void sleep(long nanos) {
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
