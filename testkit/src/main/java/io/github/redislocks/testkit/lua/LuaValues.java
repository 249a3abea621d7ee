package io.github.redislocks.testkit.lua;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Operations on values of any type. */
final class LuaValues {

    static final Object[] NONE = {};

    private LuaValues() {}

    /** The first value of a function's result. */
    static Object first(Object result) {
        if (result instanceof Object[] values) {
            return values.length == 0 ? Nil.NIL : values[0];
        }
        return result;
    }

    /** All values of a function's result. */
    static Object[] all(Object result) {
        return result instanceof Object[] values ? values : new Object[] {result};
    }

    static Object[] from(Object[] values, int start) {
        return start >= values.length ? NONE : Arrays.copyOfRange(values, start, values.length);
    }

    static boolean isTrue(Object value) {
        return value != Nil.NIL && value != Boolean.FALSE;
    }

    static String type(Object value) {
        if (value instanceof String) {
            return "string";
        } else if (value instanceof Double) {
            return "number";
        } else if (value instanceof LuaTable) {
            return "table";
        } else if (value instanceof LuaFunction) {
            return "function";
        }
        return value instanceof Boolean ? "boolean" : "nil";
    }

    /** The text of a value, as {@code tostring} returns it. */
    static String text(Object value) {
        if (value instanceof Double number) {
            return LuaNumbers.text(number);
        } else if (value instanceof LuaTable || value instanceof LuaFunction) {
            return type(value) + ": 0x" + Integer.toHexString(System.identityHashCode(value));
        }
        return value.toString();
    }

    /** The value as a number; null if the value is neither a number nor the text of one. */
    static @Nullable Double number(Object value) {
        if (value instanceof Double number) {
            return number;
        }
        return value instanceof String text ? LuaNumbers.parse(text) : null;
    }

    static boolean equal(Object left, Object right) {
        if (left instanceof Double one && right instanceof Double other) {
            return one.doubleValue() == other.doubleValue();
        }
        return left == right || (left instanceof String && left.equals(right));
    }
}
