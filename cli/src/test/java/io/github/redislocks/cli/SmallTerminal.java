package io.github.redislocks.cli;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A terminal that knows as much of the control sequences of xterm as a test needs. It wraps and scrolls. */
final class SmallTerminal {

    private static final Pattern PIECE = Pattern.compile("\u001b\\[(\\??)(\\d*)([A-Za-z])|(.)", Pattern.DOTALL);

    private final int columns;
    private final List<StringBuilder> screen = new ArrayList<>();
    private int line;
    private int column;
    private boolean wraps = true;

    SmallTerminal(int lines, int columns) {
        this.columns = columns;
        Collections.addAll(screen, new StringBuilder[lines]);
        clear();
    }

    private void clear() {
        screen.replaceAll(old -> new StringBuilder(" ".repeat(columns)));
    }

    /** Writes a text, and returns what can be read then. */
    List<String> show(String text) {
        Matcher pieces = PIECE.matcher(text);
        while (pieces.find()) {
            if (pieces.group(4) != null) {
                write(pieces.group(4).charAt(0));
            } else {
                control(pieces.group(1) + pieces.group(3), pieces.group(2));
            }
        }
        return screen.stream().map(each -> each.toString().stripTrailing()).toList();
    }

    private void control(String what, String number) {
        switch (what) {
            case "H" -> {
                line = Math.min(screen.size(), number.isEmpty() ? 1 : Integer.parseInt(number)) - 1;
                column = 0;
            }
            case "J" -> clear();
            case "K" -> screen.get(line).replace(column, columns, " ".repeat(columns - column));
            case "?l", "?h" -> wraps = what.equals("?h");
            default -> throw new IllegalArgumentException(what + " is not known here");
        }
    }

    private void write(char c) {
        if (c == '\n') {
            next();
            return;
        }
        if (column == columns && wraps) {
            next();
        }
        screen.get(line).setCharAt(Math.min(column, columns - 1), c);
        // Without a wrap, what follows is written over the last character.
        column = Math.min(columns, column + 1);
    }

    private void next() {
        column = 0;
        line++;
        if (line == screen.size()) {
            line--;
            screen.remove(0);
            screen.add(new StringBuilder(" ".repeat(columns)));
        }
    }
}
