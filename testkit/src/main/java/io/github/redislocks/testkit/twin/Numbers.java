package io.github.redislocks.testkit.twin;

import io.github.redislocks.testkit.lua.LuaNumbers;
import java.util.regex.Pattern;

/** Numbers as Redis reads and writes them. */
final class Numbers {

    private static final int DIGITS = 17;
    private static final double EXACT = 1e17;
    private static final Pattern REAL = Pattern.compile("(\\d+\\.?\\d*|\\.\\d+)([eE][-+]?\\d+)?");

    private Numbers() {}

    /**
     * Parses a whole number in its canonical form. If the text is no such number, throws {@code error} as an error
     * reply.
     */
    static long whole(String text, String error) {
        try {
            long number = Long.parseLong(text);
            if (Long.toString(number).equals(text)) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Ignored: the throw below makes the error reply.
        }
        throw new CommandException(error);
    }

    static long whole(String text) {
        return whole(text, CommandException.NOT_AN_INTEGER);
    }

    /** Parses a score. If the text is no score, throws {@code error} as an error reply. */
    static double real(String text, String error) {
        String unsigned = text.startsWith("-") || text.startsWith("+") ? text.substring(1) : text;
        if (unsigned.equalsIgnoreCase("inf") || unsigned.equalsIgnoreCase("infinity")) {
            return text.startsWith("-") ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
        }
        if (REAL.matcher(unsigned).matches()) {
            return Double.parseDouble(text);
        }
        throw new CommandException(error);
    }

    /** Formats a number as C does by {@code %.17g}. */
    static String text(double number) {
        if (number == Math.rint(number) && Math.abs(number) < EXACT && number != 0) {
            return Long.toString((long) number);
        }
        return LuaNumbers.general(number, DIGITS);
    }
}
