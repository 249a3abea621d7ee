package io.github.redislocks.testkit.lua;

/** The surroundings of a script that runs. */
final class Run {

    /** No script of ours calls and repeats so often: one that does would never end. */
    private static final int STEPS = 200_000;

    final LuaTable globals = new LuaTable();
    final LuaTable strings = new LuaTable();
    private int steps;

    void begin() {
        steps = 0;
    }

    /** Counts a call or a repetition. */
    void step(int line) {
        if (++steps > STEPS) {
            throw LuaError.at(line, "The script does not end");
        }
    }
}
