package io.github.redislocks.testkit.lua;

/** Expressions with an operator and one or two operands. */
final class Operators {

    private Operators() {}

    /** The arithmetic of an operator. */
    interface Sum {
        double of(double left, double right);
    }

    static double modulo(double left, double right) {
        return left - Math.floor(left / right) * right;
    }

    static final class Arithmetic extends Expression {
        private final Sum sum;
        private final Expression left;
        private final Expression right;

        Arithmetic(int line, Sum sum, Expression left, Expression right) {
            super(line);
            this.sum = sum;
            this.left = left;
            this.right = right;
        }

        @Override
        Object value(Frame frame) {
            Object one = left.value(frame);
            Object other = right.value(frame);
            Double first = LuaValues.number(one);
            Double second = LuaValues.number(other);
            if (first == null || second == null) {
                throw error(
                        "attempt to perform arithmetic on " + (first == null ? left.named(one) : right.named(other)));
            }
            return sum.of(first, second);
        }
    }

    static final class Negation extends Expression {
        private final Expression inner;

        Negation(int line, Expression inner) {
            super(line);
            this.inner = inner;
        }

        @Override
        Object value(Frame frame) {
            Object value = inner.value(frame);
            Double number = LuaValues.number(value);
            if (number == null) {
                throw error("attempt to perform arithmetic on " + inner.named(value));
            }
            return -number;
        }
    }

    static final class Not extends Expression {
        private final Expression inner;

        Not(int line, Expression inner) {
            super(line);
            this.inner = inner;
        }

        @Override
        Object value(Frame frame) {
            return !LuaValues.isTrue(inner.value(frame));
        }
    }

    static final class Length extends Expression {
        private final Expression inner;

        Length(int line, Expression inner) {
            super(line);
            this.inner = inner;
        }

        @Override
        Object value(Frame frame) {
            Object value = inner.value(frame);
            if (value instanceof String text) {
                return (double) text.length();
            } else if (value instanceof LuaTable table) {
                return (double) table.length();
            }
            throw error("attempt to get length of " + inner.named(value));
        }
    }

    static final class Concatenation extends Expression {
        private final Expression left;
        private final Expression right;

        Concatenation(int line, Expression left, Expression right) {
            super(line);
            this.left = left;
            this.right = right;
        }

        @Override
        Object value(Frame frame) {
            Object one = left.value(frame);
            Object other = right.value(frame);
            if (!isText(one) || !isText(other)) {
                throw error("attempt to concatenate " + (isText(one) ? right.named(other) : left.named(one)));
            }
            return LuaValues.text(one).concat(LuaValues.text(other));
        }

        private static boolean isText(Object value) {
            return value instanceof String || value instanceof Double;
        }
    }

    static final class Equality extends Expression {
        private final boolean wanted;
        private final Expression left;
        private final Expression right;

        Equality(int line, boolean wanted, Expression left, Expression right) {
            super(line);
            this.wanted = wanted;
            this.left = left;
            this.right = right;
        }

        @Override
        Object value(Frame frame) {
            return LuaValues.equal(left.value(frame), right.value(frame)) == wanted;
        }
    }

    /** The comparison "less than", or "less than or equal" if {@code equal} is true. */
    static final class Order extends Expression {
        private final boolean equal;
        private final boolean turned;
        private final Expression left;
        private final Expression right;

        /**
         * Makes a comparison. For {@code >} and {@code >=} the operands are swapped, but the left operand is evaluated
         * first.
         */
        Order(int line, String sign, Expression left, Expression right) {
            super(line);
            this.equal = sign.length() > 1;
            this.turned = sign.startsWith(">");
            this.left = left;
            this.right = right;
        }

        @Override
        Object value(Frame frame) {
            Object one = left.value(frame);
            Object other = right.value(frame);
            return turned ? isLess(other, one) : isLess(one, other);
        }

        private boolean isLess(Object one, Object other) {
            if (one instanceof Double first && other instanceof Double second) {
                return equal ? (double) first <= second : (double) first < second;
            }
            if (one instanceof String first && other instanceof String second) {
                int order = first.compareTo(second);
                return equal ? order <= 0 : order < 0;
            }
            String type = LuaValues.type(one);
            String otherType = LuaValues.type(other);
            throw error(
                    type.equals(otherType)
                            ? "attempt to compare two " + type + " values"
                            : "attempt to compare " + type + " with " + otherType);
        }
    }

    /** The operators {@code and} and {@code or}. */
    static final class Choice extends Expression {
        private final boolean and;
        private final Expression left;
        private final Expression right;

        Choice(int line, boolean and, Expression left, Expression right) {
            super(line);
            this.and = and;
            this.left = left;
            this.right = right;
        }

        @Override
        Object value(Frame frame) {
            Object one = left.value(frame);
            return LuaValues.isTrue(one) == and ? right.value(frame) : one;
        }
    }
}
