package io.github.redislocks.client;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.Redis;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The test kit's access to two things that the exported package must not offer to users: a client on any Redis, and the
 * engine of a client. The test kit is a module of its own. This room must not know the types of the exported package,
 * so they are declared as Object here.
 */
public abstract class ClientAccess {

    private static volatile @Nullable ClientAccess instance;

    /** Called by the exported package before it makes its first builder. */
    public static void give(ClientAccess access) {
        instance = access;
    }

    /** Returns the access that the exported package gave. */
    public static ClientAccess get() {
        return Objects.requireNonNull(instance, "no builder was made yet");
    }

    /**
     * Makes a client with the settings of a {@code RedisLocksBuilder}, which names no server.
     *
     * @throws IllegalArgumentException if the builder names a server; then the Redis is closed
     */
    public abstract Object build(Object builder, Redis redis, Clock clock);

    /** Returns the engine of a client, a {@code RedisLocks}. */
    public abstract LockClient engine(Object client);
}
