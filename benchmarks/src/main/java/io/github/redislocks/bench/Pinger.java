package io.github.redislocks.bench;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import redis.clients.jedis.Jedis;

/** Another client, which asks for nothing but an answer, now and then. */
public final class Pinger {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
    private static final int WARM_UP = 500;

    private Pinger() {}

    /** The times of its requests, in ns, for a while. */
    public static Histogram ping(Server server, long nanos) {
        return ping(server, nanos, PAUSE_NANOS);
    }

    /** The times of requests that follow each other at once: of a bare round trip. */
    public static Histogram pingAtOnce(Server server, long nanos) {
        return ping(server, nanos, 0);
    }

    private static Histogram ping(Server server, long nanos, long pauseNanos) {
        Histogram times = new Histogram(3);
        try (Jedis jedis = server.connection()) {
            for (int i = 0; i < WARM_UP; i++) {
                jedis.ping();
            }
            long end = System.nanoTime() + nanos;
            for (long now = System.nanoTime(); now < end; now = System.nanoTime()) {
                jedis.ping();
                times.recordValue(System.nanoTime() - now);
                if (pauseNanos > 0) {
                    LockSupport.parkNanos(pauseNanos);
                }
            }
        }
        return times;
    }
}
