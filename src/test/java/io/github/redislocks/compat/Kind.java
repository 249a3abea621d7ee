package io.github.redislocks.compat;

import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServers;
import java.time.Duration;
import java.util.Arrays;
import java.util.UUID;

/** The locks of which every sentence has to be true. The JDK's are among them to show that the tests are right. */
enum Kind {
    JDK(false, 0),
    JDK_FAIR(true, 0),
    REDIS(false, 1),
    REDIS_FAIR(true, 1),
    /** The other threads use another client, as threads of another JVM would. */
    REDIS_BY_TWO_CLIENTS(false, 2),
    REDIS_FAIR_BY_TWO_CLIENTS(true, 2),
    /** Clients keep the lock when no thread has it. */
    RESIDENT(false, 1),
    RESIDENT_BY_TWO_CLIENTS(false, 2);

    final boolean fair;
    final int clients;

    Kind(boolean fair, int clients) {
        this.fair = fair;
        this.clients = clients;
    }

    /** Whether the client keeps the lock, so that its threads wait there and not in Redis. */
    boolean keeps() {
        return name().startsWith("RESIDENT");
    }

    Locks open() {
        return new Locks(this);
    }

    /** A lock, seen by the test's thread and by the threads elsewhere. */
    static final class Locks implements AutoCloseable {

        private final String name = "compat:" + UUID.randomUUID();
        private final Kind kind;
        private final RedisLocks[] clients;
        final Subject here;
        final Subject there;

        private Locks(Kind kind) {
            this.kind = kind;
            clients = new RedisLocks[kind.clients];
            for (int i = 0; i < kind.clients; i++) {
                clients[i] = RedisLocks.builder()
                        .uri(RedisServers.shared().uri())
                        .residency(kind.keeps() ? Duration.ofSeconds(5) : Duration.ZERO)
                        .build();
            }
            here = kind.clients == 0 ? Subject.jdk(kind.fair) : by(clients[0], name);
            there = kind.clients < 2 ? here : by(clients[1], name);
        }

        private Subject by(RedisLocks client, String lockName) {
            return Subject.of(
                    kind.fair
                            ? client.reentrantLock(
                                    lockName, LockOptions.defaults().fair(true))
                            : client.reentrantLock(lockName));
        }

        /** A lock that has nothing to do with this one but its maker. */
        Subject another() {
            return kind.clients == 0 ? Subject.jdk(kind.fair) : by(clients[0], name + ":another");
        }

        /** How many have their place in line; of a plain lock of ours, the threads of a client share one. */
        int places() {
            if (kind.keeps()) {
                return here.getQueueLength() + (kind.clients < 2 ? 0 : there.getQueueLength());
            }
            return kind.clients == 0
                    ? here.getQueueLength()
                    : clients[0].inspect(name).queueLength();
        }

        /** Whether a thread has the lock. What another client keeps, it cannot tell from what a thread there has. */
        boolean isHeld() {
            if (!kind.keeps()) {
                return here.isLocked();
            }
            return Arrays.stream(clients).anyMatch(client -> client.heldNames().contains(name));
        }

        @Override
        public void close() {
            for (RedisLocks client : clients) {
                client.close();
            }
        }
    }
}
