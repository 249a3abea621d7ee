package io.github.redislocks.testkit.lua;

import io.github.redislocks.testkit.lua.Expression.Place;
import io.github.redislocks.testkit.lua.Expression.Variable;
import io.github.redislocks.testkit.lua.Lexer.Kind;
import io.github.redislocks.testkit.lua.Lexer.Token;
import io.github.redislocks.testkit.lua.Statement.Block;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** Parses statements. */
final class Parser {

    /** Statements and expressions may be nested at most this deep. */
    private static final int DEPTH = 200;

    private static final Set<String> ENDS = Set.of("end", "else", "elseif", "until");

    private final Lexer lexer;
    private Token token;
    private Token following;
    private int lastLine = 1;
    private int depth;
    private Scope scope = new Scope(null, true);
    private final ExpressionParser expressions = new ExpressionParser(this);

    Parser(String source) {
        lexer = new Lexer(source);
        token = lexer.next();
        following = lexer.next();
    }

    FunctionText chunk() {
        Block block = block();
        if (token.kind() != Kind.END) {
            throw unexpected("'<eof>' expected");
        }
        return new FunctionText(1, scope.shape(new Variable[0]), block);
    }

    // Tokens

    Token token() {
        return token;
    }

    /** The token after the next. */
    Token following() {
        return following;
    }

    Scope scope() {
        return scope;
    }

    /** The line of the last token that was consumed. */
    int line() {
        return lastLine;
    }

    Token advance() {
        Token read = token;
        lastLine = read.line();
        token = following;
        following = token.kind() == Kind.END ? token : lexer.next();
        return read;
    }

    boolean skip(String sign) {
        boolean there = token.is(sign);
        if (there) {
            advance();
        }
        return there;
    }

    void expect(String sign) {
        if (!skip(sign)) {
            throw unexpected("'" + sign + "' expected");
        }
    }

    /** Consumes the token {@code sign}, which closes {@code begun}, or throws Lua's error for the missing token. */
    private void close(String sign, String begun, int line) {
        if (token.line() == line || token.is(sign)) {
            expect(sign);
        } else {
            throw unexpected("'" + sign + "' expected (to close '" + begun + "' at line " + line + ")");
        }
    }

    String name() {
        if (token.kind() != Kind.NAME) {
            throw unexpected("'<name>' expected");
        }
        return advance().text();
    }

    LuaError unexpected(String what) {
        return LuaError.at(token.line(), what + " near '" + token.text() + "'");
    }

    void deeper() {
        if (++depth > DEPTH) {
            throw LuaError.at(token.line(), "chunk has too many syntax levels");
        }
    }

    void higher() {
        depth--;
    }

    // Statements

    private Block block() {
        int known = scope.size();
        Block block = new Block(statements());
        scope.forget(known);
        return block;
    }

    private Statement[] statements() {
        deeper();
        List<Statement> all = new ArrayList<>();
        boolean last = false;
        while (!last && token.kind() != Kind.END && !(token.kind() == Kind.SIGN && ENDS.contains(token.text()))) {
            last = token.is("return") || token.is("break");
            all.add(statement());
            skip(";");
        }
        higher();
        return all.toArray(Statement[]::new);
    }

    private Statement statement() {
        if (token.kind() != Kind.SIGN) {
            return simple();
        }
        int line = token.line();
        switch (token.text()) {
            case "if" -> {
                return choice(line);
            }
            case "while" -> {
                advance();
                Expression condition = expressions.one();
                expect("do");
                return new Loops.While(line, true, condition, blockOf("while", line));
            }
            case "repeat" -> {
                advance();
                int known = scope.size();
                Block body = new Block(statements());
                close("until", "repeat", line);
                Statement loop = new Loops.While(line, false, expressions.one(), body);
                scope.forget(known);
                return loop;
            }
            case "do" -> {
                advance();
                return blockOf("do", line);
            }
            case "for" -> {
                return loop(line);
            }
            case "function" -> {
                return function(line);
            }
            case "local" -> {
                advance();
                return skip("function") ? localFunction(line) : locals();
            }
            case "return" -> {
                advance();
                boolean none = token.kind() == Kind.END
                        || token.is(";")
                        || (token.kind() == Kind.SIGN && ENDS.contains(token.text()));
                return new Statement.Return(none ? new Expression[0] : expressions.list());
            }
            case "break" -> {
                advance();
                return new Statement.Break();
            }
            default -> {
                return simple();
            }
        }
    }

    private Block blockOf(String begun, int line) {
        Block block = block();
        close("end", begun, line);
        return block;
    }

    private Statement choice(int line) {
        List<Expression> conditions = new ArrayList<>();
        List<Statement> blocks = new ArrayList<>();
        do {
            advance();
            conditions.add(expressions.one());
            expect("then");
            blocks.add(block());
        } while (token.is("elseif"));
        if (skip("else")) {
            blocks.add(block());
        }
        close("end", "if", line);
        return new Statement.If(conditions.toArray(Expression[]::new), blocks.toArray(Statement[]::new));
    }

    private Statement loop(int line) {
        advance();
        List<String> names = new ArrayList<>(List.of(name()));
        boolean counts = skip("=");
        while (!counts && skip(",")) {
            names.add(name());
        }
        if (!counts) {
            expect("in");
        }
        Expression[] range = expressions.list();
        if (counts && (range.length < 2 || range.length > 3)) {
            throw unexpected("'for' takes two or three numbers");
        }
        int known = scope.size();
        Variable[] variables = declare(names);
        expect("do");
        Block body = blockOf("for", line);
        scope.forget(known);
        return counts ? new Loops.Count(line, variables[0], range, body) : new Loops.Each(line, variables, range, body);
    }

    private Variable[] declare(List<String> names) {
        Variable[] variables = make(names);
        scope.know(variables);
        return variables;
    }

    private Variable[] make(List<String> names) {
        Variable[] variables = new Variable[names.size()];
        for (int i = 0; i < variables.length; i++) {
            variables[i] = scope.make(names.get(i), i);
        }
        return variables;
    }

    private Statement locals() {
        List<String> names = new ArrayList<>(List.of(name()));
        while (skip(",")) {
            names.add(name());
        }
        Expression[] values = skip("=") ? expressions.list() : new Expression[0];
        return new Statement.Locals(declare(names), values);
    }

    private Statement localFunction(int line) {
        Variable variable = declare(List.of(name()))[0];
        return new Statement.LocalFunction(variable, function(line, false));
    }

    private Statement function(int line) {
        advance();
        Place place = scope.resolve(line, name());
        boolean method = false;
        while (!method && (token.is(".") || token.is(":"))) {
            method = advance().is(":");
            place = new Elements.Element(line, place, new Expression.Constant(line, name()));
        }
        return new Statement.Assignment(new Place[] {place}, new Expression[] {function(line, method)});
    }

    /** Parses a function from its parameters on. */
    FunctionText function(int line, boolean method) {
        List<String> names = new ArrayList<>(method ? List.of("self") : List.of());
        boolean rest = false;
        expect("(");
        while (!rest && !token.is(")")) {
            rest = skip("...");
            if (!rest) {
                names.add(name());
            }
            if (!token.is(")")) {
                expect(",");
            }
        }
        expect(")");
        scope = new Scope(scope, rest);
        Variable[] parameters = declare(names);
        Block body = block();
        FunctionText.Shape shape = scope.shape(parameters);
        scope = Objects.requireNonNull(scope.around, "the scope of a function stands in another");
        close("end", "function", line);
        return new FunctionText(line, shape, body);
    }

    /** Parses a call or an assignment. */
    private Statement simple() {
        Expression first = expressions.suffixed();
        if (first instanceof Elements.Call || first instanceof Elements.MethodCall) {
            return new Statement.Doing(first);
        }
        List<Place> places = new ArrayList<>(List.of(place(first)));
        while (skip(",")) {
            places.add(place(expressions.suffixed()));
        }
        expect("=");
        return new Statement.Assignment(places.toArray(Place[]::new), expressions.list());
    }

    private Place place(Expression expression) {
        if (expression instanceof Place place) {
            return place;
        }
        throw unexpected("syntax error");
    }
}
