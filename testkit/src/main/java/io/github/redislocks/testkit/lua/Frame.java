package io.github.redislocks.testkit.lua;

/** The variables of one call. */
final class Frame {

    final Run run;
    final Object[] slots;
    /** The variables of functions around this one. */
    final Cell[] outer;
    /** What {@code ...} is. */
    final Object[] rest;
    /** The values of a return statement. */
    Object result = LuaValues.NONE;

    Frame(Run run, int slots, Cell[] outer, Object[] rest) {
        this.run = run;
        this.slots = new Object[slots];
        this.outer = outer;
        this.rest = rest;
    }

    /** A variable that a function inside uses too. */
    static final class Cell {
        Object value;

        Cell(Object value) {
            this.value = value;
        }
    }
}
