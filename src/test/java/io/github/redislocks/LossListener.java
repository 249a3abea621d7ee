package io.github.redislocks;

import java.util.List;
import java.util.function.Consumer;

/** Listeners of losses alone. */
public final class LossListener {

    private LossListener() {}

    /** What a client is given that is to report its losses to one consumer. */
    public static List<LockListener> to(Consumer<? super LockLost> losses) {
        return List.of(new LockListener() {
            @Override
            public void lost(LockLost loss) {
                losses.accept(loss);
            }
        });
    }
}
