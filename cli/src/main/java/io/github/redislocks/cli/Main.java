package io.github.redislocks.cli;

/** Where the command line begins. */
public final class Main {

    private Main() {}

    public static void main(String[] args) {
        System.exit(RedisLocksCommand.commandLine().execute(args));
    }
}
