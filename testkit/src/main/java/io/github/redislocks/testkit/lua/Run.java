package io.github.redislocks.testkit.lua;

/** The environment of a running script. */
final class Run {

    /** A script that makes more calls and loop iterations is stopped: it would probably never end. */
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
