package io.github.redislocks.bench;

import java.net.URI;
import redis.clients.jedis.Jedis;

/** The Redis that is measured on: a given one, or one of our own that lives as long as this. */
public final class Server implements AutoCloseable {

    private final OwnServer own;
    private final String uri;
    private final Jedis jedis;

    /** Uses this one, or starts one if there is none. */
    public Server(String given) {
        own = given == null ? OwnServer.start() : null;
        uri = own == null ? given : own.uri();
        jedis = connection();
    }

    public String uri() {
        return uri;
    }

    /** A new connection, for the caller to close. */
    public Jedis connection() {
        return new Jedis(URI.create(uri), 60_000);
    }

    /** The processor time that Redis has used, in µs. */
    public double cpuMicros() {
        String cpu = jedis.info("cpu");
        return (number(cpu, "used_cpu_user") + number(cpu, "used_cpu_sys")) * 1e6;
    }

    public String version() {
        String info = jedis.info("server");
        String valkey = field(info, "valkey_version");
        return valkey.isEmpty() ? "Redis " + field(info, "redis_version") : "Valkey " + valkey;
    }

    public String origin() {
        return own == null ? "given" : "embedded";
    }

    /** Forgets all keys of earlier works, if it is ours to do that. */
    public void clear() {
        if (own != null) {
            jedis.flushAll();
        }
    }

    private static double number(String info, String name) {
        return Double.parseDouble(field(info, name));
    }

    private static String field(String info, String name) {
        return info.lines()
                .filter(line -> line.startsWith(name + ":"))
                .map(line -> line.substring(name.length() + 1).strip())
                .findFirst()
                .orElse("");
    }

    @Override
    public void close() {
        jedis.close();
        if (own != null) {
            own.close();
        }
    }
}
