package io.github.redislocks.mutation;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The words of a Lua file, without its comments, each with its place in the text; the last one is empty. */
final class Tokens {

    private static final Pattern TOKEN =
            Pattern.compile("(?<space>\\s+|--[^\\n]*)|(?<name>[A-Za-z_]\\w*)|(?<number>\\d+)"
                    + "|(?<string>'(?:[^'\\\\]|\\\\.)*')|(?<sign>\\.\\.|==|~=|<=|>=|[-+*/%^#<>=(){}\\[\\];:,.])");

    /** A word, from its first to behind its last character. */
    record Token(String text, int start, int end, boolean isName, boolean isNumber, boolean isString) {}

    private final List<Token> all = new ArrayList<>();
    private int next;

    Tokens(String text) {
        Matcher matcher = TOKEN.matcher(text);
        int at = 0;
        while (at < text.length()) {
            if (!matcher.find(at) || matcher.start() != at) {
                throw new IllegalArgumentException("No word of Lua that is known here: "
                        + text.substring(at).lines().findFirst().orElse(""));
            }
            at = matcher.end();
            if (matcher.group("space") == null) {
                all.add(new Token(
                        matcher.group(),
                        matcher.start(),
                        at,
                        matcher.group("name") != null,
                        matcher.group("number") != null,
                        matcher.group("string") != null));
            }
        }
        all.add(new Token("", at, at, false, false, false));
    }

    Token peek() {
        return all.get(next);
    }

    Token take() {
        return all.get(next++);
    }

    /** Takes the next word if it is this one. */
    boolean takeIf(String text) {
        boolean is = is(text);
        if (is) {
            next++;
        }
        return is;
    }

    void expect(String text) {
        Token token = take();
        if (!token.text.equals(text)) {
            throw new IllegalArgumentException(
                    "At character " + token.start + ": " + text + " was expected, not " + token.text);
        }
    }

    void expectName() {
        Token token = take();
        if (!token.isName) {
            throw new IllegalArgumentException(
                    "At character " + token.start + ": a name was expected, not " + token.text);
        }
    }

    boolean is(String... texts) {
        return List.of(texts).contains(peek().text);
    }

    /** Where the last word that was taken ends. */
    int end() {
        return all.get(next - 1).end;
    }
}
