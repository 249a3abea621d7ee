package io.github.redislocks.testkit.lua;

import org.jspecify.annotations.Nullable;

/** An error of Lua: any value, and the line that raised it. */
public final class LuaError extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient Object value;
    private final int line;
    /** The name of the called function, which replaces {@link #MARK} in the text of the error. */
    private final String function;

    /** The name of every script in errors, as in Redis. */
    private static final String SCRIPT = "user_script";

    private static final String MARK = "\0";
    private static final String UNKNOWN = "?";

    /**
     * Makes an error without a line, as functions in Java raise it. The Lua expression that called the function adds
     * its line.
     */
    public LuaError(Object value) {
        this(value, 0, UNKNOWN);
    }

    private LuaError(Object value, int line, String function) {
        super(null, null, false, false);
        this.value = value;
        this.line = line;
        this.function = function;
    }

    /** Makes an error for a wrong argument. */
    static LuaError ofArgument(int index, String function, String why) {
        return new LuaError("bad argument #" + (index + 1) + " to '" + MARK + "' (" + why + ")", 0, function);
    }

    /** Makes an error of a line; its text begins with the line. */
    static LuaError at(int line, String text) {
        return new LuaError(SCRIPT + ':' + line + ": " + text, line, UNKNOWN);
    }

    /**
     * Returns this error with the given line, and with the line at the beginning of its text; this error itself if it
     * has a line.
     */
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

    /** The line of the script that raised the error; 0 if it is unknown. */
    public int line() {
        return line;
    }

    @Override
    public @Nullable String getMessage() {
        return LuaValues.text(value());
    }
}
