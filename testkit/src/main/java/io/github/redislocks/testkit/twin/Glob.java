package io.github.redislocks.testkit.twin;

import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * The patterns of KEYS and SCAN: {@code *}, {@code ?}, {@code [a-c]}, {@code [^a]}, and a backslash before a literal.
 */
final class Glob {

    private Glob() {}

    static Predicate<String> of(String pattern) {
        StringBuilder regex = new StringBuilder();
        for (int i = 0; i < pattern.length(); i++) {
            char next = pattern.charAt(i);
            int end = next == '[' ? end(pattern, i) : -1;
            if (next == '*') {
                regex.append(".*");
            } else if (next == '?') {
                regex.append('.');
            } else if (end > 0) {
                regex.append(set(pattern.substring(i + 1, end)));
                i = end;
            } else {
                boolean escaped = next == '\\' && i + 1 < pattern.length();
                regex.append(Pattern.quote(pattern.substring(escaped ? ++i : i, i + 1)));
            }
        }
        return Pattern.compile(regex.toString(), Pattern.DOTALL).asMatchPredicate();
    }

    /** The index of the bracket that closes a set of characters; the end of the pattern if there is no such bracket. */
    private static int end(String pattern, int begin) {
        int end = pattern.indexOf(']', begin + 1);
        return end < 0 ? pattern.length() : end;
    }

    /**
     * Makes a set of a regular expression. Escapes characters that are special only in regular expressions. An empty
     * set matches nothing.
     */
    private static String set(String members) {
        return members.isEmpty() ? "(?!)" : '[' + members.replaceAll("[\\[&\\\\]", "\\\\$0") + ']';
    }
}
