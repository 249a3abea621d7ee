package io.github.redislocks.testkit.lua;

/** A function of Lua, or one of Java that Lua may call. */
@FunctionalInterface
public interface LuaFunction {

    /**
     * Calls it.
     *
     * @param arguments not to be changed
     * @return a value, or an {@code Object[]} of any number of them
     * @throws LuaError if it fails
     */
    Object call(Object[] arguments);
}
