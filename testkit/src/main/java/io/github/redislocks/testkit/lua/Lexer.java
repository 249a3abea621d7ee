package io.github.redislocks.testkit.lua;

import java.util.Set;

/** Splits a text into the tokens of Lua. */
final class Lexer {

    enum Kind {
        NAME,
        STRING,
        NUMBER,
        /** A keyword or a punctuation mark, as the token's text says. */
        SIGN,
        END
    }

    /** A token. The value of a string or a number is in {@code value}. */
    record Token(Kind kind, String text, Object value, int line) {

        boolean is(String sign) {
            return kind == Kind.SIGN && text.equals(sign);
        }
    }

    private static final Set<String> KEYWORDS = Set.of(
            "and",
            "break",
            "do",
            "else",
            "elseif",
            "end",
            "false",
            "for",
            "function",
            "if",
            "in",
            "local",
            "nil",
            "not",
            "or",
            "repeat",
            "return",
            "then",
            "true",
            "until",
            "while");

    private static final String QUOTES = "\"'";

    private static final String ESCAPES = "abfnrtv";
    private static final String ESCAPED = "\u0007\b\f\n\r\t\u000b";

    private final String text;
    private int at;
    private int line = 1;

    Lexer(String text) {
        this.text = text;
    }

    Token next() {
        skipBlanks();
        if (at >= text.length()) {
            return new Token(Kind.END, "<eof>", Nil.NIL, line);
        }
        int start = at;
        char first = text.charAt(at);
        if (isLetter(first)) {
            skip(Lexer::isLetterOrDigit);
            String word = text.substring(start, at);
            return new Token(KEYWORDS.contains(word) ? Kind.SIGN : Kind.NAME, word, Nil.NIL, line);
        }
        if (isDigit(first) || (first == '.' && isDigit(peek(1)))) {
            return number();
        }
        if (QUOTES.indexOf(first) >= 0) {
            return quoted(first);
        }
        int level = first == '[' ? level() : -1;
        if (level >= 0) {
            String value = bracketed(level);
            return new Token(Kind.STRING, value, value, line);
        }
        return sign();
    }

    private interface CharacterSet {
        boolean contains(char c);
    }

    private void skip(CharacterSet skipped) {
        while (at < text.length() && skipped.contains(text.charAt(at))) {
            at++;
        }
    }

    private char peek(int ahead) {
        return at + ahead < text.length() ? text.charAt(at + ahead) : '\0';
    }

    private void skipBlanks() {
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == '\n') {
                line++;
                at++;
            } else if (c == ' ' || c == '\t' || c == '\r') {
                at++;
            } else if (c == '-' && peek(1) == '-') {
                at += 2;
                int level = peek(0) == '[' ? level() : -1;
                if (level >= 0) {
                    bracketed(level);
                } else {
                    skip(any -> any != '\n');
                }
            } else {
                return;
            }
        }
    }

    private Token number() {
        int start = at;
        if (peek(0) == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
            at += 2;
            skip(Lexer::isLetterOrDigit);
        } else {
            skip(c -> isDigit(c) || c == '.');
            if (peek(0) == 'e' || peek(0) == 'E') {
                at += peek(1) == '-' || peek(1) == '+' ? 2 : 1;
            }
            skip(Lexer::isLetterOrDigit);
        }
        String digits = text.substring(start, at);
        Double value = LuaNumbers.parse(digits);
        if (value == null) {
            throw error("malformed number", digits);
        }
        return new Token(Kind.NUMBER, digits, value, line);
    }

    private Token quoted(char quote) {
        StringBuilder value = new StringBuilder();
        int start = at++;
        while (peek(0) != quote) {
            if (at >= text.length() || peek(0) == '\n') {
                throw error("unfinished string", at >= text.length() ? "<eof>" : text.substring(start, at));
            }
            value.append(peek(0) == '\\' ? escaped() : text.charAt(at++));
        }
        at++;
        return new Token(Kind.STRING, value.toString(), value.toString(), line);
    }

    private char escaped() {
        char c = peek(1);
        at += 2;
        if (isDigit(c)) {
            int code = c - '0';
            for (int i = 0; i < 2 && isDigit(peek(0)); i++) {
                code = code * 10 + text.charAt(at++) - '0';
            }
            if (code > 255) {
                throw error("escape sequence too large", "\\" + code);
            }
            return (char) code;
        }
        if (c == '\n') {
            line++;
        }
        int known = ESCAPES.indexOf(c);
        return known < 0 ? c : ESCAPED.charAt(known);
    }

    /** The number of equals signs between two opening brackets; -1 if there are no such brackets. */
    private int level() {
        int signs = 0;
        while (peek(1 + signs) == '=') {
            signs++;
        }
        return peek(1 + signs) == '[' ? signs : -1;
    }

    private String bracketed(int level) {
        String end = "]" + "=".repeat(level) + "]";
        int start = at + level + 2;
        int stop = text.indexOf(end, start);
        if (stop < 0) {
            throw error("unfinished long string", "<eof>");
        }
        String value = text.substring(start, stop);
        line += (int) value.chars().filter(c -> c == '\n').count();
        at = stop + end.length();
        return value.startsWith("\n") ? value.substring(1) : value;
    }

    private Token sign() {
        for (int length = 3; length > 0; length--) {
            if (at + length <= text.length()) {
                String sign = text.substring(at, at + length);
                if (isSign(sign)) {
                    at += length;
                    return new Token(Kind.SIGN, sign, Nil.NIL, line);
                }
            }
        }
        throw error("unexpected symbol", text.substring(at, at + 1));
    }

    private static boolean isSign(String sign) {
        return switch (sign.length()) {
            case 1 -> "+-*/%^#<>=(){}[];:,.".contains(sign);
            case 2 ->
                sign.equals("==") || sign.equals("~=") || sign.equals("<=") || sign.equals(">=") || sign.equals("..");
            default -> sign.equals("...");
        };
    }

    LuaError error(String what, String near) {
        return LuaError.at(line, what + " near '" + near + "'");
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private static boolean isLetter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    }

    private static boolean isLetterOrDigit(char c) {
        return isLetter(c) || isDigit(c);
    }
}
