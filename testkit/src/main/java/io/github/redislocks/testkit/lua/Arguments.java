package io.github.redislocks.testkit.lua;

/** The arguments of a function that is implemented in Java. Each argument is checked when it is read. */
final class Arguments {

    private final String function;
    private final Object[] values;

    private Arguments(String function, Object[] values) {
        this.function = function;
        this.values = values;
    }

    /** The implementation of a function in Java. */
    interface Body {
        Object run(Arguments arguments);
    }

    /** Adds a function to a table. */
    static void add(LuaTable table, String name, Body body) {
        LuaFunction function = values -> body.run(new Arguments(name, values));
        table.set(name, function);
    }

    Object[] values() {
        return values;
    }

    int count() {
        return values.length;
    }

    Object get(int index) {
        return index < values.length ? values[index] : Nil.NIL;
    }

    Object any(int index) {
        if (index >= values.length) {
            throw bad(index, "value expected");
        }
        return values[index];
    }

    boolean isMissing(int index) {
        return get(index) == Nil.NIL;
    }

    String text(int index) {
        Object value = get(index);
        if (value instanceof String || value instanceof Double) {
            return LuaValues.text(value);
        }
        throw wrong(index, "string");
    }

    double number(int index) {
        Double number = LuaValues.number(get(index));
        if (number == null) {
            throw wrong(index, "number");
        }
        return number;
    }

    int whole(int index) {
        return (int) number(index);
    }

    int whole(int index, int otherwise) {
        return isMissing(index) ? otherwise : whole(index);
    }

    LuaTable table(int index) {
        if (get(index) instanceof LuaTable table) {
            return table;
        }
        throw wrong(index, "table");
    }

    LuaFunction function(int index) {
        if (get(index) instanceof LuaFunction code) {
            return code;
        }
        throw wrong(index, "function");
    }

    private LuaError wrong(int index, String wanted) {
        String got = index < values.length ? LuaValues.type(values[index]) : "no value";
        return bad(index, wanted + " expected, got " + got);
    }

    LuaError bad(int index, String why) {
        return LuaError.ofArgument(index, function, why);
    }
}
