package io.github.redislocks.testkit;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.engine.LockClient;
import io.github.redislocks.redis.Redis;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** What the package of {@link RedisLocks} keeps to itself: how a client is made on another Redis, and what it is of. */
final class Insides {

    private static final MethodHandle BUILD = method(
            RedisLocks.Builder.class, "build", MethodType.methodType(RedisLocks.class, Redis.class, Clock.class));
    private static final MethodHandle CLIENT =
            method(RedisLocks.class, "client", MethodType.methodType(LockClient.class));

    private Insides() {}

    private static MethodHandle method(Class<?> owner, String name, MethodType type) {
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup()).findVirtual(owner, name, type);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("The test kit and the library are of different versions", e);
        }
    }

    static RedisLocks build(RedisLocks.Builder builder, Redis redis, Clock clock) {
        try {
            return (RedisLocks) BUILD.invokeExact(builder, redis, clock);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    static LockClient client(RedisLocks locks) {
        try {
            return (LockClient) CLIENT.invokeExact(locks);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
