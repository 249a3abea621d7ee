package io.github.redislocks.cli;

import io.github.redislocks.Handle;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockOptions;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.ReadHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Shown;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Runs a command while it holds a lock, or a permit of a pool. */
@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        description = {
            "Runs a command while it holds a lock, and ends with the exit code of the command.",
            "The command finds the name and the fencing token in REDIS_LOCKS_NAME and REDIS_LOCKS_TOKEN. If the lock"
                    + " cannot be renewed, the command and all that it started get SIGTERM when a third of the lease is"
                    + " left and SIGKILL when a tenth is left, before another can have the lock; if it was forced open"
                    + " or deleted, SIGKILL at once. A signal to redis-locks is passed on as SIGTERM."
        },
        footer = {
            "",
            "Examples:",
            "  redis-locks run nightly-report -- ./report.sh --full",
            "  redis-locks run --wait 30s deploy -- make deploy",
            "  redis-locks run --if-busy skip --at-least 50s tick -- ./tick.sh",
            "  redis-locks run --read prices -- ./report.sh",
            "  redis-locks run --permits 3 encoder -- ./encode.sh film.mkv"
        })
final class RunCommand implements Callable<Integer> {

    private static final Duration SHORTEST_LEASE = Duration.ofSeconds(1);
    /** The longest time that {@link LockHandle#releaseAfter} permits. */
    private static final Duration LONGEST_KEPT = Duration.ofHours(24);

    /** The reaction to a lock that another owner holds. */
    enum IfBusy {
        WAIT,
        FAIL,
        SKIP
    }

    @Spec
    private CommandSpec spec;

    @Mixin
    private Server server;

    @Parameters(index = "0", paramLabel = "NAME", description = "The name of the lock or of the pool.")
    private String name;

    @Parameters(
            index = "1..*",
            arity = "1..*",
            paramLabel = "COMMAND",
            description = "The command and its arguments; best after --.")
    private List<String> command;

    @Option(
            names = "--permits",
            paramLabel = "N",
            description =
                    "Hold one of N permits of the pool NAME instead of the lock, so that at most N commands run at a"
                            + " time. The command finds the number of its permit, from 0 to N - 1, in REDIS_LOCKS_PERMIT.")
    private Integer permits;

    @Option(
            names = "--read",
            description =
                    "Hold the read lock of NAME, together with others that read: no run without --read, and no program"
                            + " that writes, has the lock meanwhile. REDIS_LOCKS_TOKEN is the token of the last writer.")
    private boolean read;

    @Option(
            names = {"-w", "--wait"},
            paramLabel = "TIME",
            description = "Wait no longer than this, such as 30s. Default: as long as it takes.")
    private Duration wait;

    @Option(
            names = "--if-busy",
            paramLabel = "wait|fail|skip",
            description =
                    "What to do if another owner holds the lock, or still does after --wait: fail ends with 75, skip with 0,"
                            + " and neither runs the command. Default: wait, and fail with --wait.")
    private IfBusy ifBusy;

    @Option(
            names = "--lease",
            paramLabel = "TIME",
            defaultValue = "30s",
            description = "How long the lock outlives this process if it is killed; renewed each third of it."
                    + " Default: ${DEFAULT-VALUE}.")
    private Duration lease;

    @Option(
            names = "--at-least",
            paramLabel = "TIME",
            description =
                    "Leave the lock unavailable until this time after it was acquired, even after the command has ended: for"
                            + " jobs that several machines start at about the same time, of which one is to run.")
    private Duration atLeast;

    @Option(
            names = "--foreground",
            description = "Leave the command in the process group of the terminal, so that it can"
                    + " read from it. What it starts is then ended only as far as it is known as its descendant.")
    private boolean foreground;

    @Option(
            names = {"-q", "--quiet"},
            description = "Say nothing but errors.")
    private boolean quiet;

    @Option(
            names = {"-v", "--verbose"},
            description = "Say who holds the lock while waiting, even without a terminal.")
    private boolean verbose;

    private final CountDownLatch done = new CountDownLatch(1);
    private volatile ChildGroup child;
    private volatile boolean signalled;

    @Override
    public Integer call() throws Exception {
        check();
        try (RedisLocks locks = open()) {
            Thread hook = new Thread(() -> onSignal(locks), "signal");
            Runtime.getRuntime().addShutdownHook(hook);
            Needed needed = needed(locks);
            Optional<? extends Handle> held = acquire(locks, needed);
            return held.isPresent() ? run(held.get()) : busy(needed);
        } catch (IllegalStateException | IllegalMonitorStateException e) {
            if (signalled) {
                // The signal has closed the client, while this process was about to get the lock or had just got it.
                return ExitCodes.BUSY;
            }
            throw e;
        } finally {
            done.countDown();
        }
    }

    private void check() {
        if (lease.compareTo(SHORTEST_LEASE) < 0) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--lease is " + Times.show(lease)
                            + ", which is too short to end a command in a third of it: use 1s or" + " more");
        }
        if ((atLeast == null ? 0 : 1) + (permits == null ? 0 : 1) + (read ? 1 : 0) > 1) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--at-least needs a lock for one command, --read a lock for many, and --permits a pool: use only one of"
                            + " them");
        }
        if (atLeast != null && (atLeast.compareTo(LONGEST_KEPT) > 0 || server.isQuorum())) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--at-least is " + Times.show(atLeast) + ", and "
                            + (server.isQuorum()
                                    ? "a quorum does not support it: name one --url"
                                    : "the longest possible time is 24h: use that or less"));
        }
        List<String> typed = spec.commandLine().getParseResult().originalArgs();
        if (!command.equals(typed.subList(Math.max(0, typed.size() - command.size()), typed.size()))) {
            throw new ParameterException(
                    spec.commandLine(),
                    "An option of redis-locks is among the words of the command: put -- before that command, and"
                            + " options of redis-locks before that");
        }
        if (wait != null && ifBusy == IfBusy.WAIT) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--wait limits the wait, and --if-busy=wait waits without a limit: use only one of them");
        }
    }

    private Needed needed(RedisLocks locks) {
        if (permits != null) {
            return new Needed.OfPool(locks.permits(name, permits));
        }
        LockOptions options = LockOptions.defaults().lease(lease);
        return new Needed.OfLock(
                locks, name, read ? locks.readWriteLock(name, options).readLock() : locks.reentrantLock(name, options));
    }

    private RedisLocks open() {
        // Set the client's lease for permits only, which a quorum does not have: in a quorum, that lease is also the
        // default restartDelay, which should be the same for all clients.
        return permits == null ? server.open() : server.builder().lease(lease).build();
    }

    private Optional<? extends Handle> acquire(RedisLocks locks, Needed needed) throws InterruptedException {
        boolean told = verbose || (!quiet && Terminal.isThere());
        WaitingLine line = told ? new WaitingLine(locks, name, needed, err()) : null;
        try {
            if (wait == null && (ifBusy == null || ifBusy == IfBusy.WAIT)) {
                return Optional.of(needed.acquire());
            }
            return needed.tryAcquire(wait == null ? Duration.ZERO : wait);
        } catch (IllegalStateException e) {
            if (signalled || permits == null) {
                throw e;
            }
            // The pool has another size.
            throw new ParameterException(spec.commandLine(), "--permits is " + permits + ". " + e.getMessage(), e);
        } finally {
            if (line != null) {
                line.close();
            }
        }
    }

    private int busy(Needed needed) {
        if (ifBusy == IfBusy.SKIP) {
            return ExitCodes.OK;
        }
        if (!quiet && !signalled) {
            err().println("redis-locks: \"" + Shown.of(name) + "\" is busy"
                    + needed.look().why().map(why -> ": " + why).orElse(""));
        }
        return ExitCodes.BUSY;
    }

    private int run(Handle held) throws InterruptedException {
        Map<String, String> environment = new HashMap<>(Map.of(
                "REDIS_LOCKS_NAME", name,
                "REDIS_LOCKS_TOKEN", Long.toString(token(held)),
                "REDIS_LOCKS_OWNER", held.owner()));
        if (held instanceof PermitHandle permit) {
            environment.put("REDIS_LOCKS_PERMIT", Integer.toString(permit.number()));
        }
        Supervision supervision = new Supervision(held, lease);
        int refused = refusal();
        if (refused == 0 && !supervision.awaitWholeLease()) {
            held.release();
            return lost(" before the command was started");
        }
        if (refused == 0) {
            try {
                start(environment);
            } catch (IOException e) {
                err().println("redis-locks: " + e.getMessage());
                refused = ExitCodes.NOT_STARTED;
            }
        }
        if (refused != 0 || (signalled && child == null)) {
            held.release();
            return refused;
        }
        boolean kept = supervision.await(child);
        boolean inOrder = kept && (atLeast == null ? held.release() : held.releaseAfter(atLeast));
        if (inOrder) {
            return child.exitCode();
        }
        // The lock was lost. Kill the group again: if the command ended by itself at that moment, it may have left
        // other processes.
        child.kill();
        held.release();
        return lost(kept ? " before the command had ended" : ": \"" + command.get(0) + "\" was ended");
    }

    private static long token(Handle held) {
        return held instanceof ReadHandle reading ? reading.version() : ((LockHandle) held).fencingToken();
    }

    private int lost(String more) {
        err().println("redis-locks: the " + (permits == null ? "lock" : "permit of") + " \"" + Shown.of(name)
                + "\" was lost" + more);
        return ExitCodes.LOST;
    }

    /** Starts the command, unless a signal has come. */
    private synchronized void start(Map<String, String> environment) throws IOException {
        if (!signalled) {
            child = ChildGroup.start(command, environment, foreground);
        }
    }

    /** Notes a signal. Returns the command that must get the signal as well; null if no command was started. */
    private synchronized ChildGroup signalled() {
        signalled = true;
        return child;
    }

    /** The exit code if the command does not exist or cannot be executed; 0 if it can be executed. */
    private int refusal() {
        Path program = ChildGroup.find(command.get(0));
        if (program == null) {
            err().println("redis-locks: " + command.get(0) + ": no such command");
            return ExitCodes.NOT_FOUND;
        }
        if (!Files.isExecutable(program)) {
            err().println("redis-locks: " + command.get(0) + ": not executable");
            return ExitCodes.NOT_STARTED;
        }
        return 0;
    }

    /** The shutdown hook, which runs after a signal and when the work is done. */
    private void onSignal(RedisLocks locks) {
        if (done.getCount() == 0) {
            return;
        }
        ChildGroup running = signalled();
        if (running == null) {
            // This process is waiting for the lock: remove it from the queue.
            locks.close();
            return;
        }
        try {
            running.terminate();
        } finally {
            // Wait even after an exception: this process must not end before the command.
            awaitDone();
        }
    }

    private void awaitDone() {
        try {
            done.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private PrintWriter err() {
        return spec.commandLine().getErr();
    }
}
