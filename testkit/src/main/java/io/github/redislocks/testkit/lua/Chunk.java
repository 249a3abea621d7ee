package io.github.redislocks.testkit.lua;

/** A script that has been read. It has no state: many machines may run it. */
public final class Chunk {

    private final FunctionText main;

    private Chunk(FunctionText main) {
        this.main = main;
    }

    /**
     * Reads a script.
     *
     * @param source one char for each byte
     * @throws LuaError if it is none
     */
    public static Chunk read(String source) {
        return new Chunk(new Parser(source).chunk());
    }

    FunctionText main() {
        return main;
    }
}
