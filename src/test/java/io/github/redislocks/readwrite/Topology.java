package io.github.redislocks.readwrite;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.SentinelServers;
import io.github.redislocks.testkit.InMemoryLocks;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A Redis that has read-write locks. All but the one in memory need processes, and are skipped where none may start.
 */
enum Topology {
    IN_MEMORY(null),
    SINGLE_SERVER(() -> RedisServers.shared().uri()),
    SENTINEL(() -> SentinelServers.shared().uri()),
    CLUSTER(() -> ClusterServers.shared().uri());

    @SuppressWarnings("ImmutableEnumChecker") // A constant.
    private final @Nullable Supplier<String> uri;

    Topology(@Nullable Supplier<String> uri) {
        this.uri = uri;
    }

    Clients open() {
        return new Clients(uri == null ? InMemoryLocks.start() : null);
    }

    /** Two clients, which stand for two JVMs. */
    final class Clients implements AutoCloseable {

        private final @Nullable InMemoryLocks memory;
        final RedisLocks here;
        final RedisLocks there;

        private Clients(@Nullable InMemoryLocks memory) {
            this.memory = memory;
            here = connect();
            there = connect();
        }

        RedisLocks connect() {
            return memory == null ? RedisLocks.connect(uri.get()) : memory.newClient();
        }

        @Override
        public void close() {
            here.close();
            there.close();
            if (memory != null) {
                memory.close();
            }
        }
    }
}
