package io.github.redislocks.cli;

import io.github.redislocks.concurrent.Shown;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** The words as they were typed. Java reads them in the encoding of its locale, which is ASCII where there is none. */
final class Typed {

    /**
     * The value of {@code LC_ALL} that the launcher found, if it gave Java another locale; the same for none and an
     * empty one.
     */
    private static final String LOCALE = "redis-locks.lc_all";

    /** What Java puts in the place of what it cannot read. */
    private static final char UNREAD = '\ufffd';

    private Typed() {}

    /** Runs a command, unless it would get other words: two names could be one, and be that of another lock. */
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

    /** A URL has a password. */
    private static String shown(String word) {
        return word.contains("://") ? "a URL" : '"' + Shown.of(word) + '"';
    }

    /** Gives a command the locale that this one was called with. */
    static void restoreLocale(Map<String, String> environment) {
        String locale = System.getProperty(LOCALE);
        if (locale != null && locale.isEmpty()) {
            environment.remove("LC_ALL");
        } else if (locale != null) {
            environment.put("LC_ALL", locale);
        }
    }
}
