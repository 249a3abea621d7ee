package io.github.redislocks.redis.jedis;

import java.nio.charset.StandardCharsets;
import redis.clients.jedis.args.Rawable;

/** An argument of a command, encoded once. Not Jedis' own class, which would copy the bytes. */
public final class Argument implements Rawable {

    private final byte[] raw;

    public Argument(String text) {
        raw = text.getBytes(StandardCharsets.UTF_8);
    }

    /** Makes an argument. The bytes must not change. */
    public Argument(byte[] raw) {
        this.raw = raw;
    }

    @Override
    public byte[] getRaw() {
        return raw;
    }
}
