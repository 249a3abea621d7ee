package io.github.redislocks.simulation;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.client.ClientAccess;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.quorum.Quorum;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** A client: the threads of its JVM, its connection, and its holds as the callers know them. */
final class Client {

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

    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration TIMEOUT = Duration.ofMillis(300);
    private static final Duration RETRY_FOR = Duration.ofSeconds(2);
    /** At least as long as the longest lease of a caller. */
    private static final Duration RESTART_DELAY = Duration.ofSeconds(3);

    final int number;
    final Events events;
    final RedisLocks locks;
    private final World world;
    private final LockClient parts;
    private final List<Thread> threads = new ArrayList<>();
    /** The holds that were no longer valid when the simulation last looked. */
    private final List<Hold> over = new ArrayList<>();

    /** When the simulation first saw the present subscription open. */
    private long listensSince = Long.MAX_VALUE;

    private final boolean heard;
    private boolean closed;

    /** Makes a client. Must be called by a thread of that client. */
    Client(Scenario scenario, int number, List<Fault> plan, Options options, Seeded random, Runnable onKill) {
        World world = scenario.world;
        Server server = scenario.server;
        this.world = world;
        this.number = number;
        this.events = new Events(
                world,
                number,
                random.another(),
                options.slowListener(),
                options.resident(),
                server.isQuorum(),
                server.isShared(),
                name -> !scenario.isWithoutFaults() || server.wasBroken(name),
                server::mayRepeatTokens);
        List<Network> networks = new ArrayList<>();
        for (int i = 0; i < server.nodes.size(); i++) {
            Network network = new Network(world, server, i, number, plan, random.another());
            network.onKill(onKill);
            networks.add(network);
        }
        Redis redis = networks.get(0);
        if (server.isQuorum()) {
            Settings settings = Settings.DEFAULTS
                    .withLease(LEASE)
                    .withCommandTimeout(TIMEOUT)
                    .withRetryFor(RETRY_FOR);
            Threads own = Threads.of(this::thread, "c" + number);
            redis = new Quorum(networks, settings, RESTART_DELAY.toMillis(), own, LockSupport::parkNanos);
        }
        RedisLocksBuilder builder = RedisLocks.builder()
                .lease(LEASE)
                .commandTimeout(TIMEOUT)
                .retryFor(RETRY_FOR)
                .connectWithin(Duration.ofSeconds(10))
                .clientName("c" + number)
                .watchDeletions(options.watchDeletions())
                .localReentry(options.localReentry())
                .threadFactory(this::thread);
        // Without a listener, readers enter by a shorter way.
        heard = !server.isShared() || random.below(3) > 0;
        if (heard) {
            builder.listener(events);
        }
        if (options.resident()) {
            builder.residency(Duration.ofMillis(500));
        }
        if (options.maxHold()) {
            builder.maxHold(Duration.ofSeconds(3));
        }
        ClientAccess access = ClientAccess.get();
        this.locks = (RedisLocks) access.build(builder, redis, CLOCK);
        this.parts = access.engine(locks);
    }

    /** The settings of all clients of a schedule. */
    record Options(
            int nodes,
            boolean fair,
            boolean resident,
            boolean localReentry,
            boolean watchDeletions,
            boolean maxHold,
            boolean slowListener) {

        static Options of(Seeded random) {
            int nodes = !random.oneIn(12) ? 1 : random.oneIn(3) ? 5 : 3;
            boolean fair = nodes == 1 && random.oneIn(4);
            boolean maxHold = random.oneIn(8);
            boolean resident = nodes == 1 && !maxHold && !fair && random.oneIn(3);
            boolean watches = nodes == 1 && random.oneIn(4);
            return new Options(nodes, fair, resident, random.oneIn(2), watches, maxHold, random.oneIn(4));
        }
    }

    private Thread thread(Runnable work) {
        Thread thread = world.thread(number, "library", work);
        threads.add(thread);
        return thread;
    }

    /** Closes the client. Holders may go on until the time is over. */
    void close(Duration drain) {
        events.drainsUntil(world.now(number) + drain.toNanos());
        locks.close(drain);
        closed = true;
    }

    @Override
    public String toString() {
        return "c" + number;
    }

    boolean isClosed() {
        return closed;
    }

    /** Whether the client has a listener. */
    boolean isHeard() {
        return heard;
    }

    /** Whether a thread of the client's library is still alive. */
    boolean hasThreads() {
        return threads.stream().anyMatch(Thread::isAlive);
    }

    /**
     * Names what this client still has in memory although none of its threads uses a lock; empty if there is nothing.
     */
    String left() {
        StringBuilder left = new StringBuilder();
        for (Hold hold : parts.holds.all()) {
            if (!hold.isLost()) {
                left.append(" a hold of ").append(hold.keys().name());
            }
        }
        if (parts.localQueue.size() > 0) {
            left.append(" a local turn");
        }
        if (!parts.attempts.isEmpty()) {
            left.append(" an attempt");
        }
        if (parts.watchdog.commands().iterator().hasNext()) {
            left.append(" a command");
        }
        return left.isEmpty() ? "" : "c" + number + " has" + left;
    }

    /** Adds the holds in Redis that are valid by this client's own clock. Fails if a hold has become valid again. */
    void addValid(List<Hold> all) {
        // This runs after each step, and usually there is no hold.
        if (parts.holds.all().isEmpty()) {
            return;
        }
        for (Hold hold : parts.holds.all()) {
            boolean again = isOver(hold);
            // Read the clock after isOver(): the calling thread may be preempted anywhere here, and an older time
            // proves nothing.
            long now = world.now(number);
            if (hold.isValid(now)) {
                all.add(hold);
                if (now > hold.endNanos()) {
                    world.fail(this + " holds " + hold.keys().name() + " for longer than maxHold");
                }
                if (again) {
                    world.fail("c" + number + " has a hold of " + hold.keys().name() + " that is valid again");
                }
            } else if (!again) {
                over.add(hold);
            }
        }
    }

    private boolean isOver(Hold hold) {
        for (Hold each : over) {
            if (each == hold) {
                return true;
            }
        }
        return false;
    }

    /** Whether this client's subscription is open. */
    boolean listens() {
        return parts.mailbox.isOpen();
    }

    /** Notes whether this client's subscription is open. */
    void looked() {
        if (!parts.mailbox.isOpen()) {
            listensSince = Long.MAX_VALUE;
        } else if (listensSince == Long.MAX_VALUE) {
            listensSince = world.now(number);
        }
    }

    /** Whether the subscription has been open since the given time of this client's clock, or longer. */
    boolean hasListenedSince(long nanos) {
        return listensSince < nanos;
    }

    /** Whether an owner belongs to this client. */
    boolean isOwner(String owner) {
        return owner.startsWith(parts.id + ":");
    }

    /** The id of the client, which is the owner of its shares. */
    String id() {
        return parts.id;
    }

    /** Whether the client knows the attempt that has the lock in Redis, or is about to end it there. */
    boolean knows(long attempt) {
        if (parts.attempts.get(attempt) != null
                || parts.watchdog.commands().iterator().hasNext()) {
            return true;
        }
        for (Hold hold : parts.holds.all()) {
            if (hold.attempt == attempt) {
                return true;
            }
        }
        return false;
    }
}
