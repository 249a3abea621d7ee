package io.github.redislocks.simulation;

import io.github.redislocks.redis.Script;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * A defect that is put into the scripts, to see whether the simulation finds it.
 *
 * @param scripts the names of the scripts that get it, where they have the text
 */
record Planted(String name, List<String> scripts, String text, String instead) {

    static final List<Planted> ALL = List.of(
            new Planted(
                    "a release ends a later hold of the same owner",
                    List.of("release"),
                    "held[1] == ARGV[1] and held[2] == ARGV[2]",
                    "held[1] == ARGV[1]"),
            new Planted(
                    "a release ends anybody's hold",
                    List.of("release"),
                    "held[1] == ARGV[1] and held[2] == ARGV[2]",
                    "held[1]"),
            new Planted(
                    "an acquisition runs after its date",
                    List.of("take", "acquire"),
                    "if now > tonumber(ARGV[4]) then",
                    "if false then"),
            new Planted(
                    "a heartbeat runs after its date",
                    List.of("heartbeat"),
                    "if now > tonumber(ARGV[3]) then",
                    "if false then"),
            new Planted(
                    "a renewal finds anybody's hold",
                    List.of("renew"),
                    "held[1] ~= ARGV[1] or held[2] ~= ARGV[2]",
                    "not held[1]"),
            new Planted(
                    "a lock is taken though its last holder has not released it",
                    List.of("take"),
                    "string.byte(last, -1) == 43",
                    "true"),
            new Planted(
                    "a late acquisition ends a later hold of its thread",
                    List.of("acquire"),
                    "held[1] ~= owner or holder > tonumber(attempt)",
                    "held[1] ~= owner"),
            new Planted(
                    "a leave ends a later hold of the same owner",
                    List.of("leave"),
                    "held[1] == owner and held[2] == attempt",
                    "held[1] == owner"),
            new Planted(
                    "a token is given twice in a microsecond, or after the clock was set back",
                    List.of("acquire", "heartbeat"),
                    "number < now and now or number + 1",
                    "number < now and now or number"));

    UnaryOperator<Script> replacing() {
        return script -> scripts.contains(script.name()) ? broken(script) : script;
    }

    private Script broken(Script script) {
        if (!script.source().contains(text)) {
            throw new IllegalStateException("The script " + script.name() + " has no " + text);
        }
        return script.rewritten(script.source().replace(text, instead));
    }
}
