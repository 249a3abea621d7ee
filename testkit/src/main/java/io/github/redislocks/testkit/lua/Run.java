package io.github.redislocks.testkit.lua;

/** The environment of a running script. */
final class Run {

    /** The most calls and loop iterations of a script. A script with more would probably never end, and is stopped. */
    private static final int STEPS = 200_000;

    final LuaTable globals = new LuaTable();
    final LuaTable strings = new LuaTable();
    private int steps;

    void begin() {
        steps = 0;
    }

    /** Counts a call or a loop iteration. */
    void step(int line) {
        if (++steps > STEPS) {
            throw LuaError.at(line, "The script does not end");
        }
    }
}
