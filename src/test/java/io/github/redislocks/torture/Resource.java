package io.github.redislocks.torture;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Jedis;

/**
 * The resource that the locks protect, as one thread sees it: counters on a Redis of their own that no fault touches,
 * each changed by reading, thinking and writing. One counter of a lock believes in the lock, the other checks fencing
 * tokens.
 */
final class Resource implements AutoCloseable {

    private static final String FENCED = script();

    private final Jedis redis;

    Resource(String uri) {
        redis = new Jedis(URI.create(uri), 30_000);
    }

    /** The value of the counter that checks nothing. */
    long read(String lock) {
        String value = redis.get("plain:" + lock);
        return value == null ? 0 : Long.parseLong(value);
    }

    /** The copy of that value. */
    long readCopy(String lock) {
        String value = redis.get("copy:" + lock);
        return value == null ? 0 : Long.parseLong(value);
    }

    /** Writes the value, and then its copy. */
    void write(String lock, long value) {
        redis.set("plain:" + lock, Long.toString(value));
        redis.set("copy:" + lock, Long.toString(value));
    }

    /** Shows a token, which keeps all smaller ones out from now on, and returns the value; -1 if it was refused. */
    long readFenced(String lock, long token) {
        return fenced(lock, token, List.of());
    }

    /** Writes under a token; false if it was refused. */
    boolean writeFenced(String lock, long token, long value) {
        return fenced(lock, token, List.of(Long.toString(value))) >= 0;
    }

    private long fenced(String lock, long token, List<String> value) {
        List<String> args = new ArrayList<>(List.of(Long.toString(token)));
        args.addAll(value);
        return (Long) redis.eval(FENCED, List.of("fenced:" + lock), args);
    }

    @Override
    public void close() {
        redis.close();
    }

    private static String script() {
        try (InputStream in = Resource.class.getResourceAsStream("fenced.lua")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
