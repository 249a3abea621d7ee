package io.github.redislocks.redis.jedis;

import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;

/** One connection to the server, of which each use has a deadline of its own. */
public final class PooledConnection {

    private final AbortableSocketFactory sockets;
    private final Connection connection;
    private int timeoutMillis;
    /** The number of the connection that the server tells of changes to what this one reads; 0 if none. */
    private long listener;
    /** Of the pool, while it lies there. */
    private volatile long idleSince;

    /**
     * Connects and greets: TCP, TLS, HELLO, AUTH, SELECT. Each step is given the socket's timeout, not all together.
     */
    public PooledConnection(AbortableSocketFactory sockets) {
        this.sockets = sockets;
        this.timeoutMillis = sockets.timeoutMillis();
        boolean made = false;
        try {
            connection = new Connection(sockets, sockets.config());
            made = true;
        } finally {
            if (!made) {
                sockets.shut();
            }
        }
    }

    public AbortableSocketFactory sockets() {
        return sockets;
    }

    public long madeAt() {
        return sockets.madeAt();
    }

    public void idleSince(long nanos) {
        idleSince = nanos;
    }

    public long idleSince() {
        return idleSince;
    }

    /** The number of the connection that the server tells of changes to what this one reads; 0 if none. */
    public long listener() {
        return listener;
    }

    /** Notes which connection the server tells. Of the thread that uses this one. */
    public void listener(long number) {
        listener = number;
    }

    /** Lets each read from now on last until the deadline at most, or a millisecond if that has passed. */
    public void arm(long deadline) {
        int millis = millisUntil(deadline);
        if (millis != timeoutMillis) {
            connection.setSoTimeout(millis);
            timeoutMillis = millis;
        }
    }

    /** Lets reads last for ever. */
    public void disarm() {
        connection.setSoTimeout(0);
    }

    public Object ask(CommandArguments request) {
        return connection.executeCommand(request);
    }

    /** The answers to two requests that are sent at once, the first before the second; none if one was refused. */
    public List<Object> ask(CommandArguments first, CommandArguments second) {
        send(first);
        send(second);
        List<Object> answers = answers(2);
        for (Object answer : answers) {
            if (answer instanceof JedisDataException refusal) {
                throw refusal;
            }
        }
        return answers;
    }

    public void send(CommandArguments request) {
        connection.sendCommand(request);
    }

    /** The answers to as many requests; an error in the place of an answer is a {@code JedisDataException}. */
    public List<Object> answers(int count) {
        return connection.getMany(count);
    }

    /** Waits for what the server sends by itself. */
    public Object receive() {
        return connection.getUnflushedObject();
    }

    /** The channel by which it can be used without waiting, instead of by this; null if there is none. */
    @Nullable
    public SocketChannel channel() {
        return sockets.channel();
    }

    /** Closes the connection at once, from any thread; whoever reads or writes on it fails. */
    public void cut() {
        sockets.shut();
    }

    /** Rounded up, so that calls with the same timeout need the same value and the socket's is seldom changed. */
    public static int millisUntil(long deadline) {
        long nanos = deadline - System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1) - 1;
        return (int) Math.min(Integer.MAX_VALUE, Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
    }
}
