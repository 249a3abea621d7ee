package io.github.redislocks.cli;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockInspection.Holder;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Shown;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Ends a hold of somebody else. */
@Command(
        name = "unlock",
        description = {
            "Ends whatever hold a lock has, for an operator who knows that its holder is gone.",
            "A holder that lives is told at once if its client has a subscription, else at its next renewal. Until then"
                    + " it believes that it holds the lock: two may work at once. previousHolderLost() tells the next."
        })
class UnlockCommand extends CliCommand {

    @Parameters(paramLabel = "NAME", description = "The name of the lock.")
    private String name;

    @Option(names = "--force", required = true, description = "Needed, since nobody unlocks for another otherwise.")
    @SuppressWarnings("UnusedVariable") // To be typed is all that it is for.
    private boolean force;

    @Option(
            names = {"-y", "--yes"},
            description = "Do not ask first.")
    private boolean yes;

    @Override
    int run(RedisLocks locks, PrintWriter out) {
        String shown = Shown.of(name);
        LockInspection seen = locks.inspect(name);
        if (isFree(seen)) {
            out.println("Nobody holds \"" + shown + "\".");
            return ExitCodes.OK;
        }
        String whose = whose(seen);
        if (!yes) {
            if (!confirmed("\"" + shown + "\" is " + whose + ". End that? [y/N] ")) {
                out.println("Nothing was changed.");
                return ExitCodes.OK;
            }
            // The answer may have taken its time, and was about that hold only.
            LockInspection now = locks.inspect(name);
            if (!isFree(now) && !isSame(seen, now)) {
                out.println("Nothing was changed: meanwhile \"" + shown + "\" is " + whose(now) + ".");
                return ExitCodes.OK;
            }
        }
        boolean ended = locks.reentrantLock(name).forceUnlock();
        out.println(ended ? "Ended: \"" + shown + "\" was " + whose + "." : "It had ended meanwhile.");
        return ExitCodes.OK;
    }

    private static boolean isFree(LockInspection seen) {
        return seen.holder().isEmpty() && seen.keptFor().isEmpty();
    }

    /** Whether both saw one hold; of a lock that is kept nothing tells by which hold. */
    private static boolean isSame(LockInspection one, LockInspection other) {
        return one.holder().map(Holder::token).equals(other.holder().map(Holder::token));
    }

    private static String whose(LockInspection seen) {
        return seen.holder()
                .map(hold -> "held by " + InspectCommand.owner(hold.owner()) + ", token " + hold.token())
                .orElseGet(() -> "released, but unavailable for another "
                        + seen.keptFor().map(Times::show).orElse(""));
    }

    /** Overridden by tests, which have no terminal. */
    boolean confirmed(String question) {
        if (!Terminal.isThere()) {
            throw wrong("There is no terminal to ask at: add --yes if you are sure.");
        }
        String answer = System.console().readLine("%s", question);
        return answer != null && answer.strip().matches("[yY](es)?");
    }
}
