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
 * One walk of the {@link Watchdog} over all that it looks after, which gives each {@link BatchSender} what is due. An
 * error on the way is kept until all has been looked after, which telling of it might prevent.
 */
public final class Sweep implements Batch {

    private final Clock clock;
    private final Watchdog watchdog;
    private final String pinged;
    private final Map<BatchSender, List<Job>> due = new LinkedHashMap<>();
    private final Set<String> withoutSender = new HashSet<>();
    private @Nullable Throwable trouble;

    /** Pinged: the channel to which a ping is sent. */
    public Sweep(Clock clock, Watchdog watchdog, String pinged) {
        this.clock = clock;
        this.watchdog = watchdog;
        this.pinged = pinged;
    }

    /** Looks after everything once; returns when something is due next. */
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

    /** The last error on the way, if there was one. */
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
            // Such as want of a thread for one server, which is no reason to leave what is due on others.
            trouble = e;
        }
        if (sender != null && sender.isFree()) {
            add(sender, job);
        }
    }

    private void add(BatchSender sender, Job job) {
        List<Job> jobs = due.get(sender);
        if (jobs == null) {
            jobs = new ArrayList<>();
            due.put(sender, jobs);
        }
        jobs.add(job);
    }

    /** Gives each sender what is due. What none takes has not begun, and is found due again. */
    private void send() {
        BatchSender pinger = null;
        try {
            pinger = pinger();
        } catch (Throwable e) {
            trouble = e;
        }
        for (Map.Entry<BatchSender, List<Job>> each : due.entrySet()) {
            BatchSender sender = each.getKey();
            try {
                sender.send(each.getValue(), sender == pinger);
            } catch (Throwable e) {
                trouble = e;
            }
        }
    }

    /** The sender that sends a ping to the mailbox besides; null if no ping is wanted, or possible. */
    private @Nullable BatchSender pinger() {
        BatchSender pinger = isPingWanted() ? watchdog.sender(pinged, withoutSender) : null;
        if (pinger != null && pinger.isFree() && !due.containsKey(pinger)) {
            due.put(pinger, List.of());
        }
        return pinger;
    }

    private boolean isPingWanted() {
        for (List<Job> jobs : due.values()) {
            for (Job job : jobs) {
                if (job.wantsPing()) {
                    return true;
                }
            }
        }
        return false;
    }
}
