package io.github.redislocks.cli;

import java.io.Console;

/** Finds out whether a person uses the command at a terminal. */
final class Terminal {

    private Terminal() {}

    /** Whether input and output are a terminal, as far as Java knows. */
    @SuppressWarnings("SystemConsoleNull") // Before Java 22 the console is null without a terminal.
    static boolean isThere() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            // Since Java 22 there is a console even without a terminal: ask it.
            return (Boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (ReflectiveOperationException before22) {
            return true;
        }
    }
}
