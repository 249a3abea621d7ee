package io.github.redislocks.cli;

/** The exit codes of the commands; {@code run} also passes on the exit code of the command that it runs. */
final class ExitCodes {

    static final int OK = 0;
    /** Something that nobody foresaw, or a check of {@code doctor} that failed, or deadlocks that were found. */
    static final int PROBLEM = 1;

    static final int USAGE = 2;
    /** As EX_UNAVAILABLE of BSD's sysexits. */
    static final int UNAVAILABLE = 69;
    /** As EX_TEMPFAIL. */
    static final int BUSY = 75;

    static final int LOST = 76;
    /** As shells end for a command that cannot be run. */
    static final int NOT_STARTED = 126;

    static final int NOT_FOUND = 127;

    private ExitCodes() {}
}
