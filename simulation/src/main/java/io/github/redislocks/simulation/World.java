package io.github.redislocks.simulation;

import io.github.redislocks.simulation.boot.Simulated;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A schedule: the seed determines which thread runs next, and at what time. All events are mixed into a hash, so that
 * two runs can be compared.
 *
 * <p>The next thread is chosen uniformly, or by priorities, some of which are lowered during the schedule (PCT:
 * Burckhardt, Kothari, Musuvathi and Nagarakatti, 2010).
 */
final class World implements Simulated.World {

    /** The server's time, in µs, at the start of a schedule. */
    static final long START_MICROS = 1_790_000_000_000_000L;

    static final int CLIENTS = 8;
    /** The time that a reading of the clock takes, so that a loop that only reads the clock ends. */
    private static final long LOOK_NANOS = 40;

    private static final long FOR_EVER = Long.MAX_VALUE / 4;
    private static final ClientPool[] POOLS = new ClientPool[CLIENTS];

    static {
        for (int i = 0; i < CLIENTS; i++) {
            POOLS[i] = new ClientPool(i);
        }
    }

    /** An order to stop a thread: the thread that passes the nth point of one part stands there. */
    private static final class Stall {
        private final int client;
        private final int place;
        private final int nth;
        private final Runnable run;
        private int passings;

        Stall(int client, int place, int nth, Runnable run) {
            this.client = client;
            this.place = place;
            this.nth = nth;
            this.run = run;
        }
    }

    /** A thread that is ready to run. */
    private record Ready(int client, Fiber fiber, Runnable run) {}

    /** A thread as the scheduler sees it. A thread with a greater priority runs first. */
    private static final class Fiber {
        private final String name;
        private long priority;

        Fiber(String name, long priority) {
            this.name = name;
            this.priority = priority;
        }
    }

    private final long seed;
    private final Thread carrier = Thread.currentThread();
    private final Seeded choices;
    private final Seeded preemption;
    private final Seeded random;
    private final List<Ready> ready = new ArrayList<>();
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(
            Comparator.<Timer>comparingLong(timer -> timer.at).thenComparing(timer -> timer.number));
    private final Map<Object, Fiber> fibers = new IdentityHashMap<>();
    private final long[] pausedUntil = new long[CLIENTS];
    private final long[] pausedNanos = new long[CLIENTS];
    private final long[] drift = new long[CLIENTS];
    private final List<Stall> stalls = new ArrayList<>(4);
    private final Coverage coverage;
    private final Trace trace;
    private final boolean byPriority;
    private final int preemptOneIn;
    private final int[] runnable = new int[4096];
    private Runnable check = () -> {};
    private Fiber running;
    private int runningClient;
    private long now = 1_000_000_000L;
    private long timerNumber;
    private long lowest;
    private long hash = 1125899906842597L;
    private long steps;
    private long points;
    private long preemptions;
    private long foreign;
    private boolean over;
    private String failure;

    /**
     * Makes a world.
     *
     * @param preemptOneIn a thread is preempted at one of this many points; 0 for never
     * @param trace gets all events, or null
     */
    World(long seed, boolean byPriority, int preemptOneIn, Coverage coverage, Trace trace) {
        Seeded seeds = new Seeded(seed);
        this.seed = seed;
        this.choices = seeds.another();
        this.preemption = seeds.another();
        this.random = seeds.another();
        this.byPriority = byPriority;
        this.preemptOneIn = preemptOneIn;
        this.coverage = coverage;
        this.trace = trace;
        for (ClientPool pool : POOLS) {
            pool.isOf(this);
        }
        Jdk.reset(seeds);
        coverage.begins();
        Simulated.begin(this);
    }

    /** Makes a thread of a client, without starting it. */
    Thread thread(int client, String name, Runnable work) {
        Thread thread = Jdk.thread(POOLS[client], name, work, random);
        fibers.put(Jdk.continuation(thread), new Fiber(name, random.next() >>> 1));
        return thread;
    }

    void submit(int client, Object continuation, Runnable run) {
        Thread by = Thread.currentThread();
        if (by != carrier && !by.isVirtual()) {
            // A thread of the JDK resumes this thread, at an unpredictable time: a monitor was contended.
            foreign++;
        }
        Fiber fiber = fibers.get(continuation);
        ready.add(new Ready(client, fiber == null ? new Fiber("?", 0) : fiber, run));
    }

    Timer timer(int client, Runnable run, long localNanos) {
        long nanos = Math.min(localNanos, FOR_EVER);
        long due = now + Math.max(1, nanos - nanos / 1_000_000 * drift[client]);
        Timer timer = new Timer(due, timerNumber++, run);
        timers.add(timer);
        return timer;
    }

    // Time

    /** The true time, which no client knows. */
    long now() {
        return now;
    }

    /** The time by the clock of a client. */
    long now(int client) {
        return now + now * drift[client] / 1_000_000;
    }

    /** Sets by how many millionths the clock of a client is fast. */
    void drift(int client, long millionths) {
        drift[client] = millionths;
    }

    /** Stops all threads of a client for some time. */
    void pause(int client, long nanos) {
        pausedUntil[client] = Math.max(pausedUntil[client], now + nanos);
        pausedNanos[client] += nanos;
    }

    /** Stops one thread of a client for some time: the thread that passes the nth point of the given part. */
    void stall(int client, int place, int nth, long nanos, Runnable begins) {
        stalls.add(new Stall(client, place, nth, () -> {
            begins.run();
            pausedNanos[client] += nanos;
            stand(client, nanos);
        }));
    }

    /** If the time of a thread in {@link #stand} has been over for this long, the thread was kept from running. */
    private static final long LATE = 1_000_000;

    /**
     * Stops the running thread for some time by its client's clock. Keeps permits of unpark and interrupts for later.
     */
    void stand(int client, long nanos) {
        boolean permit = false;
        boolean interrupted = false;
        long until = now(client) + nanos;
        for (long left = nanos; left > 0; left = until - now(client)) {
            LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted();
            long early = until - now(client);
            // A thread that runs late, since its client was paused, may have been unparked after its time was over: the
            // park has used up that permit as well.
            permit |= early > 0 || early < -LATE;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (permit) {
            LockSupport.unpark(Thread.currentThread());
        }
    }

    /** How long a client, or its threads, were stopped so far, at most. */
    long pausedNanos(int client) {
        return pausedNanos[client];
    }

    boolean isPaused(int client) {
        return pausedUntil[client] > now;
    }

    /** Stops all threads of a client for ever. */
    void kill(int client) {
        pausedUntil[client] = Long.MAX_VALUE;
    }

    boolean isKilled(int client) {
        return pausedUntil[client] == Long.MAX_VALUE;
    }

    // Simulated.World

    @Override
    public long nanoTime() {
        if (running != null) {
            now += LOOK_NANOS;
        }
        return now(runningClient);
    }

    @Override
    public long currentTimeMillis() {
        return START_MICROS / 1000 + now / 1_000_000;
    }

    @Override
    public long random() {
        return random.next();
    }

    @Override
    public void point(int place) {
        points++;
        coverage.reached(place);
        for (Stall stall : stalls) {
            if (stall.client == runningClient && stall.place == place && stall.passings++ == stall.nth) {
                stall.run.run();
            }
        }
        if (preemptOneIn > 0 && preemption.oneIn(preemptOneIn)) {
            preemptions++;
            giveWay();
        }
    }

    @Override
    public void giveWay() {
        running.priority = --lowest;
        Thread.yield();
    }

    // Events

    /** Notes an event. */
    void event(String text) {
        for (int i = 0; i < text.length(); i++) {
            mix(text.charAt(i));
        }
        if (trace != null) {
            trace.event(now, running == null ? "" : running.name, text);
        }
    }

    void event(String format, Object... args) {
        event(String.format(format, args));
    }

    /** Notes, for a picture, the result of a call of a process. */
    void log(String process, String actor, String kind, String lock, long number, String what) {
        if (trace != null) {
            trace.log(process, now, actor, kind, lock, number, what);
        }
    }

    /**
     * Notes, for a picture, a fault that begins now.
     *
     * @param process the process that has the fault; empty for all processes
     */
    void logFault(String process, String what, long nanos) {
        if (trace != null) {
            trace.log("nemesis", now, "nemesis", "STRIKE", process, 0, what);
            trace.log("nemesis", now + nanos, "nemesis", "CEASE", process, 0, what);
        }
    }

    /** Notes that the schedule has failed. The first failure counts. */
    void fail(String what) {
        if (failure == null) {
            failure = what;
            event("FAILED: " + what);
        }
    }

    String failure() {
        return failure;
    }

    private void mix(long value) {
        hash = (hash ^ value) * 0x100000001b3L;
        hash ^= hash >>> 29;
    }

    /** Adds a check that runs after each step. */
    void check(Runnable checking) {
        check = checking;
    }

    /** Ends the schedule after this step. */
    void end() {
        over = true;
    }

    /** Runs until {@link #end}, a failure, or the given time. */
    void run(long untilNanos) {
        while (!over && failure == null) {
            fireTimers();
            int count = runnable();
            if (count == 0) {
                if (!jump(untilNanos)) {
                    return;
                }
            } else if (choices.oneIn(400)) {
                // The machine is slow: time passes although threads could run.
                now += choices.between(1_000, 3_000_000);
            } else {
                step(ready.remove(choose(count)));
            }
        }
        Simulated.end();
    }

    private void fireTimers() {
        while (!timers.isEmpty() && timers.peek().at <= now) {
            timers.poll().fire();
        }
    }

    private int runnable() {
        int count = 0;
        for (int i = 0; i < ready.size() && count < runnable.length; i++) {
            if (pausedUntil[ready.get(i).client] <= now) {
                runnable[count++] = i;
            }
        }
        return count;
    }

    private int choose(int count) {
        if (!byPriority) {
            return runnable[count == 1 ? 0 : choices.below(count)];
        }
        int best = runnable[0];
        for (int i = 1; i < count; i++) {
            if (ready.get(runnable[i]).fiber.priority > ready.get(best).fiber.priority) {
                best = runnable[i];
            }
        }
        return best;
    }

    /** Lets time pass until something can happen. */
    private boolean jump(long untilNanos) {
        while (!timers.isEmpty() && timers.peek().isDone()) {
            timers.poll();
        }
        long next = timers.isEmpty() ? Long.MAX_VALUE : timers.peek().at;
        for (Ready each : ready) {
            next = Math.min(next, pausedUntil[each.client]);
        }
        if (next == Long.MAX_VALUE) {
            fail("all threads wait for ever");
        } else if (next > untilNanos) {
            fail("not over in time");
        } else {
            now = Math.max(now, next);
        }
        return failure == null;
    }

    private void step(Ready next) {
        steps++;
        mix(steps * 31 + ready.size());
        mix(now);
        running = next.fiber;
        runningClient = next.client;
        coverage.switched();
        Simulated.running(true);
        next.run.run();
        Simulated.running(false);
        running = null;
        now += 500 + choices.below(4_000);
        check.run();
    }

    /** A line that is the same for all runs of a seed. */
    String summary() {
        return String.format(
                "seed %d hash %016x steps %d points %d preemptions %d virtual %.1f s foreign %d",
                seed, hash, steps, points, preemptions, now / 1e9 - 1, foreign);
    }

    long hash() {
        return hash;
    }

    long steps() {
        return steps;
    }

    long foreign() {
        return foreign;
    }

    /** The timer of a thread that parks with a time limit. */
    static final class Timer implements ScheduledFuture<Object> {

        private final long at;
        private final long number;
        private final Runnable run;
        private boolean cancelled;
        private boolean fired;

        Timer(long at, long number, Runnable run) {
            this.at = at;
            this.number = number;
            this.run = run;
        }

        void fire() {
            if (!cancelled) {
                fired = true;
                run.run();
            }
        }

        @Override
        public boolean cancel(boolean interrupt) {
            boolean first = !isDone();
            cancelled |= first;
            return first;
        }

        @Override
        public boolean isCancelled() {
            return cancelled;
        }

        @Override
        public boolean isDone() {
            return fired || cancelled;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int compareTo(Delayed other) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Object get() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Object get(long time, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }
}
