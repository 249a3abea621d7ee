package io.github.redislocks.waiting;

import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.WaitLimit;
import org.jspecify.annotations.Nullable;

/** Listens for requests for a lock that this client may keep. A request is a hint: it may come late, or twice. */
public interface Wanted {

    /** Another client waits for the lock with this key; this client acquired that lock by {@code attempt}. */
    void byWaiter(String lock, long attempt);

    /** An attempt of another client tries the lock without waiting for it, and has to be answered. */
    void byTry(String lock, String clientId, long attempt);

    /**
     * An acquisition of the whole lock begins in the calling thread. Ends what this client shares of the lock, if
     * nobody here uses it.
     *
     * @return false if threads of this client share the lock, and the caller does not wait for them
     * @throws IllegalMonitorStateException if the calling thread itself shares the lock, and would wait for itself
     */
    default boolean byWriter(LockKeys keys, WaitLimit limit) {
        return true;
    }

    /** The downgrade of the calling thread if it reads inside this hold, which is about to be released; else null. */
    default @Nullable Downgrade byRelease(Hold hold) {
        return null;
    }

    /** An attempt of this client waits behind a hold of the client. */
    void byAttempt(LockKeys keys);
}
