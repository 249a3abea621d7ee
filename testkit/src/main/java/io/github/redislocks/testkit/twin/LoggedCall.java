package io.github.redislocks.testkit.twin;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call that ran.
 *
 * @param reply the reply of the script, whether or not it reached the caller; null if the script failed
 * @param error the error reply; null if the script succeeded
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
