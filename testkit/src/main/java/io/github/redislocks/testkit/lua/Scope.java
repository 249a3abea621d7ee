package io.github.redislocks.testkit.lua;

import io.github.redislocks.testkit.lua.Expression.Variable;
import io.github.redislocks.testkit.lua.FunctionText.Captured;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The variables of a function that are visible at the parser's present position. */
final class Scope {

    final @Nullable Scope around;
    final boolean takesRest;
    private final List<Variable> known = new ArrayList<>();
    private final List<Captured> captured = new ArrayList<>();
    private int slots;
    private @Nullable Double zero;

    Scope(@Nullable Scope around, boolean takesRest) {
        this.around = around;
        this.takesRest = takesRest;
    }

    /**
     * Makes a variable that is not visible yet. {@code ahead} is the number of variables that were made before it and
     * are not visible yet either.
     */
    Variable make(String name, int ahead) {
        int slot = known.size() + ahead;
        slots = Math.max(slots, slot + 1);
        return new Variable(name, slot);
    }

    void know(Variable... variables) {
        known.addAll(List.of(variables));
    }

    /** Returns the constant as Lua 5.1 stores it: all zeros in a function have the sign of the first zero. */
    Double constant(Double number) {
        if (number != 0) {
            return number;
        }
        if (zero == null) {
            zero = number;
        }
        return zero;
    }

    int size() {
        return known.size();
    }

    /** Hides the latest variables, so that {@code size} variables are left. */
    void forget(int size) {
        known.subList(size, known.size()).clear();
    }

    FunctionText.Shape shape(Variable[] parameters) {
        return new FunctionText.Shape(parameters, takesRest, captured.toArray(Captured[]::new), slots);
    }

    /** Returns the variable that a name means at this position. */
    Expression.Place resolve(int line, String name) {
        Variable local = local(name);
        if (local != null) {
            return new Expression.Local(line, local);
        }
        int index = capture(name);
        return index < 0 ? new Expression.Global(line, name) : new Expression.Outer(line, name, index);
    }

    private @Nullable Variable local(String name) {
        for (int i = known.size() - 1; i >= 0; i--) {
            if (known.get(i).name.equals(name)) {
                return known.get(i);
            }
        }
        return null;
    }

    /**
     * Captures a variable of a surrounding function, and returns its index; -1 if there is no variable with this name.
     */
    private int capture(String name) {
        if (around == null) {
            return -1;
        }
        Variable local = around.local(name);
        int index = local == null ? around.capture(name) : local.slot;
        if (index < 0) {
            return -1;
        }
        if (local != null) {
            local.isShared = true;
        }
        Captured wanted = new Captured(name, local != null, index);
        if (!captured.contains(wanted)) {
            captured.add(wanted);
        }
        return captured.indexOf(wanted);
    }
}
