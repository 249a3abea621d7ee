package io.github.redislocks.client;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.Redis;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Gives the test kit, which is a module of its own, two methods that users must not have: one makes a client on any
 * implementation of Redis, the other returns the engine of a client. Types of the exported package are declared as
 * Object, since this room must not depend on them.
 */
public abstract class ClientAccess {

    private static volatile @Nullable ClientAccess instance;

    /** Sets the access. The exported package calls this before it makes its first builder. */
    public static void give(ClientAccess access) {
        instance = access;
    }

    /** Returns the access that the exported package has set. */
    public static ClientAccess get() {
        return Objects.requireNonNull(instance, "no builder was made yet");
    }

    /**
     * Makes a client with the settings of a {@code RedisLocksBuilder}. The builder must name no server.
     *
     * @throws IllegalArgumentException if the builder names a server; {@code redis} has been closed then
     */
    public abstract Object build(Object builder, Redis redis, Clock clock);

    /** Returns the engine of a client, a {@code RedisLocks}. */
    public abstract LockClient engine(Object client);
}
