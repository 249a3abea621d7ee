package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import java.lang.ref.WeakReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A handle as the owner of its one hold. The hold belongs to no thread: any thread that has the handle may release it.
 * The owner counts as dead when nothing refers to the handle any more.
 */
public class HandleOwner extends Owner {

    /** Weak: a hold refers to its owner, and must not keep alive a handle that the user has dropped. */
    private final WeakReference<Object> handle;

    private final Consumer<LockLost> onLost;
    /** How long the release keeps the lock taken, set before the release; 0 if the release frees the lock. */
    private volatile long keepsMillis;
    /** A thread, or a task that runs when the attempt's state has changed; null if nothing waits any more. */
    private volatile @Nullable Object waiter;

    /** {@code onLost} is called once with the loss, by a thread that must not wait. */
    public HandleOwner(String clientId, long number, Object handle, Consumer<LockLost> onLost) {
        super(clientId + ":h" + number, HandleOwner.class);
        this.handle = new WeakReference<>(handle);
        this.onLost = onLost;
    }

    /** Notes that the calling thread waits for the attempt of this owner. */
    public void waits() {
        waiter = Thread.currentThread();
    }

    /** {@code onNews} runs on any thread, each time the attempt's state has changed; must neither wait nor throw. */
    public void wakes(Runnable onNews) {
        waiter = onNews;
    }

    /** Notes that nothing waits for the attempt of this owner any more. */
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

    /** Makes the owner count as dead, though the handle may still be referred to. */
    public void forget() {
        handle.clear();
    }

    @Override
    public long keepsMillis() {
        return keepsMillis;
    }

    /** Sets how long the release of the hold keeps the lock taken; 0 if it frees the lock. */
    void keeps(long millis) {
        keepsMillis = millis;
    }

    @Override
    public String description() {
        // Made on each call instead of stored, since very many handles may wait.
        return "handle " + id.substring(id.lastIndexOf(':') + 1);
    }

    /** Passes the loss of the hold to the handle. */
    void lost(LockLost loss) {
        onLost.accept(loss);
    }
}
