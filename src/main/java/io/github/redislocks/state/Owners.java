package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.ThreadIds;
import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The threads and handles of one client as owners of locks. */
public final class Owners {

    private final String clientId;
    private final AtomicLong handles = new AtomicLong();
    /** Weak, so that a thread of an application's pool does not keep classes of the library in memory. */
    private final ThreadLocal<WeakReference<@Nullable Owner>> owners =
            ThreadLocal.withInitial(() -> new WeakReference<>(null));

    public Owners(String clientId) {
        this.clientId = clientId;
    }

    /** The id of the client. */
    public String clientId() {
        return clientId;
    }

    /** Makes a handle an owner; for {@code onLost} see {@link HandleOwner}. */
    public HandleOwner handle(Object handle, Consumer<LockLost> onLost) {
        return new HandleOwner(clientId, handles.incrementAndGet(), handle, onLost);
    }

    /** Makes a handle the owner of permits, as {@link #handle} does. */
    public PermitOwner permits(Object handle, Consumer<LockLost> onLost, PermitPool pool, int wanted) {
        return new PermitOwner(clientId, handles.incrementAndGet(), handle, onLost, pool, wanted);
    }

    /** The id of the calling thread in Redis. */
    public String owner() {
        return caller().id;
    }

    /** The calling thread as an owner; perhaps a new object if the thread has held nothing since the last call. */
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
