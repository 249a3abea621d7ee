package io.github.redislocks.testkit.lua;

/** A function that Lua may call, written in Lua or in Java. */
@FunctionalInterface
public interface LuaFunction {

    /**
     * Calls the function.
     *
     * @param arguments the arguments; the function must not change the array
     * @return a value, or an {@code Object[]} of any number of values
     * @throws LuaError if the function raises an error
     */
    Object call(Object[] arguments);
}
