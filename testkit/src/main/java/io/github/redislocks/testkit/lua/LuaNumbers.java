package io.github.redislocks.testkit.lua;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Parses and formats numbers as C does. */
public final class LuaNumbers {

    /** The number of significant digits when Lua turns a number into a text. */
    private static final int DIGITS = 14;

    private static final double EXACT = 1e14;
    private static final Pattern DECIMAL = Pattern.compile("[-+]?(\\d+\\.?\\d*|\\.\\d+)([eE][-+]?\\d+)?");
    private static final Pattern HEXADECIMAL = Pattern.compile("[-+]?0[xX][0-9a-fA-F]{1,13}");

    private LuaNumbers() {}

    /** Formats a number as Lua converts it to a text: by {@code %.14g}. */
    static String text(double number) {
        if (number == Math.rint(number) && Math.abs(number) < EXACT && (number != 0 || 1 / number > 0)) {
            return Long.toString((long) number);
        }
        return general(number, DIGITS);
    }

    /** Formats a number as C does by {@code %.<digits>g}. */
    public static String general(double number, int digits) {
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            return Double.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
        }
        if (number == 0) {
            return 1 / number < 0 ? "-0" : "0";
        }
        int wanted = Math.max(1, digits);
        BigDecimal rounded = new BigDecimal(number)
                .round(new MathContext(wanted, RoundingMode.HALF_EVEN))
                .stripTrailingZeros();
        int exponent = rounded.precision() - rounded.scale() - 1;
        if (exponent >= -4 && exponent < wanted) {
            return rounded.toPlainString();
        }
        String whole = rounded.unscaledValue().abs().toString();
        String fraction = whole.length() > 1 ? "." + whole.substring(1) : "";
        return (rounded.signum() < 0 ? "-" : "") + whole.charAt(0) + fraction + exponent(exponent);
    }

    private static String exponent(int exponent) {
        return String.format(Locale.ROOT, "e%s%02d", exponent < 0 ? "-" : "+", Math.abs(exponent));
    }

    /** Formats a number as C does by {@code %.<decimals>f}. */
    static String fixed(double number, int decimals) {
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            return general(number, 1);
        }
        String text = new BigDecimal(number)
                .setScale(decimals, RoundingMode.HALF_EVEN)
                .toPlainString();
        boolean lostSign = (number < 0 || (number == 0 && 1 / number < 0)) && !text.startsWith("-");
        return lostSign ? "-" + text : text;
    }

    /** Parses a number, which may have blanks around it; null if the text is no number. */
    static @Nullable Double parse(String text) {
        String bare = text.strip();
        if (DECIMAL.matcher(bare).matches()) {
            return Double.valueOf(bare);
        }
        if (HEXADECIMAL.matcher(bare).matches()) {
            int digits = bare.indexOf('x') + bare.indexOf('X') + 2;
            double number = Long.parseLong(bare.substring(digits), 16);
            return bare.startsWith("-") ? -number : number;
        }
        return null;
    }

    /** Parses a whole number in the given base; null if the text is no such number. */
    static @Nullable Double parse(String text, int base) {
        try {
            return (double) Long.parseLong(text.strip(), base);
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
