package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.testkit.twin.InMemoryRedis;

/** A lock whose holder unlocks it while the only one that waits for it leaves; on the twin. */
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

    /** The client of the holder and that of the waiter, which may be the same. */
    Handover(LockClient holding, LockClient waiting) {
        this.holding = holding;
        this.waiting = waiting;
        this.holder = holding.lock(name, false);
        this.waiter = waiting.lock(name, false);
    }

    /** Of the holder: locks, and returns when the other waits. */
    void hold() {
        holder.lock();
        long attempt = holder.hold().attempt;
        held = true;
        while (!isWaitedFor(attempt)) {
            Thread.yield();
        }
    }

    /** Of the holder: locks, and unlocks; says what became of it. */
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

    /** Returns when the lock has been had. */
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

    /** Of the holder: gives the waiter time to leave, for a broken one. */
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

    /** Of the waiter: waits in this way, unlocks if it has the lock, and says what became of it. */
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

    /**
     * Of the waiter, after its wait: takes its interrupt, which has come or will come. Whether the flag is set then.
     */
    boolean takeInterrupt() {
        while (!interrupted) {
            Thread.yield();
        }
        return Thread.interrupted();
    }

    /** When both have gone: whether the lock is free, and nothing of either is left in Redis and in their clients. */
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
