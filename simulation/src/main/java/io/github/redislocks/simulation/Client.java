package io.github.redislocks.simulation;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.engine.LockClient;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.state.Hold;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** One client: its JVM's threads, its connection, and what it calls its holds. */
final class Client {

    private static final Method BUILD;
    private static final Method CLIENT;

    static {
        try {
            BUILD = RedisLocks.Builder.class.getDeclaredMethod("build", Redis.class, Clock.class);
            BUILD.setAccessible(true);
            CLIENT = RedisLocks.class.getDeclaredMethod("client");
            CLIENT.setAccessible(true);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("The simulation and the library are of different versions", e);
        }
    }

    private static final Clock CLOCK = new Clock() {
        @Override
        public long nanoTime() {
            return io.github.redislocks.simulation.boot.Simulated.nanoTime();
        }

        @Override
        public void park(Object blocker, long nanos) {
            if (nanos == Long.MAX_VALUE) {
                LockSupport.park(blocker);
            } else {
                LockSupport.parkNanos(blocker, nanos);
            }
        }
    };

    final int number;
    final Events events;
    final RedisLocks locks;
    private final World world;
    private final LockClient parts;
    private final List<Thread> threads = new ArrayList<>();
    private boolean closed;

    /** Makes a client; a thread of that client has to do it. */
    Client(World world, Server server, int number, List<Fault> plan, Options options, Seeded random, Runnable onKill) {
        this.world = world;
        this.number = number;
        this.events = new Events(world, "c" + number, random.another(), options.slowListener(), options.resident());
        Network network = new Network(world, server, number, plan, random);
        network.onKill(onKill);
        RedisLocks.Builder builder = RedisLocks.builder()
                .lease(Duration.ofSeconds(2))
                .commandTimeout(Duration.ofMillis(300))
                .retryFor(Duration.ofSeconds(2))
                .connectWithin(Duration.ofSeconds(10))
                .clientName("c" + number)
                .watchDeletions(options.watchDeletions())
                .localReentry(options.localReentry())
                .listener(events)
                .threadFactory(this::thread);
        if (options.resident()) {
            builder.residency(Duration.ofMillis(500));
        }
        if (options.maxHold()) {
            builder.maxHold(Duration.ofSeconds(3));
        }
        try {
            this.locks = (RedisLocks) BUILD.invoke(builder, network, CLOCK);
            this.parts = (LockClient) CLIENT.invoke(locks);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("The simulation and the library are of different versions", e);
        }
    }

    /** How all clients of a schedule are made. */
    record Options(
            boolean fair,
            boolean resident,
            boolean localReentry,
            boolean watchDeletions,
            boolean maxHold,
            boolean slowListener) {

        static Options of(Seeded random) {
            boolean fair = random.oneIn(4);
            boolean maxHold = random.oneIn(8);
            boolean resident = !maxHold && !fair && random.oneIn(3);
            return new Options(fair, resident, random.oneIn(2), random.oneIn(4), maxHold, random.oneIn(4));
        }
    }

    private Thread thread(Runnable work) {
        Thread thread = world.thread(number, "library", work);
        threads.add(thread);
        return thread;
    }

    void close(Duration drain) {
        locks.close(drain);
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }

    /** Whether a thread of the library still lives. */
    boolean hasThreads() {
        return threads.stream().anyMatch(Thread::isAlive);
    }

    /** The holds in Redis that this client takes for valid, by its own clock. */
    void addValid(List<Hold> all) {
        long now = world.now(number);
        for (Hold hold : parts.holds.all()) {
            if (!hold.isLocal() && hold.isValid(now)) {
                all.add(hold);
            }
        }
    }
}
