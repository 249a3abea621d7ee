package io.github.redislocks.watchdog;

import io.github.redislocks.concurrent.Clock;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One walk of the {@link Watchdog} over all its tasks, which gives each {@link BatchSender} the jobs that are due. An
 * error on the way is kept until the walk is over, since logging it at once might prevent the rest.
 */
public final class Sweep implements Batch {

    /** How many pending commands a sender gets at once, at least: renewals wait for no more of them. */
    private static final int FEW_COMMANDS = 256;
    /** How long a command may take. So those of one walk take no longer than the watchdog rests after it. */
    private static final long COMMAND_NANOS = 100_000;

    private final Clock clock;
    private final Watchdog watchdog;
    private final String pinged;
    private final long mostCommands;
    private final Map<BatchSender, Due> due = new LinkedHashMap<>();
    private final Set<String> withoutSender = new HashSet<>();
    private @Nullable Throwable trouble;

    /** Makes a walk, after which the watchdog rests; {@code pinged} is the channel to which a ping is sent. */
    public Sweep(Clock clock, Watchdog watchdog, String pinged, long restNanos) {
        this.clock = clock;
        this.watchdog = watchdog;
        this.pinged = pinged;
        this.mostCommands = Math.max(FEW_COMMANDS, restNanos / COMMAND_NANOS);
    }

    /** Inspects all tasks once and sends what is due; returns the time at which something is due next. */
    public long over(List<Task> tasks, long horizon) {
        long next = Long.MAX_VALUE;
        for (Task task : tasks) {
            try {
                next = Math.min(next, task.inspect(clock.nanoTime(), horizon, this));
            } catch (Throwable e) {
                trouble = e;
            }
        }
        send();
        return next;
    }

    /** The last error on the way, or null. */
    @Nullable
    public Throwable trouble() {
        return trouble;
    }

    @Override
    public void add(String key, Job job) {
        BatchSender sender = null;
        try {
            sender = watchdog.sender(key, withoutSender);
        } catch (Throwable e) {
            // For instance no thread could be started for one server; jobs for other servers still have to be sent.
            trouble = e;
        }
        if (sender != null && sender.isFree()) {
            add(sender, job);
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

    /** What one sender is given. */
    private final class Due {

        final List<Job> jobs = new ArrayList<>();
        private int commands;

        void add(Job job) {
            // What is left is due when the sender is free again.
            if (!(job instanceof PendingCommand) || commands++ < mostCommands) {
                jobs.add(job);
            }
        }
    }

    /** Gives each sender its jobs. A job that no sender takes has not begun, and is due again in the next walk. */
    private void send() {
        BatchSender pinger = null;
        try {
            pinger = pinger();
        } catch (Throwable e) {
            trouble = e;
        }
        for (Map.Entry<BatchSender, Due> each : due.entrySet()) {
            BatchSender sender = each.getKey();
            try {
                sender.send(each.getValue().jobs, sender == pinger);
            } catch (Throwable e) {
                trouble = e;
            }
        }
    }

    /** The sender that also sends a ping to the mailbox; null if no ping is wanted or possible. */
    private @Nullable BatchSender pinger() {
        BatchSender pinger = isPingWanted() ? watchdog.sender(pinged, withoutSender) : null;
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
