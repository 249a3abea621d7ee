package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.testkit.twin.InMemoryRedis;

/** A lock that its holder unlocks while the only waiter leaves; on the in-memory twin. */
final class Handover {

    static final String ORPHANED = "nobody's";
    static final String HAD = "had it";
    static final String LEFT = "left";
    static final String LOST = "had it, and lost it";

    private static final InMemoryRedis SERVER = OnTwin.Still.SERVER;
    private static final int TURNS = 1_000;

    /** Waits for a lock in a given way; returns whether the lock was acquired. */
    @FunctionalInterface
    interface Way {
        boolean lock(Sync sync) throws InterruptedException;
    }

    private final String name = OnTwin.name();
    private final LockClient holding;
    private final LockClient waiting;
    private final Sync holder;
    private final Sync waiter;
    private volatile boolean held;
    private volatile Thread thread;
    private volatile boolean interrupted;
    private volatile boolean gone;

    /** Makes the lock. The holder and the waiter may be of one client. */
    Handover(LockClient holding, LockClient waiting) {
        this.holding = holding;
        this.waiting = waiting;
        this.holder = holding.lock(name, false);
        this.waiter = waiting.lock(name, false);
    }

    /** Called by the holder: locks, and returns when the waiter waits. */
    void hold() {
        holder.lock();
        long attempt = holder.hold().attempt;
        held = true;
        while (!isWaitedFor(attempt)) {
            Thread.yield();
        }
    }

    /** Called by the holder: locks and unlocks. Returns the outcome. */
    String visit() {
        holder.lock();
        held = true;
        try {
            holder.unlock();
            return HAD;
        } catch (LockLostException e) {
            return LOST;
        }
    }

    /** Waits until the holder has had the lock. */
    void awaitHolder() {
        while (!held) {
            Thread.yield();
        }
    }

    private boolean isWaitedFor(long attempt) {
        return holding == waiting
                ? holding.localQueue.successor(holder.keys(), attempt) != null
                : !SERVER.zset(holder.keys().all().get(1)).isEmpty();
    }

    /** Of the holder. */
    void unlock() {
        holder.unlock();
    }

    /** Called by the holder: gives the waiter of a broken test time to leave. */
    void dawdle() {
        for (int i = 0; i < TURNS && !gone; i++) {
            Thread.yield();
        }
    }

    /** Of the holder. */
    void interrupt() {
        thread.interrupt();
        interrupted = true;
    }

    /** Called by the waiter: waits in the given way, and unlocks if it has the lock. Returns the outcome. */
    String await(Way way) {
        thread = Thread.currentThread();
        awaitHolder();
        String story = tell(way);
        gone = true;
        return story;
    }

    private String tell(Way way) {
        try {
            if (!way.lock(waiter)) {
                return LEFT;
            }
            waiter.unlock();
            return HAD;
        } catch (LockLostException e) {
            return LOST;
        } catch (InterruptedException | IllegalStateException e) {
            return LEFT;
        }
    }

    /** Called by the waiter after its wait: waits for the interrupt. Returns whether the interrupt flag is set. */
    boolean takeInterrupt() {
        while (!interrupted) {
            Thread.yield();
        }
        return Thread.interrupted();
    }

    /**
     * Called when both have gone: whether the lock is free, and nothing of both is left in Redis and in the clients.
     */
    boolean isFree() {
        boolean free = holder.keys().all().stream()
                .allMatch(key -> key.equals(holder.keys().fence()) || !exists(key));
        boolean empty = holding.localQueue.size() == 0
                && waiting.localQueue.size() == 0
                && holding.attempts.isEmpty()
                && waiting.attempts.isEmpty();
        OnTwin.Still.forget(name);
        return free && empty;
    }

    private static boolean exists(String key) {
        return SERVER.pttl(key) != -2;
    }
}
