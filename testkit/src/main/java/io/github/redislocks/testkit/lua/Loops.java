package io.github.redislocks.testkit.lua;

import io.github.redislocks.testkit.lua.Expression.Variable;
import io.github.redislocks.testkit.lua.Statement.Block;
import io.github.redislocks.testkit.lua.Statement.End;

/** Statements that run a block repeatedly. */
final class Loops {

    private Loops() {}

    /**
     * The loops {@code while} and {@code repeat}. The condition of {@code repeat} comes last, and ends the loop if it
     * is true.
     */
    static final class While extends Statement {
        private final int line;
        private final boolean first;
        private final Expression condition;
        private final Block block;

        While(int line, boolean first, Expression condition, Block block) {
            this.line = line;
            this.first = first;
            this.condition = condition;
            this.block = block;
        }

        @Override
        End run(Frame frame) {
            while (!first || LuaValues.isTrue(condition.value(frame))) {
                frame.run.step(line);
                End end = block.run(frame);
                if (end == End.RETURN) {
                    return end;
                }
                if (end == End.BREAK || (!first && LuaValues.isTrue(condition.value(frame)))) {
                    return End.NEXT;
                }
            }
            return End.NEXT;
        }
    }

    /** The loop {@code for i = from, to, step}. */
    static final class Count extends Statement {
        private final int line;
        private final Variable variable;
        private final Expression[] range;
        private final Block block;

        Count(int line, Variable variable, Expression[] range, Block block) {
            this.line = line;
            this.variable = variable;
            this.range = range;
            this.block = block;
        }

        private double bound(Frame frame, int index, String name) {
            Double number = index < range.length ? LuaValues.number(range[index].value(frame)) : Double.valueOf(1);
            if (number == null) {
                throw LuaError.at(line, "'for' " + name + " must be a number");
            }
            return number;
        }

        @Override
        End run(Frame frame) {
            double from = bound(frame, 0, "initial value");
            double to = bound(frame, 1, "limit");
            double step = bound(frame, 2, "step");
            for (double i = from; step > 0 ? i <= to : i >= to; i += step) {
                frame.run.step(line);
                variable.begin(frame, i);
                End end = block.run(frame);
                if (end == End.RETURN) {
                    return end;
                }
                if (end == End.BREAK) {
                    return End.NEXT;
                }
            }
            return End.NEXT;
        }
    }

    /** The loop {@code for a, b in ...}. */
    static final class Each extends Statement {
        private final int line;
        private final Variable[] variables;
        private final Expression[] iterator;
        private final Block block;

        Each(int line, Variable[] variables, Expression[] iterator, Block block) {
            this.line = line;
            this.variables = variables;
            this.iterator = iterator;
            this.block = block;
        }

        @Override
        End run(Frame frame) {
            Object[] start = Expression.values(iterator, frame);
            Object state = start.length > 1 ? start[1] : Nil.NIL;
            Object control = start.length > 2 ? start[2] : Nil.NIL;
            if (!(LuaValues.first(start) instanceof LuaFunction next)) {
                throw LuaError.at(line, "attempt to call a " + LuaValues.type(LuaValues.first(start)) + " value");
            }
            while (true) {
                frame.run.step(line);
                Object[] values = next(next, state, control);
                control = LuaValues.first(values);
                if (control == Nil.NIL) {
                    return End.NEXT;
                }
                Statement.begin(frame, variables, values);
                End end = block.run(frame);
                if (end == End.RETURN) {
                    return end;
                }
                if (end == End.BREAK) {
                    return End.NEXT;
                }
            }
        }

        private Object[] next(LuaFunction next, Object state, Object control) {
            try {
                return LuaValues.all(next.call(new Object[] {state, control}));
            } catch (LuaError e) {
                throw e.from(line);
            }
        }
    }
}
