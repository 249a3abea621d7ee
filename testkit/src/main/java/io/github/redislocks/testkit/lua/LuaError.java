package io.github.redislocks.testkit.lua;

import org.jspecify.annotations.Nullable;

/** An error of Lua: a value of any type, and the line that raised it. */
public final class LuaError extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient Object value;
    private final int line;
    /** The name of the called function. It replaces {@link #MARK} in the text of the error. */
    private final String function;

    /** The name of every script in errors, as in Redis. */
    private static final String SCRIPT = "user_script";

    private static final String MARK = "\0";
    private static final String UNKNOWN = "?";

    /**
     * Makes an error without a line, for functions in Java. The Lua expression that called the function adds its line.
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

    /** Makes an error of a line. The text of the error begins with the line. */
    static LuaError at(int line, String text) {
        return new LuaError(SCRIPT + ':' + line + ": " + text, line, UNKNOWN);
    }

    /**
     * Returns the error with the given line, also at the beginning of its text. If this error has a line, returns this
     * error.
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
