package io.github.redislocks.concurrent;

/**
 * The loggers of the library, by the names that the README documents: the structure of the code is not part of them.
 */
public final class Loggers {

    private static final String ROOT = "io.github.redislocks.";

    /** Which server this client has, what that lacks, and when it is away and back. */
    public static final Log CONNECTION = new Log(ROOT + "connection");

    /** Holds that were lost, and the listener that is told of them. */
    public static final Log LOSS = new Log(ROOT + "loss");

    /** Locks that this client forced open. */
    public static final Log FORCED = new Log(ROOT + "forced");

    /** Errors that the library itself met. */
    public static final Log INTERNAL = new Log(ROOT + "internal");

    private Loggers() {}
}
