package io.github.redislocks.waiting;

import io.github.redislocks.state.LockKeys;

/** Listens for requests for a lock that this client may keep. A request is a hint: it may come late, or twice. */
public interface Wanted {

    /** Another client waits for the lock with this key; this client acquired that lock by {@code attempt}. */
    void byWaiter(String lock, long attempt);

    /** An attempt of another client tries the lock without waiting for it, and has to be answered. */
    void byTry(String lock, String clientId, long attempt);

    /** An attempt of this client waits behind a hold of the client. */
    void byAttempt(LockKeys keys);
}
