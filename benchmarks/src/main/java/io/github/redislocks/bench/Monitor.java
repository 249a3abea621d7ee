package io.github.redislocks.bench;

import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisMonitor;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Counts what a server runs, by {@code MONITOR}, which distinguishes requests of clients from commands of scripts.
 * PING, which keeps connections alive, and INFO, which measures, do not count. {@code MONITOR} slows the server, so
 * nothing is timed while this object counts.
 */
public final class Monitor implements AutoCloseable {

    /**
     * The counts of what ran.
     *
     * @param requests the requests of clients
     * @param scripts the requests among them that run a script
     * @param commands all commands, also those in scripts
     */
    public record Count(long requests, long scripts, long commands) {}

    private static final long PATIENCE_SECONDS = 60;
    /**
     * The commands that do not count: pools send PING in bursts on idle connections, and the measurement sends INFO.
     */
    private static final Pattern APART = Pattern.compile("\"(ping|info)\"", Pattern.CASE_INSENSITIVE);

    private static final Pattern SCRIPT = Pattern.compile("\"(eval|evalsha|fcall)(_ro)?\"", Pattern.CASE_INSENSITIVE);

    private final String mark = UUID.randomUUID().toString();
    private final Jedis marker;
    private final Jedis monitor;
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);

    private long requests;
    private long scripts;
    private long commands;

    /** Starts to count at the first server. */
    public Monitor(Server server) {
        this(server.connection(), server.connection());
    }

    /** Starts to count. Uses two connections to a server, and closes them at the end. */
    public Monitor(Jedis marker, Jedis monitor) {
        this.marker = marker;
        this.monitor = monitor;
        Thread reader = new Thread(this::read, "monitor");
        reader.setDaemon(true);
        reader.start();
        await(begun, "begin");
    }

    /** Stops, and returns what ran since the start. */
    public Count end() {
        await(ended, "end");
        return new Count(requests, scripts, commands);
    }

    /** Sends a mark, and waits until the mark comes back: then everything that ran before it has been counted. */
    private void await(CountDownLatch latch, String name) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        try {
            do {
                marker.echo(mark + name);
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("MONITOR does not " + name);
                }
            } while (!latch.await(10, TimeUnit.MILLISECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted while counting", e);
        }
    }

    private void read() {
        try {
            monitor.monitor(new JedisMonitor() {
                @Override
                public void onCommand(String line) {
                    count(line);
                }
            });
        } catch (JedisException closed) {
            // Ignored: close() has closed the connection.
        }
    }

    /** Counts a line, which is a time, {@code [0 127.0.0.1:40000]} or {@code [0 lua]}, and the command. */
    private void count(String line) {
        if (line.contains(mark)) {
            (line.contains(mark + "begin") ? begun : ended).countDown();
        } else if (begun.getCount() == 0 && ended.getCount() > 0) {
            int origin = line.indexOf("] ");
            if (APART.matcher(line).region(origin + 2, line.length()).lookingAt()) {
                return;
            }
            boolean ofScript = line.startsWith(" lua", origin - 4);
            commands++;
            requests += ofScript ? 0 : 1;
            scripts += SCRIPT.matcher(line).region(origin + 2, line.length()).lookingAt() ? 1 : 0;
        }
    }

    @Override
    public void close() {
        monitor.close();
        marker.close();
    }
}
