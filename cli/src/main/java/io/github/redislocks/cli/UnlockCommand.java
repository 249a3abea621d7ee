package io.github.redislocks.cli;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockInspection.Holder;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Shown;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Ends the hold of another owner. */
@Command(
        name = "unlock",
        description = {
            "Ends the hold of a lock, whichever owner has it, for an operator who knows that the holder is gone.",
            "A holder that is alive learns of it at once if its client has a subscription, else at its next renewal."
                    + " Until then two owners may work at once. For the next holder, previousHolderLost() is true."
        })
class UnlockCommand extends CliCommand {

    @Parameters(paramLabel = "NAME", description = "The name of the lock.")
    private String name;

    @Option(
            names = "--force",
            required = true,
            description = "Required, because this command ends a hold of another owner.")
    @SuppressWarnings("UnusedVariable") // The user must type the option; its value is not used.
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
            boolean hasPermits = InspectCommand.pool(locks, name)
                    .filter(pool -> !pool.held().isEmpty())
                    .isPresent();
            out.println("Nobody holds \"" + shown + "\"."
                    + (hasPermits
                            ? " Permits of that name are held, and cannot be ended: end the process that has them, and"
                                    + " they are free after their lease."
                            : ""));
            return ExitCodes.OK;
        }
        String whose = whose(seen);
        if (!yes) {
            if (!confirmed("\"" + shown + "\" is " + whose + ". End that? [y/N] ")) {
                out.println("Nothing was changed.");
                return ExitCodes.OK;
            }
            // Inspect again: the user has confirmed only the hold that was shown, and may have taken long to answer.
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

    /**
     * Whether both inspections show the same hold. If the lock is unavailable without a holder, there is no token to
     * compare.
     */
    private static boolean isSame(LockInspection one, LockInspection other) {
        return one.holder().map(Holder::token).equals(other.holder().map(Holder::token));
    }

    private static String whose(LockInspection seen) {
        return seen.holder()
                .map(hold -> "held by " + InspectCommand.owner(hold.owner()) + ", token " + hold.token())
                .orElseGet(() -> "released, but unavailable for another "
                        + seen.keptFor().map(Times::show).orElse(""));
    }

    /** Asks the user at the terminal. Tests, which have no terminal, override this method. */
    boolean confirmed(String question) {
        if (!Terminal.isThere()) {
            throw wrong("There is no terminal for the question: add --yes if you are sure.");
        }
        String answer = System.console().readLine("%s", question);
        return answer != null && answer.strip().matches("[yY](es)?");
    }
}
