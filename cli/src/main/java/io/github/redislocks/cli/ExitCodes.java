package io.github.redislocks.cli;

/** The exit codes of the commands. The command {@code run} also passes on the exit code of the command that it runs. */
final class ExitCodes {

    static final int OK = 0;
    /** There was an unexpected error, or {@code doctor}, {@code deadlocks} or {@code demo} has found a problem. */
    static final int PROBLEM = 1;

    static final int USAGE = 2;
    /** Redis did not answer or refused. EX_UNAVAILABLE of BSD's sysexits. */
    static final int UNAVAILABLE = 69;
    /** The lock was busy. EX_TEMPFAIL of sysexits. */
    static final int BUSY = 75;

    static final int LOST = 76;
    /** The command could not be started. Shells have the same exit code for that. */
    static final int NOT_STARTED = 126;

    static final int NOT_FOUND = 127;

    private ExitCodes() {}
}
