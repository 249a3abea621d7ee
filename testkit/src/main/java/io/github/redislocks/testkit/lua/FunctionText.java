package io.github.redislocks.testkit.lua;

import io.github.redislocks.testkit.lua.Expression.Variable;
import io.github.redislocks.testkit.lua.Frame.Cell;
import io.github.redislocks.testkit.lua.Statement.Block;
import io.github.redislocks.testkit.lua.Statement.End;

/** A function expression. Its evaluation makes a function that refers to the present variables around it. */
final class FunctionText extends Expression {

    static final Cell[] NOTHING_AROUND = {};

    private final Variable[] parameters;
    private final boolean takesRest;
    private final Captured[] captured;
    private final int slots;
    private final Block block;

    /**
     * A captured variable.
     *
     * @param isOfNext true for a variable of the next surrounding function, false for a variable that this function has
     *     captured itself
     * @param index the index of the variable there
     */
    record Captured(String name, boolean isOfNext, int index) {}

    /** The data of a function that is known only when the whole function was parsed. */
    static final class Shape {
        private final Variable[] parameters;
        private final boolean takesRest;
        private final Captured[] captured;
        private final int slots;

        Shape(Variable[] parameters, boolean takesRest, Captured[] captured, int slots) {
            this.parameters = parameters;
            this.takesRest = takesRest;
            this.captured = captured;
            this.slots = slots;
        }
    }

    FunctionText(int line, Shape shape, Block block) {
        super(line);
        this.parameters = shape.parameters;
        this.takesRest = shape.takesRest;
        this.captured = shape.captured;
        this.slots = shape.slots;
        this.block = block;
    }

    @Override
    Object value(Frame frame) {
        Cell[] outer = new Cell[captured.length];
        for (int i = 0; i < outer.length; i++) {
            Captured each = captured[i];
            outer[i] = each.isOfNext ? (Cell) frame.slots[each.index] : frame.outer[each.index];
        }
        return closure(frame.run, outer);
    }

    LuaFunction closure(Run run, Cell[] outer) {
        return arguments -> call(run, outer, arguments);
    }

    private Object call(Run run, Cell[] outer, Object[] arguments) {
        Object[] rest = takesRest ? LuaValues.from(arguments, parameters.length) : LuaValues.NONE;
        Frame frame = new Frame(run, slots, outer, rest);
        Statement.begin(frame, parameters, arguments);
        return block.run(frame) == End.RETURN ? frame.result : LuaValues.NONE;
    }
}
