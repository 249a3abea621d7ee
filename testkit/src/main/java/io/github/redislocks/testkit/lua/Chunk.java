package io.github.redislocks.testkit.lua;

/** A parsed script. It has no state, so several machines may run it. */
public final class Chunk {

    private final FunctionText main;

    private Chunk(FunctionText main) {
        this.main = main;
    }

    /**
     * Parses a script.
     *
     * @param source the script, with one char for each byte
     * @throws LuaError if the source is no valid script
     */
    public static Chunk read(String source) {
        return new Chunk(new Parser(source).chunk());
    }

    FunctionText main() {
        return main;
    }
}
