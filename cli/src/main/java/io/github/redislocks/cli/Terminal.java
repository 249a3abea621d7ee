package io.github.redislocks.cli;

import java.io.Console;

/** Whether a person looks on. */
final class Terminal {

    private Terminal() {}

    /** Whether input and output are a terminal, as far as Java tells. */
    @SuppressWarnings("SystemConsoleNull") // This is the test for both.
    static boolean isThere() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            // Since Java 22 there is a console without a terminal too.
            return (Boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (ReflectiveOperationException before22) {
            return true;
        }
    }
}
