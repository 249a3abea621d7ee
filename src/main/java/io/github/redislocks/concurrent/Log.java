package io.github.redislocks.concurrent;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A logger that never throws: what a user's logger or appender throws must not change what happens to a lock. */
public final class Log {

    private final Logger logger;

    Log(String name) {
        logger = LoggerFactory.getLogger(name);
    }

    /** Its name, by which the user configures it. */
    public String name() {
        return logger.getName();
    }

    /** Writes what a user should look into; with what SLF4J's format wants, an exception last. */
    public void warn(String format, @Nullable Object... arguments) {
        try {
            logger.warn(format, arguments);
        } catch (Throwable notEvenLogged) {
            // As the class says.
        }
    }

    /** Writes what went wrong. */
    public void error(String format, @Nullable Object... arguments) {
        try {
            logger.error(format, arguments);
        } catch (Throwable notEvenLogged) {
            // As the class says.
        }
    }

    /** Writes what happens seldom and is no trouble. */
    public void info(String format, @Nullable Object... arguments) {
        try {
            logger.info(format, arguments);
        } catch (Throwable notEvenLogged) {
            // As the class says.
        }
    }

    /** Writes what is of use to those who work on the library. */
    public void debug(String format, @Nullable Object... arguments) {
        try {
            logger.debug(format, arguments);
        } catch (Throwable notEvenLogged) {
            // As the class says.
        }
    }
}
