package io.github.redislocks;

import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;

/** The in-memory twins of Redis that all states of a test share, with clients. */
final class OnTwin {

    private static final AtomicLong NAMES = new AtomicLong();

    private OnTwin() {}

    /** A twin with the clock of this machine and two clients with background work, as of two JVMs. */
    static final class Live {
        static final InMemoryRedis SERVER = new InMemoryRedis();
        static final RedisLocks HERE = client(redis -> redis);
        static final RedisLocks THERE = client(redis -> redis);

        private Live() {}

        /** A client whose Redis may be tampered with. */
        static RedisLocks client(UnaryOperator<Redis> tampering) {
            return RedisLocks.on(tampering.apply(SERVER.another()), Settings.DEFAULTS, List.of(), Clock.SYSTEM);
        }

        static void forget(String name) {
            OnTwin.forget(SERVER, name);
        }
    }

    /** A twin whose clock stands still, for clients whose clock and watchdog an actor moves. */
    static final class Still {
        static final InMemoryRedis SERVER = new InMemoryRedis(() -> 1_790_000_000_000_000L);
        private static final Reply CHECKED =
                SERVER.run(Inspections.check(Settings.DEFAULT_KEY_PREFIX, "redis-locks:mailbox:check"), 1_000_000_000);

        private Still() {}

        /** Makes a client without a watchdog. */
        static LockClient client(HandClock clock) {
            return client("client", clock, SERVER);
        }

        /** Makes a client without background work and with its own connection. The caller must close it. */
        static LockClient client(String id, HandClock clock, UnaryOperator<Redis> tampering) {
            LockClient client = client(id, clock, tampering.apply(SERVER.another()));
            // Makes the parts that send what callers leave to the background.
            Inside inside = Inside.of(client);
            inside.watchdog().lookAfter(inside.mailbox(), List.of());
            inside.watchdog().sender(inside.mailbox().channel(), new HashSet<>());
            return client;
        }

        private static LockClient client(String id, HandClock clock, Redis redis) {
            LockClient client = new LockClient(id, Settings.DEFAULTS, List.of(), clock, redis, Threads.DAEMONS);
            Inside.of(client).serverTimes().saw(redis.address(), CHECKED, clock.nanoTime());
            return client;
        }

        static void forget(String name) {
            OnTwin.forget(SERVER, name);
        }
    }

    /** Two clients without a watchdog, as of two JVMs, for all states of a test. They have no heartbeats. */
    static final class Hand {
        static final HandClock CLOCK = new HandClock();
        static final LockClient HERE = Still.client("here", CLOCK, redis -> redis);
        static final LockClient THERE = Still.client("there", CLOCK, redis -> redis);

        private Hand() {}
    }

    /**
     * Two clients with background work, as of two JVMs, with a slow clock: a heartbeat comes too late to replace a lost
     * wake-up. The clock of the twin stands still, so nothing in the twin expires.
     */
    static final class Slow {
        /** How long a test waits for what needs no heartbeat: shorter than the time of a heartbeat. */
        static final Duration LIMIT = Duration.ofSeconds(12);

        private static final int SLOWER = 10;
        private static final Clock CLOCK = new Clock() {
            private final long origin = System.nanoTime() - SLOWER;

            @Override
            public long nanoTime() {
                return (System.nanoTime() - origin) / SLOWER;
            }

            @Override
            public void park(Object blocker, long nanos) {
                if (nanos == Long.MAX_VALUE) {
                    LockSupport.park(blocker);
                } else {
                    LockSupport.parkNanos(blocker, nanos > Long.MAX_VALUE / SLOWER ? Long.MAX_VALUE : nanos * SLOWER);
                }
            }
        };

        static final RedisLocks HERE = client(redis -> redis);
        static final RedisLocks THERE = client(redis -> redis);

        private Slow() {}

        /** A client whose Redis may be tampered with. */
        static RedisLocks client(UnaryOperator<Redis> tampering) {
            return RedisLocks.on(tampering.apply(Still.SERVER.another()), Settings.DEFAULTS, List.of(), CLOCK);
        }
    }

    /** Removes what a lock leaves in the twin, so that the twin does not grow. */
    private static void forget(InMemoryRedis server, String name) {
        keys(name).all().forEach(server::del);
    }

    /** Returns a name that no other state has. */
    static String name() {
        return "n" + NAMES.incrementAndGet();
    }

    static LockKeys keys(String name) {
        return LockKeys.of(Settings.DEFAULT_KEY_PREFIX, name);
    }

    static String key(String name) {
        return keys(name).lock();
    }
}
