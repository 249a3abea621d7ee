package io.github.redislocks.mutation;

import io.github.redislocks.mutation.Tokens.Token;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * All changes of one Lua file: a parser of the Lua that our scripts are written in, which notes at each place what may
 * be put there. Changed are:
 *
 * <ul>
 *   <li>calls and assignments that are statements: left out;
 *   <li>conditions: negated;
 *   <li>comparisons: the border moved, or equal and unequal exchanged;
 *   <li>{@code and}, {@code or}: one side left out;
 *   <li>{@code not}: left out;
 *   <li>numbers, but those that name an element: one more;
 *   <li>sums and products: the other way round;
 *   <li>texts that are added to another: left out;
 *   <li>the last argument of several: left out.
 * </ul>
 */
final class Mutations {

    private static final Map<String, String> SIGNS = Map.of(
            "<", "<=", "<=", "<", ">", ">=", ">=", ">", "==", "~=", "~=", "==", "+", "-", "-", "+", "*", "/", "/", "*");

    /** Binary operators, from those that bind least. */
    private static final List<List<String>> LEVELS = List.of(
            List.of("or"),
            List.of("and"),
            List.of("<", ">", "<=", ">=", "~=", "=="),
            List.of(".."),
            List.of("+", "-"),
            List.of("*", "/", "%"));

    private final String file;
    private final String source;
    private final Tokens tokens;
    private final List<Mutant> mutants = new ArrayList<>();

    private Mutations(String file, String source) {
        this.file = file;
        this.source = source;
        this.tokens = new Tokens(source);
    }

    static List<Mutant> of(String file, String source) {
        Mutations mutations = new Mutations(file, source);
        mutations.block();
        mutations.tokens.expect("");
        return mutations.mutants;
    }

    private void change(int start, int end, String after) {
        mutants.add(Mutant.of(file, source, start, end, after));
    }

    private String text(int start, int end) {
        return source.substring(start, end);
    }

    private void block() {
        while (!tokens.is("end", "else", "elseif", "until", "")) {
            statement();
        }
    }

    private void statement() {
        switch (tokens.peek().text()) {
            case "local" -> local();
            case "function" -> {
                tokens.take();
                function();
            }
            case "if" -> branches();
            case "while" -> {
                tokens.take();
                condition();
                body("do");
            }
            case "for" -> loop();
            case "repeat" -> {
                tokens.take();
                block();
                tokens.expect("until");
                condition();
            }
            case "return" -> {
                tokens.take();
                if (!tokens.is("end", "else", "elseif", "until", "")) {
                    list();
                }
            }
            default -> action();
        }
    }

    private void body(String opening) {
        tokens.expect(opening);
        block();
        tokens.expect("end");
    }

    private void local() {
        tokens.take();
        if (tokens.is("function")) {
            tokens.take();
            function();
            return;
        }
        names();
        if (tokens.takeIf("=")) {
            list();
        }
    }

    private void names() {
        do {
            tokens.expectName();
        } while (tokens.takeIf(","));
    }

    /** A function's name if it has one, its parameters and its body. */
    private void function() {
        while (!tokens.takeIf(")")) {
            tokens.take();
        }
        block();
        tokens.expect("end");
    }

    private void branches() {
        do {
            tokens.take();
            condition();
            tokens.expect("then");
            block();
        } while (tokens.is("elseif"));
        if (tokens.takeIf("else")) {
            block();
        }
        tokens.expect("end");
    }

    private void loop() {
        tokens.take();
        names();
        tokens.take();
        list();
        body("do");
    }

    /** A call or an assignment. */
    private void action() {
        int start = tokens.peek().start();
        primary();
        while (tokens.takeIf(",")) {
            primary();
        }
        if (tokens.takeIf("=")) {
            list();
        }
        change(start, tokens.end(), "");
    }

    private void condition() {
        int start = tokens.peek().start();
        int before = mutants.size();
        expression();
        String whole = text(start, tokens.end());
        // The change of a comparison is there already.
        boolean negated = mutants.subList(before, mutants.size()).stream()
                .anyMatch(mutant -> List.of("==", "~=").contains(mutant.before())
                        || mutant.before().startsWith("not "));
        if (!negated || whole.contains(" and ") || whole.contains(" or ")) {
            change(start, tokens.end(), "not (" + whole + ")");
        }
    }

    /** Expressions between commas; how many. */
    private int list() {
        int count = 0;
        do {
            expression();
            count++;
        } while (tokens.takeIf(","));
        return count;
    }

    private void expression() {
        binary(0);
    }

    private void binary(int level) {
        if (level == LEVELS.size()) {
            unary();
            return;
        }
        int start = tokens.peek().start();
        binary(level + 1);
        while (LEVELS.get(level).contains(tokens.peek().text())) {
            int leftEnd = tokens.end();
            Token sign = tokens.take();
            int rightStart = tokens.peek().start();
            binary(level + 1);
            String left = text(start, leftEnd);
            String right = text(rightStart, tokens.end());
            switch (sign.text()) {
                case "and", "or" -> {
                    change(start, tokens.end(), left);
                    change(start, tokens.end(), right);
                }
                case ".." -> {
                    if (right.startsWith("'")) {
                        change(start, tokens.end(), left);
                    } else if (left.startsWith("'") && left.indexOf('\'', 1) == left.length() - 1) {
                        change(start, tokens.end(), right);
                    }
                }
                case "%" -> {}
                default -> change(sign.start(), sign.end(), SIGNS.get(sign.text()));
            }
        }
    }

    private void unary() {
        Token first = tokens.peek();
        if (tokens.takeIf("not")) {
            int operand = tokens.peek().start();
            unary();
            change(first.start(), tokens.end(), text(operand, tokens.end()));
        } else if (tokens.takeIf("-") || tokens.takeIf("#")) {
            unary();
        } else if (first.isNumber()) {
            tokens.take();
            change(first.start(), first.end(), Long.toString(Long.parseLong(first.text()) + 1));
        } else if (first.isString() || tokens.is("true", "false", "nil", "...")) {
            tokens.take();
        } else if (tokens.is("{")) {
            table();
        } else if (tokens.takeIf("function")) {
            function();
        } else {
            primary();
        }
    }

    private void table() {
        tokens.expect("{");
        while (!tokens.takeIf("}")) {
            expression();
            tokens.takeIf(",");
        }
    }

    /** A name or a parenthesis, with all that is called or looked up in it. */
    private void primary() {
        int start = tokens.peek().start();
        if (tokens.takeIf("(")) {
            expression();
            tokens.expect(")");
        } else {
            tokens.expectName();
        }
        while (tokens.is(".", "[", "(")) {
            if (tokens.takeIf(".")) {
                tokens.take();
            } else if (tokens.is("(")) {
                arguments(text(start, tokens.end()));
            } else {
                element();
            }
        }
    }

    private void element() {
        tokens.take();
        int before = mutants.size();
        boolean number = tokens.peek().isNumber();
        expression();
        tokens.expect("]");
        if (number && mutants.size() == before + 1) {
            mutants.remove(before);
        }
    }

    private void arguments(String called) {
        tokens.expect("(");
        if (tokens.takeIf(")")) {
            return;
        }
        int count = 0;
        int lastStart;
        int end;
        do {
            lastStart = tokens.end() - (count == 0 ? 0 : 1);
            expression();
            end = tokens.end();
            count++;
        } while (tokens.takeIf(","));
        tokens.expect(")");
        // Of a command: only what it can do without.
        boolean command = called.equals("call") || called.startsWith("redis.");
        if (count >= (command ? 4 : 2) && !called.startsWith("string.")) {
            change(lastStart, end, "");
        }
    }
}
