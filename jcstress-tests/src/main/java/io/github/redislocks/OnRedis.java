package io.github.redislocks;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.fixture.OwnServer;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.connect.RedisUri;
import io.github.redislocks.state.Settings;
import java.util.List;
import java.util.function.UnaryOperator;

/** A redis-server with two clients, as of two JVMs. */
final class OnRedis {

    /** The system property by which {@link Proof} passes the URL of the shared server to the JVMs of the tests. */
    static final String PROPERTY = "redis.url";

    private static final int CONNECTIONS = 8;
    private static final RedisUri SERVER = RedisUri.parse(uri());

    static final RedisLocks HERE = client(redis -> redis);
    static final RedisLocks THERE = client(redis -> redis);

    private OnRedis() {}

    /** Makes a client whose Redis may be tampered with. */
    static RedisLocks client(UnaryOperator<Redis> tampering) {
        return RedisLocks.on(
                tampering.apply(SERVER.open(CONNECTIONS, Settings.DEFAULT_COMMAND_TIMEOUT.toNanos())),
                Settings.DEFAULTS,
                List.of(),
                Clock.SYSTEM);
    }

    /** The URL of the given server, or of a new server that ends with this JVM. */
    private static String uri() {
        String shared = System.getProperty(PROPERTY, OwnServer.given());
        return shared == null ? OwnServer.start().uri() : shared;
    }
}
