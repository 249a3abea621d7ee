package io.github.redislocks.engine;

import io.github.redislocks.LockLost;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The news that the hold of a handle was lost. The library learns it first; what users made depend on the news runs by
 * itself, since that may block. Does not refer to the handle.
 */
public final class LossNews {

    public final CompletableFuture<LockLost> first = new CompletableFuture<>();
    /** Null before somebody asks for the news. */
    private volatile @Nullable CompletionStage<LockLost> forUsers;

    /** A single stage for all calls: each stage would be kept for as long as the handle. */
    public CompletionStage<LockLost> forUsers(LockClient client) {
        client.listen();
        CompletionStage<LockLost> stage = forUsers;
        if (stage == null) {
            stage = first.isDone()
                    ? first.minimalCompletionStage()
                    : first.thenApplyAsync(Function.identity(), client.handleTeller())
                            .minimalCompletionStage();
            forUsers = stage;
        }
        return stage;
    }
}
