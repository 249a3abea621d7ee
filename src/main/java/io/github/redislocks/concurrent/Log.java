package io.github.redislocks.concurrent;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A logger that never throws: an exception of a user's logger or appender must not change what happens to a lock. */
public final class Log {

    private final Logger logger;

    Log(String name) {
        logger = LoggerFactory.getLogger(name);
    }

    /** The name by which users configure the logger. */
    public String name() {
        return logger.getName();
    }

    /** Logs what a user should look into; format and arguments as in SLF4J, with an exception last. */
    public void warn(String format, @Nullable Object... arguments) {
        quietly(() -> logger.warn(format, arguments));
    }

    /** Logs an error of the library. */
    public void error(String format, @Nullable Object... arguments) {
        quietly(() -> logger.error(format, arguments));
    }

    /** Logs what happens rarely and is no problem. */
    public void info(String format, @Nullable Object... arguments) {
        quietly(() -> logger.info(format, arguments));
    }

    /** Logs what is useful to developers of the library. */
    public void debug(String format, @Nullable Object... arguments) {
        quietly(() -> logger.debug(format, arguments));
    }

    private static void quietly(Runnable entry) {
        try {
            entry.run();
        } catch (Throwable notEvenLogged) {
            // As the class says.
        }
    }
}
