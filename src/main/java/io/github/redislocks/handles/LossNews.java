package io.github.redislocks.handles;

import io.github.redislocks.LockLost;
import io.github.redislocks.client.LockClient;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Two stages that complete when the hold of a handle is lost. The stage for the library completes first. The stage for
 * users completes on another thread, since users' code may block. This object must not refer to the handle: the client
 * keeps it, and would keep the handle with it.
 */
public final class LossNews {

    public final CompletableFuture<LockLost> first = new CompletableFuture<>();
    /** The stage for users; null before the first call of {@link #forUsers}. */
    private volatile @Nullable CompletionStage<LockLost> forUsers;

    /**
     * The stage for users. All calls return the same stage, since each further stage would stay in memory as long as
     * the handle.
     */
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
