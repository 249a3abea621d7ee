package io.github.redislocks.cli;

import io.github.redislocks.LockInspection;
import io.github.redislocks.RedisLocks;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Ends a hold of somebody else. */
@Command(
        name = "unlock",
        mixinStandardHelpOptions = true,
        description = {
            "Ends whatever hold a lock has, for an operator who knows that its holder is gone.",
            "A holder that lives is told at once if its client has a subscription, else at its next renewal. Until then"
                    + " it believes that it holds the lock: two may work at once. previousHolderLost() tells the next."
        })
final class UnlockCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private Server server;

    @Parameters(paramLabel = "NAME", description = "The name of the lock.")
    private String name;

    @Option(names = "--force", required = true, description = "Needed, since nobody unlocks for another otherwise.")
    private boolean force;

    @Option(
            names = {"-y", "--yes"},
            description = "Do not ask first.")
    private boolean yes;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        try (RedisLocks locks = server.open()) {
            LockInspection seen = locks.inspect(name);
            Optional<LockInspection.Holder> holder = seen.holder();
            if (holder.isEmpty() && seen.keptFor().isEmpty()) {
                out.println("Nobody holds \"" + name + "\".");
                return ExitCodes.OK;
            }
            String whose = holder.map(
                            hold -> "held by " + InspectCommand.owner(hold.owner()) + ", token " + hold.token())
                    .orElseGet(() -> "kept by nobody, for "
                            + seen.keptFor().map(Times::show).orElse(""));
            if (!yes && !confirmed("\"" + name + "\" is " + whose + ". End that? [y/N] ")) {
                out.println("Nothing was changed.");
                return ExitCodes.OK;
            }
            boolean ended = locks.reentrantLock(name).forceUnlock();
            out.println(ended ? "Ended: \"" + name + "\" was " + whose + "." : "It had ended meanwhile.");
        } finally {
            out.flush();
        }
        return ExitCodes.OK;
    }

    private boolean confirmed(String question) {
        if (!Terminal.isThere()) {
            throw new ParameterException(
                    spec.commandLine(), "There is no terminal to ask at: add --yes if you are sure.");
        }
        String answer = System.console().readLine("%s", question);
        return answer != null && answer.strip().matches("[yY](es)?");
    }
}
