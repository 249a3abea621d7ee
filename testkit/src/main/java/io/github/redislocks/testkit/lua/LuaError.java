package io.github.redislocks.testkit.lua;

import org.jspecify.annotations.Nullable;

/** An error of Lua: any value, and the line that was at work. */
public final class LuaError extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient Object value;
    private final int line;
    /** The text in place of the mark, if there is one: the name of what was called, where that is known. */
    private final String function;

    /** The name of every script in errors, as in Redis. */
    private static final String SCRIPT = "user_script";

    private static final String MARK = "\0";
    private static final String UNKNOWN = "?";

    /** An error without a line, as functions of Java raise it: who called them from Lua adds its own. */
    public LuaError(Object value) {
        this(value, 0, UNKNOWN);
    }

    private LuaError(Object value, int line, String function) {
        super(null, null, false, false);
        this.value = value;
        this.line = line;
        this.function = function;
    }

    /** An argument that a function cannot take. Its name is not known to who did not call it by that. */
    static LuaError ofArgument(int index, String function, String why) {
        return new LuaError("bad argument #" + (index + 1) + " to '" + MARK + "' (" + why + ")", 0, function);
    }

    /** An error of a line, whose text begins with that. */
    static LuaError at(int line, String text) {
        return new LuaError(SCRIPT + ':' + line + ": " + text, line, UNKNOWN);
    }

    /** This error with a line, and a text with the line before it; or itself if it has one. */
    LuaError from(int caller) {
        if (line > 0) {
            return this;
        }
        return value instanceof String || value instanceof Double
                ? at(caller, LuaValues.text(value).replace(MARK, function))
                : new LuaError(value, caller, UNKNOWN);
    }

    /** The value that was raised. */
    public Object value() {
        return value instanceof String text ? text.replace(MARK, UNKNOWN) : value;
    }

    /** The line of the script that was at work, or 0. */
    public int line() {
        return line;
    }

    @Override
    public @Nullable String getMessage() {
        return LuaValues.text(value());
    }
}
