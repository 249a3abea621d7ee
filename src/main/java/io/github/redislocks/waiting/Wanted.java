package io.github.redislocks.waiting;

import io.github.redislocks.state.LockKeys;

/** Listens for requests for a lock that this client may keep. A request is a hint: it may come late, or twice. */
public interface Wanted {

    /** Another client waits for the lock with this key, which an attempt of this client has led to. */
    void byWaiter(String lock, long attempt);

    /** The attempt of another client tries the lock, does not wait for it, and is to be answered. */
    void byTry(String lock, String clientId, long attempt);

    /** An attempt of this client waits behind a hold of the client. */
    void byAttempt(LockKeys keys);
}
