package io.github.redislocks.testkit.lua;

import static io.github.redislocks.testkit.lua.Arguments.add;

import java.util.Arrays;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/** The functions of Lua's libraries, except those on strings. */
final class Libraries {

    private static final int MOST_VALUES = 8_000;

    private Libraries() {}

    static void addTo(LuaTable globals) {
        addBasics(globals);
        LuaTable table = new LuaTable();
        addTables(table);
        globals.set("table", table.fix());
        LuaTable math = new LuaTable();
        addMath(math);
        globals.set("math", math.fix());
    }

    private static void addBasics(LuaTable globals) {
        add(globals, "type", in -> LuaValues.type(in.any(0)));
        add(globals, "tostring", in -> LuaValues.text(in.any(0)));
        add(globals, "tonumber", Libraries::number);
        add(globals, "select", Libraries::select);
        add(globals, "unpack", Libraries::unpack);
        add(globals, "error", in -> {
            if (in.whole(1, 1) != 1) {
                throw new UnsupportedOperationException("The only level of an error that this Lua knows is 1.");
            }
            throw new LuaError(in.get(0));
        });
        add(globals, "assert", in -> {
            if (!LuaValues.isTrue(in.any(0))) {
                throw new LuaError(in.isMissing(1) ? "assertion failed!" : in.get(1));
            }
            return in.values();
        });
        add(globals, "pcall", Libraries::pcall);
        add(globals, "rawequal", in -> LuaValues.equal(in.any(0), in.any(1)));
        add(globals, "rawget", in -> in.table(0).get(in.any(1)));
        LuaFunction next = Libraries::nextOfList;
        add(globals, "ipairs", in -> new Object[] {next, in.table(0), 0.0});
        add(globals, "pairs", in -> {
            LuaTable table = in.table(0);
            Object[] keys = table.keys();
            int[] at = {0};
            LuaFunction each = values -> {
                while (at[0] < keys.length) {
                    Object key = keys[at[0]++];
                    Object value = table.get(key);
                    if (value != Nil.NIL) {
                        return new Object[] {key, value};
                    }
                }
                return Nil.NIL;
            };
            return new Object[] {each, table, Nil.NIL};
        });
        add(globals, "next", in -> {
            LuaTable table = in.table(0);
            Object[] keys = table.keys();
            int before = IntStream.range(0, keys.length)
                    .filter(i -> LuaValues.equal(keys[i], in.get(1)))
                    .findFirst()
                    .orElse(-1);
            return before + 1 < keys.length ? new Object[] {keys[before + 1], table.get(keys[before + 1])} : Nil.NIL;
        });
    }

    private static Object nextOfList(Object[] values) {
        int index = (int) (double) (Double) values[1] + 1;
        Object value = ((LuaTable) values[0]).get(index);
        return value == Nil.NIL ? Nil.NIL : new Object[] {(double) index, value};
    }

    private static Object number(Arguments in) {
        Double number = in.whole(1, 10) == 10 ? LuaValues.number(in.any(0)) : LuaNumbers.parse(in.text(0), in.whole(1));
        return number == null ? Nil.NIL : number;
    }

    private static Object select(Arguments in) {
        if (in.get(0).equals("#")) {
            return (double) (in.count() - 1);
        }
        int from = in.whole(0);
        if (from < 0) {
            from += in.count();
        }
        if (from < 1) {
            throw in.bad(0, "index out of range");
        }
        return LuaValues.from(in.values(), from);
    }

    private static Object unpack(Arguments in) {
        LuaTable table = in.table(0);
        int from = in.whole(1, 1);
        int to = in.whole(2, table.length());
        if (to - from >= MOST_VALUES) {
            throw new LuaError("too many results to unpack");
        }
        return table.range(from, to);
    }

    /** Implements pcall as Redis does: if the function raises an error, pcall returns the text of the error reply. */
    private static Object pcall(Arguments in) {
        Object called = in.any(0);
        if (!(called instanceof LuaFunction code)) {
            return new Object[] {false, "attempt to call a " + LuaValues.type(called) + " value"};
        }
        try {
            Object[] results = LuaValues.all(code.call(LuaValues.from(in.values(), 1)));
            Object[] all = new Object[results.length + 1];
            all[0] = true;
            System.arraycopy(results, 0, all, 1, results.length);
            return all;
        } catch (LuaError e) {
            Object value = e.value();
            boolean isReply = value instanceof LuaTable table && table.get("err") instanceof String;
            return new Object[] {false, isReply ? ((LuaTable) value).get("err") : value};
        }
    }

    private static void addTables(LuaTable table) {
        add(table, "concat", in -> {
            LuaTable list = in.table(0);
            String between = in.isMissing(1) ? "" : in.text(1);
            int from = in.whole(2, 1);
            int to = in.whole(3, list.length());
            StringBuilder text = new StringBuilder();
            for (int i = from; i <= to; i++) {
                Object value = list.get(i);
                if (!(value instanceof String || value instanceof Double)) {
                    throw new LuaError(
                            "invalid value (" + LuaValues.type(value) + ") at index " + i + " in table for 'concat'");
                }
                text.append(LuaValues.text(value)).append(i < to ? between : "");
            }
            return text.toString();
        });
        add(table, "insert", in -> {
            boolean atEnd = in.count() == 2;
            in.table(0).insert(atEnd ? in.table(0).length() + 1 : in.whole(1), in.any(atEnd ? 1 : 2));
            return LuaValues.NONE;
        });
        add(table, "remove", in -> {
            LuaTable list = in.table(0);
            return list.length() == 0 ? LuaValues.NONE : list.remove(in.whole(1, list.length()));
        });
    }

    private static void addMath(LuaTable math) {
        math.set("huge", Double.POSITIVE_INFINITY);
        math.set("pi", Math.PI);
        add(math, "abs", in -> Math.abs(in.number(0)));
        add(math, "ceil", in -> Math.ceil(in.number(0)));
        add(math, "floor", in -> Math.floor(in.number(0)));
        add(math, "fmod", in -> in.number(0) % in.number(1));
        add(math, "sqrt", in -> Math.sqrt(in.number(0)));
        add(math, "pow", in -> Math.pow(in.number(0), in.number(1)));
        add(math, "max", in -> numbers(in).max().orElseThrow(() -> in.bad(0, "number expected, got no value")));
        add(math, "min", in -> numbers(in).min().orElseThrow(() -> in.bad(0, "number expected, got no value")));
    }

    private static DoubleStream numbers(Arguments in) {
        return Arrays.stream(
                IntStream.range(0, in.count()).mapToDouble(in::number).toArray());
    }
}
