package io.github.redislocks.engine;

import io.github.redislocks.LockInspection;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.waiting.Wanted;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.Task;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A layer above the engine of a client. The layer makes the lock objects. Threads may hold a lock by the layer while
 * Redis knows only that the client has the lock. The methods of this class suit a layer that keeps no locks.
 */
public class Layer implements Wanted, Task {

    /**
     * The parts of a client that a layer uses.
     *
     * @param access the requests to Redis
     * @param parts the parts through which a thread acquires a lock
     * @param owners the threads of the client
     * @param events notifies listeners
     */
    public record Ground(RedisAccess access, WaitingParts parts, Owners owners, EventNotifier events) {}

    /** Makes the part of one lock object that uses the engine. */
    protected Sync lock(LockEngine engine, LockKeys keys, boolean fair, Settings own) {
        return new Sync(engine, keys, fair, own);
    }

    /** Returns true if the layer knows without a request whether a thread holds the lock. */
    protected boolean has(LockKeys keys) {
        return false;
    }

    /** The possession of the thread that holds the lock by the layer; null if no thread does. */
    protected @Nullable Held held(LockKeys keys) {
        return null;
    }

    /** The threads that wait for the lock in the layer. */
    protected Collection<Thread> queuedThreads(LockKeys keys) {
        return List.of();
    }

    /** Completes the holder that Redis names: adds the thread that holds the lock by the layer. */
    protected LockInspection.Holder known(LockKeys keys, LockInspection.Holder holder) {
        return holder;
    }

    /** The number of locks that the client has in Redis although none of its threads holds them. */
    protected long countIdle() {
        return 0;
    }

    /** Gives up each lock that no thread holds, now and from now on. */
    protected void close() {}

    /** Notifies listeners of losses again, if an error has stopped the first notification. */
    protected void tellUntold() {}

    @Override
    public void byWaiter(String lock, long attempt) {}

    @Override
    public void byTry(String lock, String clientId, long attempt) {}

    @Override
    public void byAttempt(LockKeys keys) {}

    @Override
    public long inspect(long now, long horizon, Batch due) {
        return Long.MAX_VALUE;
    }
}
