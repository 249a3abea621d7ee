package io.github.redislocks.testkit.twin;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call that was run.
 *
 * @param reply what the script answered, whether or not that reached the caller; null if it failed
 * @param error the error reply, or null
 */
public record LoggedCall(
        Call call, @Nullable Reply reply, @Nullable String error) {

    public String script() {
        return call.script().name();
    }

    public List<String> args() {
        return call.args();
    }
}
