package io.github.redislocks;

import io.github.redislocks.fixture.twin.InMemoryRedis;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

/** The in-memory twins of Redis that all states of a test share, and clients of them. */
final class OnTwin {

    private static final AtomicLong NAMES = new AtomicLong();

    private OnTwin() {}

    /** A twin by the clock of this machine, with two clients that do their background work, as two JVMs have. */
    static final class Live {
        static final InMemoryRedis SERVER = new InMemoryRedis();
        static final RedisLocks HERE = client(redis -> redis);
        static final RedisLocks THERE = client(redis -> redis);

        private Live() {}

        /** A client whose Redis may be tampered with. */
        static RedisLocks client(UnaryOperator<Redis> tampering) {
            return RedisLocks.on(tampering.apply(SERVER.another()), LockOptions.DEFAULTS, null, Clock.SYSTEM);
        }

        static void forget(String name) {
            OnTwin.forget(SERVER, name);
        }
    }

    /** A twin whose time stands still, for clients whose time and watchdog are moved by an actor. */
    static final class Still {
        static final InMemoryRedis SERVER = new InMemoryRedis(() -> 1_790_000_000_000_000L);
        private static final Reply CHECKED =
                SERVER.run(Protocol.check(LockOptions.DEFAULT_KEY_PREFIX, "redis-locks:mailbox:check"), 1_000_000_000);

        private Still() {}

        /** A client without a watchdog. */
        static Client client(HandClock clock) {
            return client("client", clock, SERVER);
        }

        /** A client that nothing but its callers moves, with a connection of its own; to be closed. */
        static Client client(String id, HandClock clock, UnaryOperator<Redis> tampering) {
            Client client = client(id, clock, tampering.apply(SERVER.another()));
            // Sends what callers leave behind.
            client.watchdog.prepare(client.mailbox.channel());
            return client;
        }

        private static Client client(String id, HandClock clock, Redis redis) {
            Client client = new Client(id, LockOptions.DEFAULTS, null, clock, redis);
            client.serverTimes.saw(redis.address(), CHECKED, clock.nanoTime());
            return client;
        }

        static void forget(String name) {
            OnTwin.forget(SERVER, name);
        }
    }

    /** Two clients without a watchdog, as two JVMs have, for all states of a test: no heartbeat helps them. */
    static final class Hand {
        static final HandClock CLOCK = new HandClock();
        static final Client HERE = Still.client("here", CLOCK, redis -> redis);
        static final Client THERE = Still.client("there", CLOCK, redis -> redis);

        private Hand() {}
    }

    /** Removes what a lock leaves behind, so that the twin does not grow. */
    private static void forget(InMemoryRedis server, String name) {
        keys(name).all().forEach(server::del);
    }

    /** A name that no other state has. */
    static String name() {
        return "n" + NAMES.incrementAndGet();
    }

    static Keys keys(String name) {
        return Keys.of(LockOptions.DEFAULT_KEY_PREFIX, name);
    }

    static String key(String name) {
        return keys(name).lock();
    }
}
