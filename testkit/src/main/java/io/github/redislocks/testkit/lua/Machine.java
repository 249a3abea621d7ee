package io.github.redislocks.testkit.lua;

/** Runs scripts, one at a time. Holds the globals of the scripts. */
public final class Machine {

    private final Run run = new Run();

    public Machine() {
        LuaTable globals = run.globals;
        StringLibrary.addTo(run.strings);
        globals.set("string", run.strings.fix());
        Libraries.addTo(globals);
        globals.set("_G", globals);
        globals.fix();
        globals.beStrict();
    }

    /** Defines a global table, which scripts cannot change. */
    public void define(String name, LuaTable value) {
        run.globals.set(name, value.fix());
    }

    /** Defines a global table for the next script, which may change it. */
    public void lend(String name, LuaTable value) {
        run.globals.set(name, value);
    }

    /**
     * Runs a script.
     *
     * @return the first value that it returns
     * @throws LuaError if the script raises an error
     */
    public Object run(Chunk chunk) {
        run.begin();
        try {
            return LuaValues.first(
                    chunk.main().closure(run, FunctionText.NOTHING_AROUND).call(LuaValues.NONE));
        } catch (StackOverflowError e) {
            throw new LuaError("stack overflow");
        }
    }
}
