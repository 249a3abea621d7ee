package io.github.redislocks.redis;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of one script: the keys that it touches, all of them, and its arguments.
 *
 * @param acks whose confirmation to wait for behind it, or null; the reply says how many confirmed
 */
public record Call(
        Script script,
        List<String> keys,
        List<String> args,
        @Nullable Acks acks) {

    public Call(Script script, List<String> keys, List<String> args) {
        this(script, keys, args, null);
    }

    /** The same, with these confirmations waited for. */
    public Call with(@Nullable Acks wanted) {
        return new Call(script, keys, args, wanted);
    }
}
