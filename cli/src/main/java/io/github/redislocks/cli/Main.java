package io.github.redislocks.cli;

/** The main class of the command line. */
public final class Main {

    private Main() {}

    public static void main(String[] args) {
        System.exit(RedisLocksCommand.commandLine().execute(args));
    }
}
