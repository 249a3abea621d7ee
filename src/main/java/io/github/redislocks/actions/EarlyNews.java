package io.github.redislocks.actions;

import io.github.redislocks.Handle;
import io.github.redislocks.LockLost;
import java.util.concurrent.CompletionStage;

/** A handle that reports its loss as soon as the library knows of the loss, before the library runs code of users. */
public interface EarlyNews {

    /**
     * Completes with the loss, as {@link Handle#lost()} does, but earlier. Stages that depend on this one must not
     * block.
     */
    CompletionStage<LockLost> firstNews();

    /**
     * A stage that completes with the loss of a handle: {@link #firstNews()} if the handle has it, otherwise
     * {@link Handle#lost()}.
     */
    static CompletionStage<LockLost> of(Handle handle) {
        return handle instanceof EarlyNews early ? early.firstNews() : handle.lost();
    }
}
