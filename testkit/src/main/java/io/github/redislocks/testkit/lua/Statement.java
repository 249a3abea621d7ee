package io.github.redislocks.testkit.lua;

import io.github.redislocks.testkit.lua.Expression.Place;
import io.github.redislocks.testkit.lua.Expression.Variable;

/** A statement of a script. */
abstract class Statement {

    /** How a statement ends. */
    enum End {
        NEXT,
        BREAK,
        RETURN
    }

    abstract End run(Frame frame);

    static final class Block extends Statement {
        private final Statement[] statements;

        Block(Statement[] statements) {
            this.statements = statements;
        }

        @Override
        End run(Frame frame) {
            for (Statement statement : statements) {
                End end = statement.run(frame);
                if (end != End.NEXT) {
                    return end;
                }
            }
            return End.NEXT;
        }
    }

    /** The statement {@code local a, b = ...}. */
    static final class Locals extends Statement {
        private final Variable[] variables;
        private final Expression[] values;

        Locals(Variable[] variables, Expression[] values) {
            this.variables = variables;
            this.values = values;
        }

        @Override
        End run(Frame frame) {
            if (variables.length == 1 && values.length == 1) {
                variables[0].begin(frame, values[0].value(frame));
                return End.NEXT;
            }
            begin(frame, variables, Expression.values(values, frame));
            return End.NEXT;
        }
    }

    static void begin(Frame frame, Variable[] variables, Object[] values) {
        for (int i = 0; i < variables.length; i++) {
            variables[i].begin(frame, i < values.length ? values[i] : Nil.NIL);
        }
    }

    /** The statement {@code local function f}. The function may call itself. */
    static final class LocalFunction extends Statement {
        private final Variable variable;
        private final Expression function;

        LocalFunction(Variable variable, Expression function) {
            this.variable = variable;
            this.function = function;
        }

        @Override
        End run(Frame frame) {
            variable.begin(frame, Nil.NIL);
            variable.set(frame, function.value(frame));
            return End.NEXT;
        }
    }

    static final class Assignment extends Statement {
        private final Place[] places;
        private final Expression[] values;

        Assignment(Place[] places, Expression[] values) {
            this.places = places;
            this.values = values;
        }

        @Override
        End run(Frame frame) {
            if (places.length == 1 && values.length == 1) {
                Object[] prepared = places[0].prepare(frame);
                places[0].assign(frame, prepared, values[0].value(frame));
                return End.NEXT;
            }
            Object[][] prepared = new Object[places.length][];
            for (int i = 0; i < places.length; i++) {
                prepared[i] = places[i].prepare(frame);
            }
            Object[] all = Expression.values(values, frame);
            for (int i = places.length - 1; i >= 0; i--) {
                places[i].assign(frame, prepared[i], i < all.length ? all[i] : Nil.NIL);
            }
            return End.NEXT;
        }
    }

    /** A call whose values are not used. */
    static final class Doing extends Statement {
        private final Expression call;

        Doing(Expression call) {
            this.call = call;
        }

        @Override
        End run(Frame frame) {
            Object unused = call.values(frame);
            return End.NEXT;
        }
    }

    static final class Return extends Statement {
        private final Expression[] values;

        Return(Expression[] values) {
            this.values = values;
        }

        @Override
        End run(Frame frame) {
            frame.result = values.length == 1 ? values[0].values(frame) : Expression.values(values, frame);
            return End.RETURN;
        }
    }

    static final class Break extends Statement {
        @Override
        End run(Frame frame) {
            return End.BREAK;
        }
    }

    /** The statement {@code if}: conditions, each with its block, and an optional block for {@code else}. */
    static final class If extends Statement {
        private final Expression[] conditions;
        private final Statement[] blocks;

        If(Expression[] conditions, Statement[] blocks) {
            this.conditions = conditions;
            this.blocks = blocks;
        }

        @Override
        End run(Frame frame) {
            for (int i = 0; i < conditions.length; i++) {
                if (LuaValues.isTrue(conditions[i].value(frame))) {
                    return blocks[i].run(frame);
                }
            }
            return blocks.length > conditions.length ? blocks[conditions.length].run(frame) : End.NEXT;
        }
    }
}
