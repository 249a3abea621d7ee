package io.github.redislocks.cli;

import io.github.redislocks.concurrent.Shown;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * Checks that Java could read the arguments. Java reads arguments in the encoding of its locale; without a locale, that
 * is ASCII.
 */
final class Typed {

    /**
     * The system property with the value that {@code LC_ALL} had before the launcher gave Java another locale. It is
     * empty if {@code LC_ALL} was empty or not set.
     */
    private static final String LOCALE = "redis-locks.lc_all";

    /** The character by which Java replaces each character that it cannot read. */
    private static final char UNREAD = '\ufffd';

    private Typed() {}

    /** Runs a command, or refuses if Java could not read its arguments: two lock names could become the same name. */
    static int execute(ParseResult parsed) {
        for (String word : parsed.originalArgs()) {
            if (word.indexOf(UNREAD) >= 0) {
                throw new ParameterException(
                        parsed.commandSpec().commandLine(),
                        "Java could not read all characters of " + shown(word)
                                + " in the encoding of its locale, which is " + System.getProperty("sun.jnu.encoding")
                                + ": set LC_ALL=C.UTF-8, and write them in UTF-8");
            }
        }
        return new CommandLine.RunLast().execute(parsed);
    }

    /** Returns the word for a message; hides a URL, which may contain a password. */
    private static String shown(String word) {
        return word.contains("://") ? "a URL" : '"' + Shown.of(word) + '"';
    }

    /** Gives the command of {@code run} the locale with which this command was called. */
    static void restoreLocale(Map<String, String> environment) {
        String locale = System.getProperty(LOCALE);
        if (locale != null && locale.isEmpty()) {
            environment.remove("LC_ALL");
        } else if (locale != null) {
            environment.put("LC_ALL", locale);
        }
    }
}
