package io.github.redislocks.events;

import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import java.util.function.Consumer;

/** A listener for losses alone. If all listeners are of this class, locking and unlocking create no events. */
public final class LossCallback implements LockListener {

    private final Consumer<? super LockLost> action;

    public LossCallback(Consumer<? super LockLost> action) {
        this.action = action;
    }

    @Override
    public void lost(LockLost loss) {
        action.accept(loss);
    }
}
