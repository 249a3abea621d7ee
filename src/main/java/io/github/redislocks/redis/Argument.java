package io.github.redislocks.redis;

import java.nio.charset.StandardCharsets;
import redis.clients.jedis.args.Rawable;

/** An argument of a command, encoded once: Jedis' own makes a copy of the bytes more. */
final class Argument implements Rawable {

    private final byte[] raw;

    Argument(String text) {
        raw = text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte[] getRaw() {
        return raw;
    }
}
