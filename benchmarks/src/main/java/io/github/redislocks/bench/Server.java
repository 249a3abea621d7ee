package io.github.redislocks.bench;

import io.github.redislocks.fixture.OwnServer;
import java.net.URI;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Jedis;

/** The Redis that is measured on: a given one, or one of our own that lives as long as this. */
public final class Server implements AutoCloseable {

    /** Runs of scripts, and the time that they took in all. */
    public record Scripts(double calls, double micros) {}

    private static final Pattern SCRIPT =
            Pattern.compile("cmdstat_(eval|evalsha|fcall|blpop|rpush)(_ro)?:calls=(?<calls>\\d+),usec=(?<micros>\\d+)");

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

    /** How many commands it has run, those in scripts as well. */
    public double commands() {
        return number(jedis.info("stats"), "total_commands_processed");
    }

    /** How many scripts it has run, and for how long; the two commands of the hand-off floor count as such. */
    public Scripts scripts() {
        double calls = 0;
        double micros = 0;
        for (String line : jedis.info("commandstats").lines().toList()) {
            Matcher script = SCRIPT.matcher(line);
            if (script.lookingAt()) {
                calls += Double.parseDouble(script.group("calls"));
                micros += Double.parseDouble(script.group("micros"));
            }
        }
        return new Scripts(calls, micros);
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
