package io.github.redislocks.redis.topology;

import io.github.redislocks.concurrent.TroubleNews;
import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.Endpoint;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;

/** A server that is asked for what it knows of a topology, and how that went last. Guarded by the watch's lock. */
public final class Observer {

    public final HostAndPort address;
    public final Endpoint endpoint;
    public final ConnectionPool connection;

    private final TroubleNews news = new TroubleNews();
    /** Whether it is being asked; also read without the lock. */
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

    /** The question is over, whatever came of it. Makes nothing, so it succeeds without memory. */
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

    /** Has it asked as soon as it is free, whatever its pause. */
    public void hurry() {
        due = true;
    }

    /** In how many ns it is to be asked again, so long after its last answer; 0 at once. */
    public long dueInNanos(long pauseNanos, long now) {
        return due ? 0 : Math.max(0, endedNanos + pauseNanos - now);
    }

    /** Why it gave no answer when it was asked last; null if it did, or was not asked yet. */
    @Nullable
    public String trouble() {
        return trouble;
    }

    /** What it threw then, if anything. */
    @Nullable
    RuntimeException thrown() {
        return thrown;
    }
}
