package io.github.redislocks.bench;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import redis.clients.jedis.Jedis;

/** Another client, which sends a PING now and then. */
public final class Pinger {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
    private static final int WARM_UP = 500;

    private Pinger() {}

    /** Measures the times of PINGs, in ns, for the given time. */
    public static Histogram ping(Server server, long nanos) {
        return ping(server, nanos, PAUSE_NANOS);
    }

    /** Measures the times of PINGs that follow each other at once: the time of a round trip. */
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
