package io.github.redislocks.testkit.lua;

/** Runs scripts, one at a time, with the globals that it gives them. */
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

    /** Lets scripts find something by a name, and not change it. */
    public void define(String name, LuaTable value) {
        run.globals.set(name, value.fix());
    }

    /** Lets the next script find something by a name, and do with it what it likes. */
    public void lend(String name, LuaTable value) {
        run.globals.set(name, value);
    }

    /**
     * Runs a script.
     *
     * @return the first value that it returns
     * @throws LuaError if it fails
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
