package io.github.redislocks.state;

import io.github.redislocks.concurrent.ThreadIds;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/** The threads of one client as owners of locks. */
public final class Owners {

    private final String clientId;
    /**
     * Each thread's owner object. Weak: a thread of an application's pool must not keep the library's classes loaded.
     */
    private final ThreadLocal<WeakReference<@Nullable Owner>> owners =
            ThreadLocal.withInitial(() -> new WeakReference<>(null));

    public Owners(String clientId) {
        this.clientId = clientId;
    }

    /** The owner id of the calling thread in Redis. */
    public String owner() {
        return caller().id;
    }

    /** The calling thread as an owner; possibly a new object if the thread has held nothing since the last call. */
    public Owner caller() {
        Owner known = owners.get().get();
        if (known != null) {
            return known;
        }
        Owner caller = new Owner(clientId + ':' + ThreadIds.current());
        owners.set(new WeakReference<>(caller));
        return caller;
    }
}
