package io.github.redislocks.events;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.concurrent.Loggers;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A call for a lock that several listeners follow from start to end, even if one of them throws. */
final class FollowedCall implements LockListener.Acquiring {

    private final List<LockListener.Acquiring> followers = new ArrayList<>();

    /** Notifies the listeners that a call starts; null if none of them follows it. */
    static LockListener.@Nullable Acquiring start(LockListener[] listeners, String lockName) {
        FollowedCall call = new FollowedCall();
        for (LockListener listener : listeners) {
            Loggers.LOSS.guard(listener, lockName, (each, name) -> call.add(each.acquiring(name)));
        }
        return call.followers.isEmpty() ? null : call;
    }

    private void add(LockListener.@Nullable Acquiring follower) {
        if (follower != null) {
            followers.add(follower);
        }
    }

    @Override
    public void acquired(LockAcquired event) {
        for (LockListener.Acquiring each : followers) {
            Loggers.LOSS.guard(each, event, LockListener.Acquiring::acquired);
        }
    }

    @Override
    public void notAcquired(LockNotAcquired event) {
        for (LockListener.Acquiring each : followers) {
            Loggers.LOSS.guard(each, event, LockListener.Acquiring::notAcquired);
        }
    }
}
