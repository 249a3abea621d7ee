package io.github.redislocks;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A time in which Redis does not answer: {@link LockListener#outageBegan} and {@link LockListener#outageEnded}.
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

    /** The server, as the log calls it. */
    public String server() {
        return server;
    }

    /** What the last request met. */
    public String failure() {
        return failure;
    }

    /** How long the outage has lasted so far, counted from when the first request of it was sent. */
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
        return "RedisOutage[server=" + server + ", failure=" + failure + ", lasted=" + lasted + ']';
    }
}
