package io.github.redislocks;

import java.util.List;
import java.util.function.Consumer;

/** Listeners of losses alone. */
public final class LossListener {

    private LossListener() {}

    /** Listeners of a client that report its losses to one consumer. */
    public static List<LockListener> to(Consumer<? super LockLost> losses) {
        return List.of(new LockListener() {
            @Override
            public void lost(LockLost loss) {
                losses.accept(loss);
            }
        });
    }
}
