package io.github.redislocks.handles;

import io.github.redislocks.LockLost;
import io.github.redislocks.client.LockClient;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The stages that complete when the hold of a handle is lost. The library's stage completes first. Users' code, which
 * may block, gets a separate stage on another thread. This object does not refer to the handle.
 */
public final class LossNews {

    public final CompletableFuture<LockLost> first = new CompletableFuture<>();
    /** The users' stage; null until it is first asked for. */
    private volatile @Nullable CompletionStage<LockLost> forUsers;

    /**
     * The users' stage. All calls return the same one, since each further stage would stay in memory as long as the
     * handle.
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
