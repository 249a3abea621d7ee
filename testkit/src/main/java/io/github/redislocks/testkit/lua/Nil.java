package io.github.redislocks.testkit.lua;

/** Lua's nil. */
public enum Nil {
    NIL;

    @Override
    public String toString() {
        return "nil";
    }
}
