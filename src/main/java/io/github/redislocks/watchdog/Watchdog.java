package io.github.redislocks.watchdog;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.health.Availability;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.Redis;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The scheduler of a client. Renewals of holds, heartbeats of waiters and pending commands are sent in batches; losses
 * are declared at the deadlines of the holds. One thread watches the deadlines and never waits for Redis. A
 * {@link BatchSender} for each server sends the jobs that are due, so that a hanging server delays neither the
 * declaration of a loss nor the batch of another server.
 *
 * <p>Nothing is scheduled for a single hold: the thread inspects all tasks and sleeps until the earliest time that a
 * task has named. A lock that is released within the first third of its lease costs the watchdog nothing.
 */
public final class Watchdog {

    /** The pause before the next sweep after an error, such as a full heap or a server that gets no thread. */
    static final long AGAIN_NANOS = 100_000_000;

    /**
     * The longest time between two sweeps while any task has named a time. A sweep rescues the holds and attempts that
     * errors have stranded: the thread that met the error may have been unable to wake the watchdog.
     */
    static final long LOOK_NANOS = 2_000_000_000;

    /** The time after which a sender without work ends, since its server may be gone. */
    private static final long IDLE_NANOS = 60_000_000_000L;

    private final Clock clock;
    private final Redis redis;
    private final MonitoredRedis monitored;
    private final long commandTimeoutNanos;
    /** Set before the start. */
    private volatile List<Task> tasks = List.of();
    /** Set before the start. */
    private volatile @Nullable Ping ping;

    private final Queue<PendingCommand> commands = new ConcurrentLinkedQueue<>();
    /** Whether commands are given up, since the senders are closed. */
    private volatile boolean givesUp;
    /** How many commands were ever added. */
    private final AtomicLong added = new AtomicLong();
    /** The senders by server. Only the scheduler changes the map. */
    private final ConcurrentMap<String, BatchSender> senders = new ConcurrentHashMap<>();

    private final Threads threads;
    private final DutyLoop scheduler;
    private final AtomicLong wakeAtNanos = new AtomicLong(Long.MAX_VALUE);
    /** Written by the scheduler only. */
    private volatile long restUntilNanos;
    /** When the next sweep is due; {@link Long#MAX_VALUE} while no task names a time. Written by the scheduler only. */
    private volatile long lookAtNanos = Long.MAX_VALUE;

    public Watchdog(Clock clock, Redis redis, MonitoredRedis monitored, long commandTimeoutNanos, Threads threads) {
        this.threads = threads;
        this.scheduler = new DutyLoop(threads, "watchdog", this::turn);
        this.clock = clock;
        this.redis = redis;
        this.monitored = monitored;
        this.commandTimeoutNanos = commandTimeoutNanos;
    }

    /** Sets the tasks, without starting the thread. */
    public void lookAfter(Ping wantedPing, List<Task> wanted) {
        ping = wantedPing;
        List<Task> all = new ArrayList<>(wanted);
        all.add(this::inspectCommands);
        tasks = List.copyOf(all);
    }

    /** Starts to look after these tasks and the pending commands. If a job relies on messages, a sender pings. */
    public void start(Ping wantedPing, List<Task> wanted) {
        lookAfter(wantedPing, wanted);
        scheduler.start();
    }

    /** Makes the watchdog inspect its tasks now. */
    public void wakeNow() {
        wakeAt(0);
    }

    /** Makes the watchdog inspect its tasks at this time at the latest. */
    public void wakeAt(long nanos) {
        long planned = wakeAtNanos.get();
        while (nanos < planned) {
            if (wakeAtNanos.compareAndSet(planned, nanos)) {
                scheduler.wake();
                return;
            }
            planned = wakeAtNanos.get();
        }
    }

    /** Runs a pending command, at once if possible; from then on the watchdog repeats the command until it is done. */
    public void run(PendingCommand command) {
        // Begin first: the scheduler skips a command that has begun, so that it is not sent twice.
        command.begin();
        boolean sent = false;
        try {
            commands.add(command);
            // Count the command after adding it: a reader that starts with this count finds the command. If it were
            // counted first, a reader could miss the command and see no further change of the count.
            added.incrementAndGet();
            BatchSender sender = senders.get(redis.serverOf(command.key()));
            sent = sender != null && command.need() == PendingCommand.Need.NOW && sender.sendNow(command);
        } finally {
            if (!sent) {
                command.end();
                command.hasten();
                wakeAt(0);
            }
        }
        // Check after adding the command: giveUp() either saw the command, or set the flag early enough for this check.
        if (givesUp) {
            giveUp(command);
        }
    }

    /** All pending commands; some may be done. */
    public Iterable<PendingCommand> commands() {
        return commands;
    }

    /** Sends a pending command at once, without waiting for its next try. */
    public void hasten(PendingCommand command) {
        command.hasten();
        wakeAt(0);
    }

    /**
     * Whether a pending command can be sent now to a server that answers at present, or that has not failed a request
     * sent since {@code sinceNanos}.
     */
    public boolean hasCommands(long sinceNanos) {
        long before;
        boolean any;
        do {
            before = added.get();
            any = seesCommands(sinceNanos);
            // Look again if a command was added meanwhile: the iterator may have passed the end of the queue, where the
            // new command is.
        } while (!any && added.get() != before);
        return any;
    }

    private boolean seesCommands(long sinceNanos) {
        long now = clock.nanoTime();
        for (PendingCommand command : commands) {
            if (!command.isDone() && command.need() == PendingCommand.Need.NOW) {
                Availability server = monitored.of(command.key());
                if (server.age(now) == 0 || !server.failedSince(sinceNanos)) {
                    return true;
                }
            }
        }
        return false;
    }

    private long inspectCommands(long now, long horizon, Batch due) {
        long next = Long.MAX_VALUE;
        for (Iterator<PendingCommand> all = commands.iterator(); all.hasNext(); ) {
            PendingCommand command = all.next();
            if (command.isUnderWay()) {
                continue;
            }
            if (command.isDue(now)) {
                due.add(command.key(), command);
            }
            if (command.isDone()) {
                all.remove();
            } else if (command.nextTryNanos() > now) {
                next = Math.min(next, command.nextTryNanos());
            }
        }
        return next;
    }

    private void turn() {
        long now = clock.nanoTime();
        long wakeAt = wakeAtNanos.get();
        if (wakeAt == Long.MAX_VALUE || lookAtNanos == Long.MAX_VALUE) {
            lookAtNanos = wakeAt == Long.MAX_VALUE ? wakeAt : now + LOOK_NANOS;
        }
        long walkAt = walkAtNanos();
        if (walkAt > now) {
            clock.parkUntil(this, walkAt);
            return;
        }
        lookAtNanos = now + LOOK_NANOS;
        // Reset the time before the inspection: a thread that adds something during the inspection sets it again.
        wakeAtNanos.set(Long.MAX_VALUE);
        long next = now + AGAIN_NANOS;
        try {
            long restNanos = restNanos();
            restUntilNanos = now + restNanos;
            next = sweep(now, restNanos);
        } finally {
            wakeAt(next);
        }
    }

    private long walkAtNanos() {
        return Math.min(Math.max(wakeAtNanos.get(), restUntilNanos), lookAtNanos);
    }

    private long restNanos() {
        long longest = 0;
        for (Task task : tasks) {
            longest = Math.max(longest, task.restNanos());
        }
        return clock.restOf(longest);
    }

    /** Inspects all tasks once; returns the time at which the next job is due. */
    private long sweep(long now, long restNanos) {
        long next = new Sweep(clock, this, ping().channel(), restNanos).over(tasks, now + restNanos);
        retire();
        return next;
    }

    private Ping ping() {
        return Objects.requireNonNull(ping, "Not started");
    }

    /** The sender for the server of a key; null if this sweep has already failed to start that sender. */
    @Nullable
    public BatchSender sender(String key, Set<String> withoutSender) {
        String server = redis.serverOf(key);
        BatchSender known = senders.get(server);
        if (known != null || !withoutSender.add(server)) {
            return known;
        }
        BatchSender made =
                new BatchSender(clock, redis, monitored, commandTimeoutNanos, ping(), this::wakeNow, threads, server);
        // Not null until putIfAbsent() returns: the finally block then closes the new sender after an error.
        BatchSender other = made;
        try {
            made.start();
            other = senders.putIfAbsent(server, made);
        } finally {
            if (other != null || scheduler.isClosed()) {
                made.close();
            }
        }
        return other == null ? made : other;
    }

    private void retire() {
        if (senders.size() > 1) {
            long now = clock.nanoTime();
            for (Iterator<BatchSender> all = senders.values().iterator(); all.hasNext(); ) {
                BatchSender sender = all.next();
                if (sender.isIdle() && now - sender.usedNanos() > IDLE_NANOS) {
                    all.remove();
                    sender.close();
                }
            }
        }
    }

    /** Whether nothing is due and no sender is busy. */
    public boolean isIdle() {
        if (walkAtNanos() <= clock.nanoTime()) {
            return false;
        }
        for (BatchSender sender : senders.values()) {
            if (!sender.isIdle()) {
                return false;
            }
        }
        return true;
    }

    /** Stops all threads; requests under way fail when the connections are closed. */
    public void close() {
        scheduler.close();
        for (BatchSender sender : senders.values()) {
            sender.close();
        }
    }

    /** Gives up the pending commands that are left after {@link #close}. */
    public void giveUp() {
        givesUp = true;
        commands.forEach(this::giveUp);
    }

    /** Gives a command up, unless it is done or given up already. */
    private void giveUp(PendingCommand command) {
        if (commands.remove(command) && !command.isDone()) {
            command.giveUp();
        }
    }

    public List<Thread> threads() {
        List<Thread> threads = new ArrayList<>(List.of(scheduler.thread()));
        for (BatchSender sender : senders.values()) {
            threads.add(sender.thread());
        }
        return threads;
    }
}
