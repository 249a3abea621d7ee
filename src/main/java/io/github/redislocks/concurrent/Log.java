package io.github.redislocks.concurrent;

import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** A logger that never throws: an exception from a user's logger or appender must not change what happens to a lock. */
public final class Log {

    private static final @Nullable Object[] NONE = {};

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
        write(Level.WARN, format, arguments, null);
    }

    /** Logs an error of the library. */
    public void error(String format, @Nullable Object... arguments) {
        write(Level.ERROR, format, arguments, null);
    }

    /** Logs an error of the library. Allocates nothing outside the guard, so that a full heap causes no error. */
    public void error(String message, Throwable thrown) {
        write(Level.ERROR, message, NONE, thrown);
    }

    /** Logs what happens rarely and is no problem. */
    public void info(String format, @Nullable Object... arguments) {
        write(Level.INFO, format, arguments, null);
    }

    /** Logs what is useful to developers of the library. */
    public void debug(String format, @Nullable Object... arguments) {
        write(Level.DEBUG, format, arguments, null);
    }

    /**
     * Calls code that must not stop its caller, such as a listener of the user, and logs what that code throws. The
     * argument is separate from the callee, so that the caller need not allocate a lambda.
     *
     * @param callee what is called, named in the log
     * @param argument what the call is about, named in the log
     * @return whether the code returned
     */
    public <T, A> boolean guard(T callee, A argument, BiConsumer<? super T, ? super A> code) {
        try {
            code.accept(callee, argument);
            return true;
        } catch (Throwable e) {
            error("{} failed for {}", callee.getClass().getName(), argument, e);
            return false;
        }
    }

    private void write(Level level, String format, @Nullable Object[] arguments, @Nullable Throwable thrown) {
        try {
            switch (level) {
                case ERROR -> {
                    if (thrown == null) {
                        logger.error(format, arguments);
                    } else {
                        logger.error(format, thrown);
                    }
                }
                case WARN -> logger.warn(format, arguments);
                case INFO -> logger.info(format, arguments);
                default -> logger.debug(format, arguments);
            }
        } catch (Throwable unlogged) {
            // Ignored, for the reason that the class comment gives.
        }
    }
}
