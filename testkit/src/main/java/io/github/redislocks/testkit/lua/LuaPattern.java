package io.github.redislocks.testkit.lua;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** A compiled pattern of Lua. */
final class LuaPattern {

    /** The most compiled patterns in the cache. */
    private static final int KEPT = 500;

    private static final int CHARS = 256;
    private static final int MOST_CAPTURES = 32;
    private static final Map<String, LuaPattern> KNOWN = new ConcurrentHashMap<>();

    private enum Kind {
        ONE,
        OPTIONAL,
        /** Repeats as often as possible: {@code *} and {@code +}. */
        MANY,
        /** Repeats as rarely as possible: {@code -}. */
        FEW,
        OPEN,
        CLOSE,
        /** A capture of a position: {@code ()}. */
        POSITION,
        END
    }

    /** A part of a pattern: a set of characters, or the start or end of a capture. */
    private static final class Part {
        private final Kind kind;
        private final boolean[] chars;
        private final int capture;

        Part(Kind kind, boolean[] chars, int capture) {
            this.kind = kind;
            this.chars = chars;
            this.capture = capture;
        }
    }

    private static final boolean[] NO_CHARS = {};

    private final boolean anchored;
    private final List<Part> parts = new ArrayList<>();
    private int captures;

    static LuaPattern of(String text) {
        LuaPattern known = KNOWN.get(text);
        if (known == null) {
            known = new LuaPattern(text);
            if (KNOWN.size() < KEPT) {
                KNOWN.put(text, known);
            }
        }
        return known;
    }

    private LuaPattern(String text) {
        anchored = text.startsWith("^");
        List<Integer> open = new ArrayList<>();
        int at = anchored ? 1 : 0;
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == '(') {
                boolean position = text.startsWith("()", at);
                if (!position) {
                    open.add(captures);
                }
                parts.add(new Part(position ? Kind.POSITION : Kind.OPEN, NO_CHARS, captures++));
                at += position ? 2 : 1;
            } else if (c == ')') {
                if (open.isEmpty()) {
                    throw new LuaError("invalid pattern capture");
                }
                parts.add(new Part(Kind.CLOSE, NO_CHARS, open.remove(open.size() - 1)));
                at++;
            } else if (c == '$' && at + 1 == text.length()) {
                parts.add(new Part(Kind.END, NO_CHARS, 0));
                at++;
            } else {
                at = addChars(text, at);
            }
        }
        if (!open.isEmpty()) {
            throw new LuaError("unfinished capture");
        }
        if (captures > MOST_CAPTURES) {
            throw new LuaError("too many captures");
        }
    }

    boolean isAnchored() {
        return anchored;
    }

    private int addChars(String text, int start) {
        boolean[] chars = new boolean[CHARS];
        int at = text.charAt(start) == '[' ? set(text, start, chars) : single(text, start, chars);
        Kind kind = Kind.ONE;
        if (at < text.length()) {
            kind = switch (text.charAt(at)) {
                case '?' -> Kind.OPTIONAL;
                case '*', '+' -> Kind.MANY;
                case '-' -> Kind.FEW;
                default -> Kind.ONE;
            };
            if (text.charAt(at) == '+') {
                parts.add(new Part(Kind.ONE, chars, 0));
            }
        }
        parts.add(new Part(kind, chars, 0));
        return kind == Kind.ONE ? at : at + 1;
    }

    /**
     * Adds to {@code chars} what the single character or class at {@code at} stands for. Returns the index after it.
     */
    private static int single(String text, int at, boolean[] chars) {
        char c = text.charAt(at);
        if (c == '.') {
            Arrays.fill(chars, true);
        } else if (c != '%') {
            chars[c] = true;
        } else if (at + 1 == text.length()) {
            throw new LuaError("malformed pattern (ends with '%')");
        } else {
            addClass(text.charAt(at + 1), chars);
            return at + 2;
        }
        return at + 1;
    }

    private static void addClass(char name, boolean[] chars) {
        if (name == 'b' || name == 'f' || (name >= '0' && name <= '9')) {
            throw new UnsupportedOperationException("This Lua does not know %" + name + " in patterns.");
        }
        char lower = Character.toLowerCase(name);
        if ("acdlpsuwxz".indexOf(lower) < 0) {
            chars[name] = true;
            return;
        }
        for (char c = 0; c < CHARS; c++) {
            chars[c] |= isOf(lower, c) == (lower == name);
        }
    }

    private static boolean isOf(char name, char c) {
        boolean lower = c >= 'a' && c <= 'z';
        boolean upper = c >= 'A' && c <= 'Z';
        boolean digit = c >= '0' && c <= '9';
        return switch (name) {
            case 'a' -> lower || upper;
            case 'c' -> c < ' ' || c == 127;
            case 'd' -> digit;
            case 'l' -> lower;
            case 'p' -> c > ' ' && c < 127 && !lower && !upper && !digit;
            case 's' -> c == ' ' || (c >= '\t' && c <= '\r');
            case 'u' -> upper;
            case 'w' -> lower || upper || digit;
            case 'x' -> digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
            default -> c == 0;
        };
    }

    private static int set(String text, int start, boolean[] chars) {
        boolean not = text.startsWith("[^", start);
        int at = start + (not ? 2 : 1);
        int first = at;
        while (at >= text.length() || text.charAt(at) != ']' || at == first) {
            if (at >= text.length()) {
                throw new LuaError("malformed pattern (missing ']')");
            }
            boolean range = text.charAt(at) != '%'
                    && at + 2 < text.length()
                    && text.charAt(at + 1) == '-'
                    && text.charAt(at + 2) != ']';
            if (range) {
                for (char c = text.charAt(at); c <= text.charAt(at + 2); c++) {
                    chars[c] = true;
                }
                at += 3;
            } else if (text.charAt(at) == '.') {
                chars['.'] = true;
                at++;
            } else {
                at = single(text, at, chars);
            }
        }
        for (int c = 0; not && c < CHARS; c++) {
            chars[c] = !chars[c];
        }
        return at + 1;
    }

    /** Finds the first match from {@code from} on; null if there is none. */
    @Nullable
    Match find(String text, int from) {
        for (int start = from; start <= text.length(); start++) {
            Match match = new Match(text, start, captures);
            if (match(match, 0, start)) {
                return match;
            }
            if (anchored) {
                return null;
            }
        }
        return null;
    }

    private boolean match(Match match, int part, int at) {
        if (part == parts.size()) {
            match.end = at;
            return true;
        }
        Part next = parts.get(part);
        switch (next.kind) {
            case ONE -> {
                return match.is(at, next.chars) && match(match, part + 1, at + 1);
            }
            case OPTIONAL -> {
                return (match.is(at, next.chars) && match(match, part + 1, at + 1)) || match(match, part + 1, at);
            }
            case MANY -> {
                int end = at;
                while (match.is(end, next.chars)) {
                    end++;
                }
                while (end >= at && !match(match, part + 1, end)) {
                    end--;
                }
                return end >= at;
            }
            case FEW -> {
                int end = at;
                while (!match(match, part + 1, end)) {
                    if (!match.is(end++, next.chars)) {
                        return false;
                    }
                }
                return true;
            }
            case END -> {
                return at == match.text.length() && match(match, part + 1, at);
            }
            default -> {
                return capture(match, part, at);
            }
        }
    }

    private boolean capture(Match match, int part, int at) {
        Part next = parts.get(part);
        int[] marks = next.kind == Kind.CLOSE ? match.ends : match.starts;
        int before = marks[next.capture];
        marks[next.capture] = at;
        if (next.kind == Kind.POSITION) {
            match.ends[next.capture] = Match.POSITION;
        }
        if (match(match, part + 1, at)) {
            return true;
        }
        marks[next.capture] = before;
        return false;
    }

    /** A match: its position and its captures. */
    static final class Match {
        private static final int POSITION = -2;

        private final String text;
        private final int start;
        private final int[] starts;
        private final int[] ends;
        private int end;

        private Match(String text, int start, int captures) {
            this.text = text;
            this.start = start;
            this.starts = new int[captures];
            this.ends = new int[captures];
        }

        private boolean is(int at, boolean[] chars) {
            return at < text.length() && chars[text.charAt(at)];
        }

        int start() {
            return start;
        }

        int end() {
            return end;
        }

        /**
         * Returns a capture: 0 is the whole match, 1 the first capture. If the pattern has no captures, 1 is the whole
         * match too.
         */
        Object capture(int number) {
            if (number == 0 || (number == 1 && starts.length == 0)) {
                return text.substring(start, end);
            }
            if (number > starts.length) {
                throw new LuaError("invalid capture index");
            }
            int first = starts[number - 1];
            int last = ends[number - 1];
            return last == POSITION ? (Object) (first + 1.0) : text.substring(first, last);
        }

        /**
         * Returns all captures. If the pattern has none, returns the whole match if {@code orAll} is true, else
         * nothing.
         */
        Object[] captures(boolean orAll) {
            Object[] values = new Object[starts.length == 0 && orAll ? 1 : starts.length];
            for (int i = 0; i < values.length; i++) {
                values[i] = capture(i + 1);
            }
            return values;
        }
    }
}
