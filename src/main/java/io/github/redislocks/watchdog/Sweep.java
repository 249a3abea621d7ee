package io.github.redislocks.watchdog;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Steps;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An inspection of all tasks of the {@link Watchdog}, which gives each {@link BatchSender} the jobs that are due. If a
 * task or sender throws an error, the sweep goes on with the others and throws the error at its end.
 */
public final class Sweep implements Batch {

    /** A sender may get at least this many pending commands in a sweep. Renewals wait behind them. */
    private static final int FEW_COMMANDS = 256;
    /**
     * About the time that one command takes. A sender gets no more commands in a sweep than it can send while the
     * watchdog rests after the sweep.
     */
    private static final long COMMAND_NANOS = 100_000;

    private final Clock clock;
    private final Watchdog watchdog;
    private final String pinged;
    private final long mostCommands;
    private final Map<BatchSender, Due> due = new LinkedHashMap<>();
    private final Set<String> withoutSender = new HashSet<>();
    private long nextNanos = Long.MAX_VALUE;

    /** {@code pinged} is the channel for pings; the watchdog rests for {@code restNanos} after the sweep. */
    public Sweep(Clock clock, Watchdog watchdog, String pinged, long restNanos) {
        this.clock = clock;
        this.watchdog = watchdog;
        this.pinged = pinged;
        this.mostCommands = Math.max(FEW_COMMANDS, restNanos / COMMAND_NANOS);
    }

    /** Inspects all tasks once and sends what is due; returns the time at which something is due next. */
    public long over(List<Task> tasks, long horizon) {
        try {
            Steps.forEach(
                    tasks, task -> nextNanos = Math.min(nextNanos, task.inspect(clock.nanoTime(), horizon, this)));
        } finally {
            send();
        }
        return nextNanos;
    }

    @Override
    public void add(String key, Job job) {
        BatchSender sender = sender(key);
        if (sender != null && sender.isFree()) {
            add(sender, job);
        }
    }

    /**
     * The sender for the server of a key. Null if no thread can be started for the sender now: the error is logged and
     * not thrown, so that other servers still get their jobs.
     */
    private @Nullable BatchSender sender(String key) {
        try {
            return watchdog.sender(key, withoutSender);
        } catch (Throwable e) {
            Loggers.INTERNAL.error("The watchdog has no thread to send to the server of {}", key, e);
            watchdog.wakeAt(clock.nanoTime() + Watchdog.AGAIN_NANOS);
            return null;
        }
    }

    private void add(BatchSender sender, Job job) {
        Due known = due.get(sender);
        if (known == null) {
            known = new Due();
            due.put(sender, known);
        }
        known.add(job);
    }

    /** The jobs for one sender. */
    private final class Due {

        final List<Job> jobs = new ArrayList<>();
        private int commands;

        void add(Job job) {
            // Leave out further commands: they are due again when the sender is free.
            if (!(job instanceof PendingCommand) || commands++ < mostCommands) {
                jobs.add(job);
            }
        }
    }

    /** Gives each sender its jobs. A job that no sender takes is due again in the next sweep. */
    private void send() {
        BatchSender pinger = pinger();
        Steps.forEach(due.entrySet(), each -> each.getKey().send(each.getValue().jobs, each.getKey() == pinger));
    }

    /** The sender that also pings the mailbox; null if no ping is wanted or possible. */
    private @Nullable BatchSender pinger() {
        BatchSender pinger = isPingWanted() ? sender(pinged) : null;
        if (pinger != null && pinger.isFree() && !due.containsKey(pinger)) {
            due.put(pinger, new Due());
        }
        return pinger;
    }

    private boolean isPingWanted() {
        for (Due each : due.values()) {
            for (Job job : each.jobs) {
                if (job.wantsPing()) {
                    return true;
                }
            }
        }
        return false;
    }
}
