package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A period in which Redis does not answer: {@link LockListener#outageBegan} and {@link LockListener#outageEnded}.
 *
 * <pre>{@code
 * public void outageBegan(RedisOutage outage) {
 *     alarms.add(outage.server() + " does not answer: " + outage.failure());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class RedisOutage {

    private final String server;
    private final String failure;
    private final Duration lasted;

    private RedisOutage(String server, String failure, Duration lasted) {
        this.server = Objects.requireNonNull(server, "server");
        this.failure = Objects.requireNonNull(failure, "failure");
        this.lasted = Objects.requireNonNull(lasted, "lasted");
    }

    /** An event as the library reports it; for tests of listeners. */
    public static RedisOutage of(String server, String failure, Duration lasted) {
        return new RedisOutage(server, failure, lasted);
    }

    /** The server as named in the log. */
    public String server() {
        return server;
    }

    /** The failure of the last request. */
    public String failure() {
        return failure;
    }

    /** How long the outage has lasted so far, counted from the sending of the first request that failed. */
    public Duration lasted() {
        return lasted;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RedisOutage that
                && server.equals(that.server)
                && failure.equals(that.failure)
                && lasted.equals(that.lasted);
    }

    @Override
    public int hashCode() {
        return Objects.hash(server, failure, lasted);
    }

    @Override
    public String toString() {
        return "RedisOutage[server=" + server + ", failure=" + failure + ", lasted=" + Shown.of(lasted) + ']';
    }
}
