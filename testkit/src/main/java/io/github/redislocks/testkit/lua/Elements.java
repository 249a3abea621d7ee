package io.github.redislocks.testkit.lua;

/** Expressions that access elements of tables or methods of strings. */
final class Elements {

    private Elements() {}

    /** Reads an element of a table. Errors name the line and the text of the expression {@code asker}. */
    static Object get(LuaTable table, Object key, Expression asker) {
        Object value = table.get(key);
        if (value == Nil.NIL && table.isStrict()) {
            throw asker.error("Script attempted to access nonexistent global variable '" + LuaValues.text(key) + "'");
        }
        return value;
    }

    static void set(LuaTable table, Object key, Object value, Expression asker) {
        if (table.isFixed()) {
            throw asker.error("Attempt to modify a readonly table");
        }
        if (key == Nil.NIL) {
            throw asker.error("table index is nil");
        }
        if (key instanceof Double number && number.isNaN()) {
            throw asker.error("table index is NaN");
        }
        table.set(key, value);
    }

    /** The expressions {@code a[b]} and {@code a.b}. */
    static final class Element extends Expression.Place {
        private final Expression table;
        private final Expression key;

        Element(int line, Expression table, Expression key) {
            super(line);
            this.table = table;
            this.key = key;
        }

        @Override
        Object value(Frame frame) {
            return of(table.value(frame), key.value(frame), frame);
        }

        private Object of(Object owner, Object name, Frame frame) {
            if (owner instanceof LuaTable elements) {
                return get(elements, name, this);
            }
            if (owner instanceof String) {
                return frame.run.strings.get(name);
            }
            throw error("attempt to index " + table.named(owner));
        }

        @Override
        Object[] prepare(Frame frame) {
            return new Object[] {table.value(frame), key.value(frame)};
        }

        @Override
        void assign(Frame frame, Object[] prepared, Object value) {
            if (!(prepared[0] instanceof LuaTable elements)) {
                throw error("attempt to index " + table.named(prepared[0]));
            }
            set(elements, prepared[1], value, this);
        }

        @Override
        String named(Object value) {
            String kind = super.named(value);
            String name = key instanceof Expression.Constant constant && constant.constant() instanceof String text
                    ? text
                    : "?";
            return "field '" + name + "' (" + kind + ")";
        }
    }

    /** The expression {@code f(...)}. */
    static final class Call extends Expression {
        private final Expression function;
        private final Expression[] arguments;

        Call(int line, Expression function, Expression[] arguments) {
            super(line);
            this.function = function;
            this.arguments = arguments;
        }

        @Override
        Object value(Frame frame) {
            return LuaValues.first(values(frame));
        }

        @Override
        Object values(Frame frame) {
            Object called = function.value(frame);
            return call(this, called, values(arguments, frame), frame);
        }

        @Override
        boolean isMultiple() {
            return true;
        }

        static Object call(Call asker, Object called, Object[] arguments, Frame frame) {
            frame.run.step(asker.line);
            if (!(called instanceof LuaFunction code)) {
                throw asker.error("attempt to call " + asker.function.named(called));
            }
            try {
                return code.call(arguments);
            } catch (LuaError e) {
                throw e.from(asker.line);
            }
        }
    }

    /** The expression {@code a:b(...)}. */
    static final class MethodCall extends Expression {
        private final Expression object;
        private final Element method;
        private final Call call;

        MethodCall(int line, Expression object, String name, Expression[] arguments) {
            super(line);
            this.object = object;
            this.method = new Element(line, object, new Constant(line, name));
            this.call = new Call(line, method, arguments);
        }

        @Override
        Object value(Frame frame) {
            return LuaValues.first(values(frame));
        }

        @Override
        Object values(Frame frame) {
            Object self = object.value(frame);
            Object called = method.of(self, LuaValues.first(method.key.value(frame)), frame);
            Object[] rest = values(call.arguments, frame);
            Object[] arguments = new Object[rest.length + 1];
            arguments[0] = self;
            System.arraycopy(rest, 0, arguments, 1, rest.length);
            return Call.call(call, called, arguments, frame);
        }

        @Override
        boolean isMultiple() {
            return true;
        }
    }
}
