package io.github.redislocks.bench;

import io.github.redislocks.fixture.OwnServer;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Jedis;

/** The Redis of the measurement: a given server, or one or more servers that this object starts and stops. */
public final class Server implements AutoCloseable {

    /** The number of runs of scripts, and their total time. */
    public record Scripts(double calls, double micros) {}

    private static final Pattern SCRIPT =
            Pattern.compile("cmdstat_(eval|evalsha|fcall|blpop|rpush)(_ro)?:calls=(?<calls>\\d+),usec=(?<micros>\\d+)");

    private final List<OwnServer> own = new ArrayList<>();
    private final List<String> uris = new ArrayList<>();
    private final List<Jedis> connections = new ArrayList<>();

    /** Uses the given server, or starts one if none is given. */
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

    /** Starts several independent servers. */
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

    /** The URI of the server, or the URIs of all servers, separated by spaces. */
    public String uri() {
        return String.join(" ", uris);
    }

    /** Makes a connection to the first server. The caller must close it. */
    public Jedis connection() {
        return new Jedis(URI.create(uris.get(0)), 60_000);
    }

    /** Makes a connection to each server. The caller must close them. */
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

    /** The number of commands that the server has run, also in scripts. */
    public double commands() {
        double commands = 0;
        for (Jedis jedis : connections) {
            commands += number(jedis.info("stats"), "total_commands_processed");
        }
        return commands;
    }

    /**
     * The number and the total time of the scripts that the server has run. The two commands of the hand-off floor
     * count as scripts.
     */
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

    /** Deletes all keys of earlier works, if this object has started the server. */
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
