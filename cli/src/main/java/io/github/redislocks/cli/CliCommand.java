package io.github.redislocks.cli;

import io.github.redislocks.RedisLocks;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that sends requests to Redis and prints the result. */
@Command(mixinStandardHelpOptions = true)
abstract class CliCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private Server server;

    @Override
    public final Integer call() throws IOException, InterruptedException {
        check();
        PrintWriter out = spec.commandLine().getOut();
        try (RedisLocks locks = server.open()) {
            return run(locks, out);
        } finally {
            out.flush();
        }
    }

    /** Checks the options before the first request to Redis. */
    void check() {}

    /** Runs the command. Returns its exit code. */
    abstract int run(RedisLocks locks, PrintWriter out) throws IOException, InterruptedException;

    /**
     * Whether nobody reads the output any more, as in {@code top | head}. Java's standard output throws no exception
     * then.
     */
    static boolean isUnread(PrintWriter out) {
        return out.checkError() || System.out.checkError();
    }

    final ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }
}
