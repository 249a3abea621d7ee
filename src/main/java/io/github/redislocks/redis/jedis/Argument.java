package io.github.redislocks.redis.jedis;

import java.nio.charset.StandardCharsets;
import redis.clients.jedis.args.Rawable;

/** An argument of a command, encoded once: Jedis' own makes a copy of the bytes more. */
public final class Argument implements Rawable {

    private final byte[] raw;

    public Argument(String text) {
        raw = text.getBytes(StandardCharsets.UTF_8);
    }

    /** Of bytes that nobody changes. */
    public Argument(byte[] raw) {
        this.raw = raw;
    }

    @Override
    public byte[] getRaw() {
        return raw;
    }
}
