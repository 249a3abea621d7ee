package io.github.redislocks.concurrent;

/**
 * The loggers of the library, by the names that docs/reference.md has. The names do not depend on the packages of the
 * code.
 */
public final class Loggers {

    private static final String ROOT = "io.github.redislocks.";

    /** Logs which server the client uses, what that server lacks, and when it is away and back. */
    public static final Log CONNECTION = new Log(ROOT + "connection");

    /** Logs lost holds, and problems with telling the listeners. */
    public static final Log LOSS = new Log(ROOT + "loss");

    /** Logs locks that this client forced open. */
    public static final Log FORCED = new Log(ROOT + "forced");

    /** Logs calls that have waited for long, and who has their locks; and holds that have lasted for long. */
    public static final Log SLOW = new Log(ROOT + "slow");

    /** Logs who leads from when to when, and what leaders' work and candidates met. */
    public static final Log LEADERSHIP = new Log(ROOT + "leadership");

    /** Logs errors inside the library. */
    public static final Log INTERNAL = new Log(ROOT + "internal");

    private Loggers() {}
}
