package io.github.redislocks.concurrent;

import java.math.BigDecimal;
import java.time.Duration;

/**
 * Formats times, and users' text such as names of locks and threads, for logs, messages and terminals. Escapes the
 * characters by which a text could control a terminal.
 */
public final class Shown {

    private Shown() {}

    /** The text, with Java escapes in place of line breaks and control characters. */
    public static String of(String text) {
        StringBuilder shown = new StringBuilder();
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            int c = text.codePointAt(i);
            switch (Character.getType(c)) {
                case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> {
                    for (char unit : Character.toChars(c)) {
                        shown.append(String.format("\\u%04x", (int) unit));
                    }
                }
                default -> shown.appendCodePoint(c);
            }
        }
        return shown.toString();
    }

    /** A time with its unit, such as {@code 24 h}, {@code 90 s} or {@code 1.5 ms}. */
    public static String of(Duration time) {
        if (time.getNano() != 0) {
            return BigDecimal.valueOf(time.getSeconds(), -3)
                            .add(BigDecimal.valueOf(time.getNano(), 6))
                            .stripTrailingZeros()
                            .toPlainString()
                    + " ms";
        }
        boolean isOfHours = !time.isZero() && time.getSeconds() % 3_600 == 0;
        return isOfHours ? time.toHours() + " h" : time.getSeconds() + " s";
    }
}
