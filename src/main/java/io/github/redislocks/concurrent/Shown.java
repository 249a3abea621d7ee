package io.github.redislocks.concurrent;

/**
 * Text of users, such as the name of a lock or a thread, for logs, messages and terminals, which it must not control.
 */
public final class Shown {

    private Shown() {}

    /** The text, with escapes as those of Java in place of line breaks and of what controls a terminal. */
    public static String of(String text) {
        StringBuilder shown = new StringBuilder();
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            int c = text.codePointAt(i);
            switch (Character.getType(c)) {
                case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR ->
                    shown.append(String.format("\\u%04x", c));
                default -> shown.appendCodePoint(c);
            }
        }
        return shown.toString();
    }
}
