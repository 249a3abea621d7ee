package io.github.redislocks.redis.topology;

import io.github.redislocks.concurrent.TroubleNews;
import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.Endpoint;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;

/**
 * A server that is asked what it knows about a topology, and the result of the last question. Guarded by the watch's
 * lock.
 */
public final class Observer {

    public final HostAndPort address;
    public final Endpoint endpoint;
    public final ConnectionPool connection;

    private final TroubleNews news = new TroubleNews();
    /** Whether a question is under way; also read without the lock. */
    private volatile boolean asked;

    private boolean due = true;
    private long endedNanos;
    private @Nullable String trouble;
    private @Nullable RuntimeException thrown;

    Observer(HostAndPort address, Endpoint endpoint, ConnectionPool connection) {
        this.address = address;
        this.endpoint = endpoint;
        this.connection = connection;
    }

    void begin() {
        asked = true;
        due = false;
    }

    /**
     * Notes that the question has ended, whatever its result. Allocates nothing, so it cannot fail for want of memory.
     */
    void end() {
        asked = false;
    }

    void answered(long now) {
        asked = false;
        endedNanos = now;
        trouble = null;
        thrown = null;
        news.end();
    }

    void failed(String why, @Nullable RuntimeException what, long now) {
        asked = false;
        endedNanos = now;
        trouble = why;
        thrown = what;
    }

    boolean isToBeTold(long now) {
        return news.isToBeTold(now, now);
    }

    public boolean isAsked() {
        return asked;
    }

    /** Makes the next question due as soon as the current one has ended, without a pause. */
    public void hurry() {
        due = true;
    }

    /** The nanoseconds until the next question is due, given the pause after the last reply; 0 for at once. */
    public long dueInNanos(long pauseNanos, long now) {
        return due ? 0 : Math.max(0, endedNanos + pauseNanos - now);
    }

    /** Why the last question got no usable reply; null if it got one, or if there was no question yet. */
    @Nullable
    public String trouble() {
        return trouble;
    }

    /** What the last question threw, or null. */
    @Nullable
    RuntimeException thrown() {
        return thrown;
    }
}
