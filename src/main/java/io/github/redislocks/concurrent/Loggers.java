package io.github.redislocks.concurrent;

/**
 * The loggers of the library. Users find the names in docs/reference.md; the names do not depend on the packages of the
 * code.
 */
public final class Loggers {

    private static final String ROOT = "io.github.redislocks.";

    /** Logs which server the client uses, what that server lacks, and its outages. */
    public static final Log CONNECTION = new Log(ROOT + "connection");

    /** Logs lost holds, and problems with listeners. */
    public static final Log LOSS = new Log(ROOT + "loss");

    /** Logs locks that this client forced open. */
    public static final Log FORCED = new Log(ROOT + "forced");

    /** Logs calls that have waited for long, with the owners of their locks, and holds that have lasted for long. */
    public static final Log SLOW = new Log(ROOT + "slow");

    /** Logs the terms of leaders, and failures of their work and of candidates. */
    public static final Log LEADERSHIP = new Log(ROOT + "leadership");

    /** Logs errors inside the library. */
    public static final Log INTERNAL = new Log(ROOT + "internal");

    private Loggers() {}
}
