package io.github.redislocks.testkit.lua;

import static io.github.redislocks.testkit.lua.Arguments.add;

import org.jspecify.annotations.Nullable;

/** Lua's functions on strings. */
final class StringLibrary {

    private static final int LONGEST = 10_000_000;

    private StringLibrary() {}

    static void addTo(LuaTable strings) {
        add(strings, "len", in -> (double) in.text(0).length());
        add(strings, "lower", in -> mapped(in.text(0), 'A', 'Z'));
        add(strings, "upper", in -> mapped(in.text(0), 'a', 'z'));
        add(strings, "reverse", in -> new StringBuilder(in.text(0)).reverse().toString());
        add(strings, "rep", StringLibrary::rep);
        add(strings, "sub", StringLibrary::sub);
        add(strings, "byte", StringLibrary::bytes);
        add(strings, "char", StringLibrary::chars);
        add(strings, "format", in -> Format.of(in));
        add(strings, "find", in -> search(in, true));
        add(strings, "match", in -> search(in, false));
        add(strings, "gmatch", StringLibrary::gmatch);
        add(strings, "gsub", StringLibrary::gsub);
    }

    /** Changes the case of the ASCII letters from {@code from} to {@code to}. */
    private static String mapped(String text, char from, char to) {
        StringBuilder other = new StringBuilder(text);
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= from && c <= to) {
                other.setCharAt(i, (char) (c ^ ' '));
            }
        }
        return other.toString();
    }

    private static Object rep(Arguments in) {
        String text = in.text(0);
        int times = Math.max(0, in.whole(1));
        if ((long) times * text.length() > LONGEST) {
            throw new LuaError("not enough memory");
        }
        return text.repeat(times);
    }

    /** Returns a position that counts from the start. A negative {@code given} counts from the end. */
    private static int position(int given, int length) {
        return given >= 0 ? given : Math.max(0, length + given + 1);
    }

    private static Object sub(Arguments in) {
        String text = in.text(0);
        int from = Math.max(1, position(in.whole(1), text.length()));
        int to = Math.min(text.length(), position(in.whole(2, -1), text.length()));
        return from > to ? "" : text.substring(from - 1, to);
    }

    private static Object bytes(Arguments in) {
        String text = in.text(0);
        int first = position(in.whole(1, 1), text.length());
        int from = Math.max(1, first);
        int to = Math.min(text.length(), position(in.whole(2, first), text.length()));
        Object[] codes = new Object[Math.max(0, to - from + 1)];
        for (int i = 0; i < codes.length; i++) {
            codes[i] = (double) text.charAt(from - 1 + i);
        }
        return codes;
    }

    private static Object chars(Arguments in) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < in.count(); i++) {
            int code = in.whole(i);
            if (code < 0 || code > 255) {
                throw in.bad(i, "invalid value");
            }
            text.append((char) code);
        }
        return text.toString();
    }

    /** Searches for a pattern. Returns the position of the match first if {@code find} is true. */
    private static Object search(Arguments in, boolean find) {
        String text = in.text(0);
        String pattern = in.text(1);
        int start = Math.min(text.length(), Math.max(1, position(in.whole(2, 1), text.length())) - 1);
        if (find && LuaValues.isTrue(in.get(3))) {
            int at = text.indexOf(pattern, start);
            return at < 0 ? Nil.NIL : new Object[] {at + 1.0, (double) (at + pattern.length())};
        }
        LuaPattern.Match match = LuaPattern.of(pattern).find(text, start);
        if (match == null) {
            return Nil.NIL;
        }
        if (!find) {
            return match.captures(true);
        }
        Object[] captures = match.captures(false);
        Object[] all = new Object[captures.length + 2];
        all[0] = match.start() + 1.0;
        all[1] = (double) match.end();
        System.arraycopy(captures, 0, all, 2, captures.length);
        return all;
    }

    private static Object gmatch(Arguments in) {
        String text = in.text(0);
        LuaPattern pattern = LuaPattern.of(in.text(1));
        int[] from = {0};
        LuaFunction next = values -> {
            LuaPattern.Match match = from[0] > text.length() ? null : pattern.find(text, from[0]);
            if (match == null) {
                from[0] = text.length() + 1;
                return Nil.NIL;
            }
            from[0] = match.end() + (match.end() == match.start() ? 1 : 0);
            return match.captures(true);
        };
        return next;
    }

    private static Object gsub(Arguments in) {
        String text = in.text(0);
        LuaPattern pattern = LuaPattern.of(in.text(1));
        int most = in.whole(3, Integer.MAX_VALUE);
        StringBuilder result = new StringBuilder();
        int at = 0;
        int count = 0;
        while (count < most && at <= text.length()) {
            LuaPattern.Match match = pattern.find(text, at);
            if (match == null) {
                break;
            }
            count++;
            result.append(text, at, match.start());
            String found = text.substring(match.start(), match.end());
            String replaced = replacement(in, match);
            result.append(replaced == null ? found : replaced);
            at = match.end();
            if (found.isEmpty()) {
                result.append(text, at, Math.min(text.length(), at + 1));
                at++;
            }
            if (pattern.isAnchored()) {
                break;
            }
        }
        result.append(text, Math.min(at, text.length()), text.length());
        return new Object[] {result.toString(), (double) count};
    }

    /** The replacement of a match; null to leave the match unchanged. */
    private static @Nullable String replacement(Arguments in, LuaPattern.Match match) {
        Object how = in.get(2);
        Object value;
        if (how instanceof LuaTable table) {
            value = table.get(match.captures(true)[0]);
        } else if (how instanceof LuaFunction function) {
            value = LuaValues.first(function.call(match.captures(true)));
        } else {
            return filled(in.text(2), match);
        }
        if (!LuaValues.isTrue(value)) {
            return null;
        }
        if (!(value instanceof String) && !(value instanceof Double)) {
            throw new LuaError("invalid replacement value (a " + LuaValues.type(value) + ")");
        }
        return LuaValues.text(value);
    }

    private static String filled(String form, LuaPattern.Match match) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < form.length(); i++) {
            char c = form.charAt(i);
            if (c != '%' || i + 1 == form.length()) {
                text.append(c);
            } else {
                c = form.charAt(++i);
                text.append(c < '0' || c > '9' ? String.valueOf(c) : LuaValues.text(match.capture(c - '0')));
            }
        }
        return text.toString();
    }
}
