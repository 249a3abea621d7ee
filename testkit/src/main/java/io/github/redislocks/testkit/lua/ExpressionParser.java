package io.github.redislocks.testkit.lua;

import io.github.redislocks.testkit.lua.Expression.Constant;
import io.github.redislocks.testkit.lua.Lexer.Kind;
import io.github.redislocks.testkit.lua.Lexer.Token;
import java.util.ArrayList;
import java.util.List;

/** Parses expressions. */
final class ExpressionParser {

    private static final int UNARY = 8;

    private final Parser parser;

    ExpressionParser(Parser parser) {
        this.parser = parser;
    }

    Expression[] list() {
        List<Expression> all = new ArrayList<>();
        do {
            all.add(one());
        } while (parser.skip(","));
        return all.toArray(Expression[]::new);
    }

    Expression one() {
        return binary(0);
    }

    /** How strongly an operator binds its left operand; 0 if the token is no operator. */
    private static int left(Token token) {
        return token.kind() != Kind.SIGN
                ? 0
                : switch (token.text()) {
                    case "or" -> 1;
                    case "and" -> 2;
                    case "<", ">", "<=", ">=", "~=", "==" -> 3;
                    case ".." -> 5;
                    case "+", "-" -> 6;
                    case "*", "/", "%" -> 7;
                    case "^" -> 10;
                    default -> 0;
                };
    }

    /** How strongly an operator binds its right operand. */
    private static int right(String operator) {
        return switch (operator) {
            case "or" -> 1;
            case "and" -> 2;
            case ".." -> 4;
            case "+", "-" -> 6;
            case "*", "/", "%" -> 7;
            case "^" -> 9;
            default -> 3;
        };
    }

    /** Parses an expression whose operators bind more strongly than {@code limit}. */
    private Expression binary(int limit) {
        parser.deeper();
        Expression result = unary();
        while (left(parser.token()) > limit) {
            String operator = parser.advance().text();
            Expression other = binary(right(operator));
            result = combine(operator, result, other);
        }
        parser.higher();
        return result;
    }

    private Expression combine(String operator, Expression left, Expression right) {
        int line = parser.line();
        return switch (operator) {
            case "or", "and" -> new Operators.Choice(line, operator.equals("and"), left, right);
            case "==", "~=" -> new Operators.Equality(line, operator.equals("=="), left, right);
            case "<", ">", "<=", ">=" -> new Operators.Order(line, operator, left, right);
            case ".." -> new Operators.Concatenation(line, left, right);
            default -> new Operators.Arithmetic(line, sum(operator), left, right);
        };
    }

    private static Operators.Sum sum(String operator) {
        return switch (operator) {
            case "+" -> (left, right) -> left + right;
            case "-" -> (left, right) -> left - right;
            case "*" -> (left, right) -> left * right;
            case "/" -> (left, right) -> left / right;
            case "%" -> Operators::modulo;
            default -> Math::pow;
        };
    }

    private Expression unary() {
        Token token = parser.token();
        if (!token.is("not") && !token.is("-") && !token.is("#")) {
            return simple();
        }
        parser.advance();
        boolean isNumber =
                parser.token().kind() == Kind.NUMBER && !parser.following().is("^");
        if (token.is("-") && isNumber) {
            return new Constant(token.line(), number(-(Double) parser.advance().value()));
        }
        Expression inner = binary(UNARY);
        int line = parser.line();
        if (token.is("not")) {
            return new Operators.Not(line, inner);
        }
        return token.is("-") ? new Operators.Negation(line, inner) : new Operators.Length(line, inner);
    }

    private Expression simple() {
        Token token = parser.token();
        int line = token.line();
        if (token.kind() == Kind.NUMBER) {
            return new Constant(line, number((Double) parser.advance().value()));
        }
        if (token.kind() == Kind.STRING) {
            return new Constant(line, parser.advance().value());
        }
        if (token.kind() == Kind.SIGN) {
            switch (token.text()) {
                case "nil" -> {
                    return constant(Nil.NIL);
                }
                case "true" -> {
                    return constant(true);
                }
                case "false" -> {
                    return constant(false);
                }
                case "..." -> {
                    if (!parser.scope().takesRest) {
                        throw LuaError.at(line, "cannot use '...' outside a vararg function near '...'");
                    }
                    parser.advance();
                    return new Expression.Rest(line);
                }
                case "{" -> {
                    return table();
                }
                case "function" -> {
                    parser.advance();
                    return parser.function(line, false);
                }
                default -> {
                    // An expression in parentheses, or an error: see suffixed().
                }
            }
        }
        return suffixed();
    }

    private Double number(Double value) {
        return parser.scope().constant(value);
    }

    private Expression constant(Object value) {
        return new Constant(parser.advance().line(), value);
    }

    private Expression table() {
        int line = parser.advance().line();
        List<Expression> listed = new ArrayList<>();
        List<Expression[]> keyed = new ArrayList<>();
        while (!parser.token().is("}")) {
            if (parser.skip("[")) {
                Expression key = one();
                parser.expect("]");
                parser.expect("=");
                keyed.add(new Expression[] {key, one()});
            } else if (parser.token().kind() == Kind.NAME && parser.following().is("=")) {
                Expression key = new Constant(line, parser.name());
                parser.expect("=");
                keyed.add(new Expression[] {key, one()});
            } else {
                listed.add(one());
            }
            if (!parser.skip(",") && !parser.skip(";")) {
                break;
            }
        }
        parser.expect("}");
        return new Expression.Constructor(line, listed.toArray(Expression[]::new), keyed);
    }

    /** Parses a primary expression and all elements and calls that follow it: {@code a.b[c](d)}. */
    Expression suffixed() {
        int line = parser.token().line();
        Expression result;
        if (parser.skip("(")) {
            result = new Expression.Single(one());
            parser.expect(")");
        } else if (parser.token().kind() == Kind.NAME) {
            result = parser.scope().resolve(line, parser.name());
        } else {
            throw parser.unexpected("unexpected symbol");
        }
        while (true) {
            Token token = parser.token();
            line = token.line();
            if (parser.skip(".")) {
                result = new Elements.Element(line, result, new Constant(line, parser.name()));
            } else if (parser.skip("[")) {
                result = new Elements.Element(line, result, one());
                parser.expect("]");
            } else if (parser.skip(":")) {
                String name = parser.name();
                result = new Elements.MethodCall(line, result, name, arguments());
            } else if (token.is("(") || token.is("{") || token.kind() == Kind.STRING) {
                result = new Elements.Call(line, result, arguments());
            } else {
                return result;
            }
        }
    }

    private Expression[] arguments() {
        Token token = parser.token();
        if (token.kind() == Kind.STRING) {
            return new Expression[] {new Constant(token.line(), parser.advance().value())};
        }
        if (token.is("{")) {
            return new Expression[] {table()};
        }
        parser.expect("(");
        Expression[] all = parser.token().is(")") ? new Expression[0] : list();
        parser.expect(")");
        return all;
    }
}
