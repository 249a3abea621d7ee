package io.github.redislocks.work;

import io.github.redislocks.Handle;
import io.github.redislocks.LockLost;
import java.util.concurrent.CompletionStage;

/** A handle that reports its loss as early as the library knows of it, before it runs code of users. */
public interface EarlyNews {

    /**
     * Completes with the loss, as {@link Handle#lost()} does, but earlier. Stages that depend on this one must not
     * block.
     */
    CompletionStage<LockLost> firstNews();

    /** Completes with the loss of a handle, as early as its class allows. */
    static CompletionStage<LockLost> of(Handle handle) {
        return handle instanceof EarlyNews early ? early.firstNews() : handle.lost();
    }
}
