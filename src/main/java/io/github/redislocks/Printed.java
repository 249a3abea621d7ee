package io.github.redislocks;

/** Text of somebody else as it is printed: it must not end a line of a log, nor control a terminal. */
final class Printed {

    private Printed() {}

    /** The text, with escapes as those of Java in place of line breaks and of what controls a terminal. */
    static String of(String text) {
        StringBuilder printed = new StringBuilder();
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            int c = text.codePointAt(i);
            switch (Character.getType(c)) {
                case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR ->
                    printed.append(String.format("\\u%04x", c));
                default -> printed.appendCodePoint(c);
            }
        }
        return printed.toString();
    }
}
