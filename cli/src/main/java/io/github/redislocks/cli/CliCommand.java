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

/** A command that asks Redis something and prints the answer. */
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

    /** Refuses what is wrong before Redis is asked. */
    void check() {}

    /** Runs the command. Returns its exit code. */
    abstract int run(RedisLocks locks, PrintWriter out) throws IOException, InterruptedException;

    /** Whether nobody reads any more, as in {@code top | head}, which the standard output of Java keeps to itself. */
    static boolean isUnread(PrintWriter out) {
        return out.checkError() || System.out.checkError();
    }

    final ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }
}
