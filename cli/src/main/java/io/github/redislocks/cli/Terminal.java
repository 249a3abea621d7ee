package io.github.redislocks.cli;

import java.io.Console;

/** Finds out whether a person uses the command. */
final class Terminal {

    private Terminal() {}

    /** Whether both input and output are a terminal, as far as Java knows. */
    @SuppressWarnings("SystemConsoleNull") // Before Java 22 the console is null without a terminal.
    static boolean isThere() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            // Ask the console: since Java 22 there is one without a terminal too.
            return (Boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (ReflectiveOperationException before22) {
            return true;
        }
    }
}
