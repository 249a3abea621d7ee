package io.github.redislocks.events;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.concurrent.Loggers;
import org.jspecify.annotations.Nullable;

/**
 * A call for a lock that two listeners follow from its beginning to its end; if one of them fails, the other is told
 * nevertheless.
 */
final class FollowedCall implements LockListener.Acquiring {

    private final LockListener.Acquiring first;
    private final LockListener.Acquiring second;

    private FollowedCall(LockListener.Acquiring first, LockListener.Acquiring second) {
        this.first = first;
        this.second = second;
    }

    /** What the listeners want told of the end of a call that begins, or null. Never throws. */
    static LockListener.@Nullable Acquiring begun(LockListener[] listeners, String lockName) {
        LockListener.Acquiring all = null;
        for (LockListener listener : listeners) {
            try {
                LockListener.Acquiring one = listener.acquiring(lockName);
                if (one != null) {
                    all = all == null ? one : new FollowedCall(all, one);
                }
            } catch (Throwable e) {
                Loggers.LOSS.error(
                        "The lock listener {} failed for the beginning of a call for \"{}\"",
                        listener.getClass().getName(),
                        lockName,
                        e);
            }
        }
        return all;
    }

    /** Tells the end. Never throws. */
    static void tellEnd(LockListener.Acquiring call, Object event) {
        try {
            if (event instanceof LockAcquired acquired) {
                call.acquired(acquired);
            } else if (event instanceof LockNotAcquired notAcquired) {
                call.notAcquired(notAcquired);
            }
        } catch (Throwable e) {
            Loggers.LOSS.error("What a lock listener made of the beginning of a call failed for {}", event, e);
        }
    }

    @Override
    public void acquired(LockAcquired event) {
        tellEnd(first, event);
        tellEnd(second, event);
    }

    @Override
    public void notAcquired(LockNotAcquired event) {
        tellEnd(first, event);
        tellEnd(second, event);
    }
}
