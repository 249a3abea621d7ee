package io.github.redislocks.concurrent;

import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A logger that never throws: an exception from a user's logger or appender must not change what happens to a lock. */
public final class Log {

    private final Logger logger;
    // Made once, so that a call allocates nothing outside the guard.
    private final BiConsumer<String, @Nullable Object[]> warn;
    private final BiConsumer<String, @Nullable Object[]> error;
    private final BiConsumer<String, Throwable> errorThrown;
    private final BiConsumer<String, @Nullable Object[]> info;
    private final BiConsumer<String, @Nullable Object[]> debug;

    Log(String name) {
        logger = LoggerFactory.getLogger(name);
        warn = logger::warn;
        error = logger::error;
        errorThrown = logger::error;
        info = logger::info;
        debug = logger::debug;
    }

    /** The name by which users configure the logger. */
    public String name() {
        return logger.getName();
    }

    /** Logs what a user should look into; format and arguments as in SLF4J, with an exception last. */
    public void warn(String format, @Nullable Object... arguments) {
        tried(format, arguments, warn);
    }

    /** Logs an error of the library. */
    public void error(String format, @Nullable Object... arguments) {
        tried(format, arguments, error);
    }

    /** Logs an error of the library. Allocates nothing outside the guard, so that a full heap causes no error. */
    public void error(String message, Throwable thrown) {
        tried(message, thrown, errorThrown);
    }

    /** Logs what happens rarely and is no problem. */
    public void info(String format, @Nullable Object... arguments) {
        tried(format, arguments, info);
    }

    /** Logs what is useful to developers of the library. */
    public void debug(String format, @Nullable Object... arguments) {
        tried(format, arguments, debug);
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
        Throwable met = tried(callee, argument, code);
        if (met != null) {
            error("{} failed for {}", callee.getClass().getName(), argument, met);
        }
        return met == null;
    }

    /** Calls the code; returns what it throws, or null. */
    private static <T, A> @Nullable Throwable tried(T callee, A argument, BiConsumer<? super T, ? super A> code) {
        try {
            code.accept(callee, argument);
            return null;
        } catch (Throwable e) {
            return e;
        }
    }
}
