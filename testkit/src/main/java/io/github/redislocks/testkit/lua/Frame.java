package io.github.redislocks.testkit.lua;

/** The variables of one call. */
final class Frame {

    final Run run;
    final Object[] slots;
    /** The variables of surrounding functions that this function uses. */
    final Cell[] outer;
    /** The values of {@code ...}. */
    final Object[] rest;
    /** The values of the return statement that ended the function. */
    Object result = LuaValues.NONE;

    Frame(Run run, int slots, Cell[] outer, Object[] rest) {
        this.run = run;
        this.slots = new Object[slots];
        this.outer = outer;
        this.rest = rest;
    }

    /** A variable that an inner function uses as well. */
    static final class Cell {
        Object value;

        Cell(Object value) {
            this.value = value;
        }
    }
}
