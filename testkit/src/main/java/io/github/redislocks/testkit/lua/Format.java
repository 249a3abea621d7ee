package io.github.redislocks.testkit.lua;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The implementation of {@code string.format}. */
final class Format {

    private static final Pattern DIRECTIVE = Pattern.compile("%(?:%|([-+ #0]*)(\\d{0,2})(?:\\.(\\d{0,2}))?(.?))");

    private Format() {}

    static String of(Arguments in) {
        Matcher directives = DIRECTIVE.matcher(in.text(0));
        StringBuilder text = new StringBuilder();
        int argument = 0;
        while (directives.find()) {
            String made = directives.group().equals("%%") ? "%" : one(in, ++argument, directives);
            directives.appendReplacement(text, Matcher.quoteReplacement(made));
        }
        return directives.appendTail(text).toString();
    }

    private static String one(Arguments in, int argument, Matcher directive) {
        if (argument >= in.count()) {
            throw in.bad(argument, "no value");
        }
        int precision = precision(directive.group(3));
        String kind = directive.group(4);
        String text =
                switch (kind) {
                    case "d", "i" -> digits(Long.toString((long) in.number(argument)), precision);
                    case "u" -> digits(Long.toUnsignedString((long) in.number(argument)), precision);
                    case "x" -> digits(Long.toHexString((long) in.number(argument)), precision);
                    case "X" ->
                        digits(Long.toHexString((long) in.number(argument)), precision)
                                .toUpperCase(Locale.ROOT);
                    case "f" -> LuaNumbers.fixed(in.number(argument), precision < 0 ? 6 : precision);
                    case "g" -> LuaNumbers.general(in.number(argument), precision < 0 ? 6 : precision);
                    case "c" -> String.valueOf((char) in.whole(argument));
                    case "s" -> cut(in.text(argument), precision);
                    default -> throw new LuaError("invalid option '%" + kind + "' to 'format'");
                };
        return padded(text, directive.group(1), directive.group(2), !kind.equals("s") && !kind.equals("c"));
    }

    private static int precision(String digits) {
        if (digits == null) {
            return -1;
        }
        return digits.isEmpty() ? 0 : Integer.parseInt(digits);
    }

    private static String cut(String text, int precision) {
        return precision >= 0 && precision < text.length() ? text.substring(0, precision) : text;
    }

    private static String digits(String number, int precision) {
        boolean minus = number.startsWith("-");
        String digits = minus ? number.substring(1) : number;
        return (minus ? "-" : "") + "0".repeat(Math.max(0, precision - digits.length())) + digits;
    }

    private static String padded(String text, String flags, String width, boolean isNumber) {
        String signed = text;
        if (isNumber && !text.startsWith("-") && (flags.contains("+") || flags.contains(" "))) {
            signed = (flags.contains("+") ? "+" : " ") + text;
        }
        int missing = width.isEmpty() ? 0 : Integer.parseInt(width) - signed.length();
        if (missing <= 0) {
            return signed;
        }
        if (flags.contains("-")) {
            return signed + " ".repeat(missing);
        }
        if (isNumber && flags.contains("0")) {
            int sign = "+- ".indexOf(signed.charAt(0)) < 0 ? 0 : 1;
            return signed.substring(0, sign) + "0".repeat(missing) + signed.substring(sign);
        }
        return " ".repeat(missing) + signed;
    }
}
