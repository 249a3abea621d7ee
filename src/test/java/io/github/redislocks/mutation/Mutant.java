package io.github.redislocks.mutation;

/** A change of one place of a script's file. The line is the first of the place, counted from 1. */
record Mutant(String file, int line, String before, String after, String text, String whole) {

    /** Makes the change from start to end. The text is the line of the place, by which people find it again. */
    static Mutant of(String file, String source, int start, int end, String after) {
        int lineStart = source.lastIndexOf('\n', start - 1) + 1;
        int lineEnd = source.indexOf('\n', start);
        int line = (int) source.substring(0, start).lines().count() + (start == lineStart ? 1 : 0);
        return new Mutant(
                file,
                line,
                flat(source.substring(start, end)),
                flat(after),
                source.substring(lineStart, lineEnd < 0 ? source.length() : lineEnd)
                        .strip(),
                source.substring(0, start) + after + source.substring(end));
    }

    private static String flat(String text) {
        return text.replaceAll("\\s+", " ");
    }

    /** File, line's text and change: the same after edits elsewhere in the file. */
    String name() {
        return file + ".lua | " + text + " | " + before + " -> " + (after.isEmpty() ? "nothing" : after);
    }

    @Override
    public String toString() {
        return file + ".lua:" + line + " " + before + " -> " + (after.isEmpty() ? "nothing" : after);
    }
}
