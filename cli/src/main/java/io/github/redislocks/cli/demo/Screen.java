package io.github.redislocks.cli.demo;

import java.io.IOException;
import java.io.PrintStream;
import java.util.concurrent.locks.ReentrantLock;

/** Standard output: lines that stay and, on a terminal, a live line below them, which is rewritten in place. */
final class Screen {

    private static final String START_OF_LINE = "\r";
    private static final String CLEAR_TO_END = "\u001b[K";
    /** Makes the terminal cut a live line that is too wide: a line of two rows could not be rewritten in place. */
    private static final String WRAP_OFF = "\u001b[?7l";

    private static final String WRAP_ON = "\u001b[?7h";

    private final PrintStream out;
    private final boolean terminal;
    private final ReentrantLock lock = new ReentrantLock();

    private Screen(PrintStream out, boolean terminal) {
        this.out = out;
        this.terminal = terminal;
    }

    static Screen ofStandardOutput() {
        return new Screen(System.out, !"dumb".equals(System.getenv("TERM")) && isStandardOutputTerminal());
    }

    /** Asks the system: System.console() also depends on the input, and is never null from JDK 22 on. */
    private static boolean isStandardOutputTerminal() {
        try {
            return new ProcessBuilder("test", "-t", "1").inheritIO().start().waitFor() == 0;
        } catch (IOException noSuchProgram) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    boolean isTerminal() {
        return terminal;
    }

    void say(String line) {
        print(line + System.lineSeparator());
    }

    void live(String line) {
        print(terminal ? WRAP_OFF + line + WRAP_ON : line + System.lineSeparator());
    }

    void clear() {
        print("");
    }

    private void print(String text) {
        lock.lock();
        try {
            out.print(terminal ? START_OF_LINE + CLEAR_TO_END + text : text);
            out.flush();
        } finally {
            lock.unlock();
        }
    }
}
