package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The event of {@link LockListener#outageBegan} and {@link LockListener#outageEnded}: a period in which Redis does not
 * answer.
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

    /** The name of the server, as in the log. */
    public String server() {
        return server;
    }

    /** The message of the failure of the last request. */
    public String failure() {
        return failure;
    }

    /** How long the outage has lasted until this event, counted from the sending of the first failed request. */
    public Duration lasted() {
        return lasted;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(Map.entry("server", server), Map.entry("failure", failure), Map.entry("lasted", lasted));
    }
}
