package io.github.redislocks.redis;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;

/** One connection to the server, of which each use has a deadline of its own. */
final class Link {

    private final Door door;
    private final Connection connection;
    private int timeoutMillis;
    /** Of the pool, while it lies there. */
    private volatile long idleSince;

    /** Connects and greets: TCP, TLS, HELLO, AUTH, SELECT. Each step is given the door's timeout, not all together. */
    Link(Door door) {
        this.door = door;
        this.timeoutMillis = door.timeoutMillis();
        boolean made = false;
        try {
            connection = new Connection(door, door.config());
            made = true;
        } finally {
            if (!made) {
                door.shut();
            }
        }
    }

    Door door() {
        return door;
    }

    long madeAt() {
        return door.madeAt();
    }

    void idleSince(long nanos) {
        idleSince = nanos;
    }

    long idleSince() {
        return idleSince;
    }

    /** Lets each read from now on last until the deadline at most, or a millisecond if that has passed. */
    void arm(long deadline) {
        int millis = millisUntil(deadline);
        if (millis != timeoutMillis) {
            connection.setSoTimeout(millis);
            timeoutMillis = millis;
        }
    }

    /** Lets reads last for ever. */
    void disarm() {
        connection.setSoTimeout(0);
    }

    Object ask(CommandArguments request) {
        return connection.executeCommand(request);
    }

    /** The answers to two requests that are sent at once, the first before the second; none if one was refused. */
    List<Object> ask(CommandArguments first, CommandArguments second) {
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

    void send(CommandArguments request) {
        connection.sendCommand(request);
    }

    /** The answers to as many requests; an error in the place of an answer is a {@code JedisDataException}. */
    List<Object> answers(int count) {
        return connection.getMany(count);
    }

    /** Waits for what the server sends by itself. */
    Object receive() {
        return connection.getUnflushedObject();
    }

    /** Closes the connection at once, from any thread; whoever reads or writes on it fails. */
    void cut() {
        door.shut();
        try {
            connection.forceDisconnect();
        } catch (IOException e) {
            // Declared, but Jedis swallows it; and the socket is closed.
        }
    }

    /** Rounded up, so that calls with the same timeout need the same value and the socket's is seldom changed. */
    static int millisUntil(long deadline) {
        long nanos = deadline - System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1) - 1;
        return (int) Math.min(Integer.MAX_VALUE, Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
    }
}
