package io.github.redislocks.cli;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.concurrent.Shown;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The command without a subcommand, which lists the subcommands. */
@Command(
        name = "redis-locks",
        mixinStandardHelpOptions = true,
        version = "redis-locks 0.1.0-SNAPSHOT",
        description = "Holds, shows and ends locks of redis-locks.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  redis-locks run nightly-report -- ./report.sh",
            "  redis-locks run --if-busy skip --at-least 50s tick -- ./tick.sh",
            "  redis-locks list 'order:*'",
            "  redis-locks doctor --url redis://localhost:6379",
            "  redis-locks timeline locks.jfr -o locks.html"
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0: done; with --if-busy skip even if the lock was busy",
            "1: an unexpected problem, or one that doctor, deadlocks or demo found",
            "2: wrong usage",
            "69: Redis did not answer, or refused: the state of the lock is unknown",
            "75: the lock was busy",
            "76: the lock was lost; the command was ended",
            "126: the command of run could not be started",
            "127: there is no such command",
            "else: the exit code of the command of run; 128 and the number of the signal if a signal ended it"
        },
        subcommands = {
            RunCommand.class,
            ListCommand.class,
            InspectCommand.class,
            TopCommand.class,
            DeadlocksCommand.class,
            TimelineCommand.class,
            UnlockCommand.class,
            DoctorCommand.class,
            BenchCommand.class,
            DemoCommand.class,
            CommandLine.HelpCommand.class,
            AutoComplete.GenerateCompletion.class
        })
final class RedisLocksCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    static CommandLine commandLine() {
        return new CommandLine(new RedisLocksCommand())
                .setCaseInsensitiveEnumValuesAllowed(true)
                // Do not expand an argument such as @body.json, which belongs to the command that the user wants to
                // run.
                .setExpandAtFiles(false)
                .registerConverter(Duration.class, Times::parse)
                .setExecutionStrategy(Typed::execute)
                .setParameterExceptionHandler(RedisLocksCommand::explain)
                .setExecutionExceptionHandler((e, command, parsed) -> failed(e, command));
    }

    @Override
    public Integer call() {
        spec.commandLine().usage(spec.commandLine().getErr());
        return ExitCodes.USAGE;
    }

    private static int explain(CommandLine.ParameterException e, String[] args) {
        CommandLine command = e.getCommandLine();
        // Hide URLs: a misplaced URL may contain a password.
        String text = Shown.of(e.getMessage().replaceAll("://[^']*", "://***"));
        command.getErr().println("redis-locks: " + text);
        if (text.startsWith("Unknown option") && command.getCommandName().equals("run")) {
            command.getErr().println("If it belongs to the command that is to run, put -- before that command.");
        }
        command.getErr()
                .println("Try: redis-locks " + (command.getParent() == null ? "" : command.getCommandName() + ' ')
                        + "--help");
        return ExitCodes.USAGE;
    }

    static int failed(Exception e, CommandLine command) {
        if (e instanceof CommandLine.ParameterException wrong) {
            return explain(wrong, new String[0]);
        }
        if (e instanceof LockUnavailableException) {
            command.getErr().println("redis-locks: " + e.getMessage());
            return ExitCodes.UNAVAILABLE;
        }
        if (e instanceof LockLostException) {
            command.getErr().println("redis-locks: " + e.getMessage());
            return ExitCodes.LOST;
        }
        if (e instanceof IllegalArgumentException || e instanceof UnsupportedOperationException) {
            command.getErr().println("redis-locks: " + e.getMessage());
            return ExitCodes.USAGE;
        }
        if (e instanceof InterruptedException) {
            command.getErr().println("redis-locks: interrupted");
            return ExitCodes.PROBLEM;
        }
        e.printStackTrace(command.getErr());
        return ExitCodes.PROBLEM;
    }
}
