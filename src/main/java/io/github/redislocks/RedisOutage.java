package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

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
public final class RedisOutage extends LockEvent {

    private final String server;
    private final String failure;
    private final Duration lasted;

    private RedisOutage(String server, String failure, Duration lasted) {
        this.server = Objects.requireNonNull(server, "server");
        this.failure = Objects.requireNonNull(failure, "failure");
        this.lasted = Objects.requireNonNull(lasted, "lasted");
    }

    /** Makes an event, for tests of listeners. */
    public static RedisOutage of(String server, String failure, Duration lasted) {
        return new RedisOutage(server, failure, lasted);
    }

    /** The server, by the name that it has in the log. */
    public String server() {
        return server;
    }

    /** The failure of the last request. */
    public String failure() {
        return failure;
    }

    /** How long the outage has lasted until this event, counted from when the first failed request was sent. */
    public Duration lasted() {
        return lasted;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(Map.entry("server", server), Map.entry("failure", failure), Map.entry("lasted", lasted));
    }
}
