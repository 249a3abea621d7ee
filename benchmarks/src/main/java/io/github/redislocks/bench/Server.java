package io.github.redislocks.bench;

import io.github.redislocks.fixture.OwnServer;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Jedis;

/** The Redis that is measured on: a given one, or one or more of our own that live as long as this. */
public final class Server implements AutoCloseable {

    /** Runs of scripts, and the time that they took in all. */
    public record Scripts(double calls, double micros) {}

    private static final Pattern SCRIPT =
            Pattern.compile("cmdstat_(eval|evalsha|fcall|blpop|rpush)(_ro)?:calls=(?<calls>\\d+),usec=(?<micros>\\d+)");

    private final List<OwnServer> own = new ArrayList<>();
    private final List<String> uris = new ArrayList<>();
    private final List<Jedis> connections = new ArrayList<>();

    /** Uses this one, or starts one if there is none. */
    public Server(String given) {
        if (given == null) {
            start(1);
        } else {
            uris.add(given);
        }
        connections.addAll(connections());
    }

    private Server(int count) {
        start(count);
        connections.addAll(connections());
    }

    /** Starts several, which know nothing of each other. */
    public static Server masters(int count) {
        return new Server(count);
    }

    private void start(int count) {
        for (int i = 0; i < count; i++) {
            OwnServer server = OwnServer.start();
            own.add(server);
            uris.add(server.uri());
        }
    }

    /** Of the one, or of all with spaces between them. */
    public String uri() {
        return String.join(" ", uris);
    }

    /** A new connection to the first, for the caller to close. */
    public Jedis connection() {
        return new Jedis(URI.create(uris.get(0)), 60_000);
    }

    /** A new connection to each, for the caller to close. */
    public List<Jedis> connections() {
        return uris.stream().map(uri -> new Jedis(URI.create(uri), 60_000)).toList();
    }

    /** The processor time that Redis has used, in µs. */
    public double cpuMicros() {
        double seconds = 0;
        for (Jedis jedis : connections) {
            String cpu = jedis.info("cpu");
            seconds += number(cpu, "used_cpu_user") + number(cpu, "used_cpu_sys");
        }
        return seconds * 1e6;
    }

    /** How many commands it has run, those in scripts as well. */
    public double commands() {
        double commands = 0;
        for (Jedis jedis : connections) {
            commands += number(jedis.info("stats"), "total_commands_processed");
        }
        return commands;
    }

    /** How many scripts it has run, and for how long; the two commands of the hand-off floor count as such. */
    public Scripts scripts() {
        double calls = 0;
        double micros = 0;
        for (Jedis jedis : connections) {
            for (String line : jedis.info("commandstats").lines().toList()) {
                Matcher script = SCRIPT.matcher(line);
                if (script.lookingAt()) {
                    calls += Double.parseDouble(script.group("calls"));
                    micros += Double.parseDouble(script.group("micros"));
                }
            }
        }
        return new Scripts(calls, micros);
    }

    public String version() {
        String info = connections.get(0).info("server");
        String valkey = field(info, "valkey_version");
        return valkey.isEmpty() ? "Redis " + field(info, "redis_version") : "Valkey " + valkey;
    }

    public String origin() {
        return own.isEmpty() ? "given" : "embedded";
    }

    /** Forgets all keys of earlier works, if it is ours to do that. */
    public void clear() {
        if (!own.isEmpty()) {
            connections.forEach(Jedis::flushAll);
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
        connections.forEach(Jedis::close);
        own.forEach(OwnServer::close);
    }
}
