package io.github.redislocks.cli;

/** Text from Redis for a terminal, which it must not control: a name of a lock may have any characters. */
final class Shown {

    private Shown() {}

    /** The text, with escapes as those of Java in place of line breaks and of what controls a terminal. */
    static String of(String text) {
        StringBuilder shown = new StringBuilder();
        text.codePoints().forEach(c -> {
            int type = Character.getType(c);
            if (type == Character.CONTROL
                    || type == Character.FORMAT
                    || type == Character.LINE_SEPARATOR
                    || type == Character.PARAGRAPH_SEPARATOR) {
                shown.append(String.format("\\u%04x", c));
            } else {
                shown.appendCodePoint(c);
            }
        });
        return shown.toString();
    }
}
