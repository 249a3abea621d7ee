package io.github.redislocks.testkit.lua;

import io.github.redislocks.testkit.lua.Frame.Cell;
import java.util.List;

/** A part of a script that evaluates to a value. */
abstract class Expression {

    final int line;

    Expression(int line) {
        this.line = line;
    }

    abstract Object value(Frame frame);

    /** Evaluates to all values, in the form of {@link LuaFunction#call}. */
    Object values(Frame frame) {
        return value(frame);
    }

    /** Whether the expression may evaluate to no value or to several values. */
    boolean isMultiple() {
        return false;
    }

    /** The text for the expression in errors: {@code local 'x' (a nil value)}. */
    String named(Object value) {
        return "a " + LuaValues.type(value) + " value";
    }

    final LuaError error(String text) {
        return LuaError.at(line, text);
    }

    /** Evaluates a list of expressions. The last one may have several values. */
    static Object[] values(Expression[] all, Frame frame) {
        int count = all.length;
        if (count == 0) {
            return LuaValues.NONE;
        }
        if (!all[count - 1].isMultiple()) {
            Object[] values = new Object[count];
            for (int i = 0; i < count; i++) {
                values[i] = all[i].value(frame);
            }
            return values;
        }
        Object[] head = new Object[count - 1];
        for (int i = 0; i < head.length; i++) {
            head[i] = all[i].value(frame);
        }
        Object last = all[count - 1].values(frame);
        Object[] tail = LuaValues.all(last);
        if (head.length == 0) {
            return tail;
        }
        Object[] values = new Object[head.length + tail.length];
        System.arraycopy(head, 0, values, 0, head.length);
        System.arraycopy(tail, 0, values, head.length, tail.length);
        return values;
    }

    /** A variable of a function. */
    static final class Variable {
        final String name;
        final int slot;
        /** Whether an inner function uses the variable as well. */
        boolean isShared;

        Variable(String name, int slot) {
            this.name = name;
            this.slot = slot;
        }

        void begin(Frame frame, Object value) {
            frame.slots[slot] = isShared ? new Cell(value) : value;
        }

        Object get(Frame frame) {
            Object value = frame.slots[slot];
            return isShared ? ((Cell) value).value : value;
        }

        void set(Frame frame, Object value) {
            if (isShared) {
                ((Cell) frame.slots[slot]).value = value;
            } else {
                frame.slots[slot] = value;
            }
        }
    }

    /** An expression that can be assigned to. */
    abstract static class Place extends Expression {
        Place(int line) {
            super(line);
        }

        /** Evaluates what Lua evaluates before the assigned values: the table and the key of an element. */
        Object[] prepare(Frame frame) {
            return LuaValues.NONE;
        }

        abstract void assign(Frame frame, Object[] prepared, Object value);
    }

    static final class Constant extends Expression {
        private final Object constant;

        Constant(int line, Object constant) {
            super(line);
            this.constant = constant;
        }

        @Override
        Object value(Frame frame) {
            return constant;
        }

        Object constant() {
            return constant;
        }
    }

    static final class Local extends Place {
        private final Variable variable;

        Local(int line, Variable variable) {
            super(line);
            this.variable = variable;
        }

        @Override
        Object value(Frame frame) {
            return variable.get(frame);
        }

        @Override
        void assign(Frame frame, Object[] prepared, Object value) {
            variable.set(frame, value);
        }

        @Override
        String named(Object value) {
            return "local '" + variable.name + "' (" + super.named(value) + ")";
        }
    }

    /** A variable that belongs to a function around this one. */
    static final class Outer extends Place {
        private final String name;
        private final int index;

        Outer(int line, String name, int index) {
            super(line);
            this.name = name;
            this.index = index;
        }

        @Override
        Object value(Frame frame) {
            return frame.outer[index].value;
        }

        @Override
        void assign(Frame frame, Object[] prepared, Object value) {
            frame.outer[index].value = value;
        }

        @Override
        String named(Object value) {
            return "upvalue '" + name + "' (" + super.named(value) + ")";
        }
    }

    static final class Global extends Place {
        private final String name;

        Global(int line, String name) {
            super(line);
            this.name = name;
        }

        @Override
        Object value(Frame frame) {
            return Elements.get(frame.run.globals, name, this);
        }

        @Override
        void assign(Frame frame, Object[] prepared, Object value) {
            Elements.set(frame.run.globals, name, value, this);
        }

        @Override
        String named(Object value) {
            return "global '" + name + "' (" + super.named(value) + ")";
        }
    }

    /** The expression {@code ...}. */
    static final class Rest extends Expression {
        Rest(int line) {
            super(line);
        }

        @Override
        Object value(Frame frame) {
            return LuaValues.first(frame.rest);
        }

        @Override
        Object values(Frame frame) {
            return frame.rest;
        }

        @Override
        boolean isMultiple() {
            return true;
        }
    }

    /** An expression in parentheses, which evaluates to one value. */
    static final class Single extends Expression {
        private final Expression inner;

        Single(Expression inner) {
            super(inner.line);
            this.inner = inner;
        }

        @Override
        Object value(Frame frame) {
            return inner.value(frame);
        }

        @Override
        String named(Object value) {
            return inner.named(value);
        }
    }

    /** A table constructor with its elements. */
    static final class Constructor extends Expression {
        private final Expression[] listed;
        private final List<Expression[]> keyed;

        Constructor(int line, Expression[] listed, List<Expression[]> keyed) {
            super(line);
            this.listed = listed;
            this.keyed = keyed;
        }

        @Override
        Object value(Frame frame) {
            Object[] values = values(listed, frame);
            // Copy the array if the last expression has several values: the array may be the result of a function,
            // which keeps it.
            boolean shared = values.length > 0 && listed[listed.length - 1].isMultiple();
            LuaTable table = LuaTable.of(shared ? values.clone() : values);
            for (Expression[] each : keyed) {
                Object key = each[0].value(frame);
                Object value = each[1].value(frame);
                // Skip a key that is also a listed element: Lua sets the listed elements last, even to nil.
                boolean isListed = key instanceof Double number && number >= 1 && number <= values.length;
                if (!isListed) {
                    Elements.set(table, key, value, this);
                }
            }
            return table;
        }
    }
}
