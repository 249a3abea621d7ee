package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import java.lang.ref.WeakReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A handle as the owner of the one hold that it is for. It belongs to no thread: any thread that has the handle may
 * release the hold. It has died when nobody has the handle any more.
 */
public class HandleOwner extends Owner {

    /** Weakly: the hold refers to this, and must not keep alive what only its user has. */
    private final WeakReference<Object> handle;

    private final Consumer<LockLost> onLost;
    /** Set before a release that is to keep the lock taken; 0 for any other. */
    private volatile long keepsMillis;
    /** The waiter: a thread, or a task that is run when there is news; null if nobody waits any more. */
    private volatile @Nullable Object waiter;

    /**
     * The owner of a handle that is to be acquired.
     *
     * @param handle what its user has
     * @param onLost told of a loss once, by a thread that must not wait
     */
    public HandleOwner(String clientId, long number, Object handle, Consumer<LockLost> onLost) {
        super(clientId + ":h" + number, HandleOwner.class);
        this.handle = new WeakReference<>(handle);
        this.onLost = onLost;
    }

    /** The calling thread waits for it. */
    public void waits() {
        waiter = Thread.currentThread();
    }

    /** No thread waits for it: this is run, by any thread, whenever there is news. It must neither wait nor throw. */
    public void wakes(Runnable onNews) {
        waiter = onNews;
    }

    /** Nobody waits for it any more. */
    public void rests() {
        waiter = null;
    }

    @Override
    @Nullable
    public Thread thread() {
        return waiter instanceof Thread thread ? thread : null;
    }

    @Override
    public void wake() {
        Object present = waiter;
        if (present instanceof Runnable onNews && !(present instanceof Thread)) {
            onNews.run();
        } else if (present != Thread.currentThread()) {
            LockSupport.unpark((Thread) present);
        }
    }

    @Override
    public boolean isAlive() {
        return handle.get() != null;
    }

    /** From now on as if nobody had the handle any more. */
    public void forget() {
        handle.clear();
    }

    @Override
    public long keepsMillis() {
        return keepsMillis;
    }

    /** Sets how long the release of its hold keeps the lock taken; 0 if not at all. */
    void keeps(long millis) {
        keepsMillis = millis;
    }

    @Override
    public String description() {
        // Made on each call instead of stored, since very many handles may wait.
        return "handle " + id.substring(id.lastIndexOf(':') + 1);
    }

    /** Tells the handle that its hold was lost. */
    void lost(LockLost loss) {
        onLost.accept(loss);
    }
}
