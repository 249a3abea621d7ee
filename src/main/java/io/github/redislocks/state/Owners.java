package io.github.redislocks.state;

import io.github.redislocks.concurrent.ThreadIds;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/** The threads of one client as owners of locks. */
public final class Owners {

    private final String clientId;
    /** Each thread as an owner. Weakly: a thread of somebody's pool must not keep a class of the library for good. */
    private final ThreadLocal<WeakReference<@Nullable Owner>> owners =
            ThreadLocal.withInitial(() -> new WeakReference<>(null));

    public Owners(String clientId) {
        this.clientId = clientId;
    }

    /** The calling thread, as Redis knows it. */
    public String owner() {
        return caller().id;
    }

    /** The calling thread as an owner; another object than before if it has held nothing meanwhile. */
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
