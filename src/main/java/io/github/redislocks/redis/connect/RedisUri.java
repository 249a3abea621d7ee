package io.github.redislocks.redis.connect;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.Login;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Servers;
import io.github.redislocks.redis.cluster.ClusterRedis;
import io.github.redislocks.redis.jedis.JedisConfigs;
import io.github.redislocks.redis.sentinel.SentinelRedis;
import io.github.redislocks.redis.topology.Topology;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A Redis URI, which says where Redis is: {@code redis://user:password@host:port/database}, {@code rediss} for TLS,
 * {@code redis-sentinel://user:password@host:port,host:port/master-name/database}, or
 * {@code redis-cluster://user:password@host:port,host:port}; each may have parameters.
 *
 * @param topology the servers
 * @param configs the configurations of the connections
 * @param commandTimeout the timeout of one request, or null if the URI names none
 */
public record RedisUri(
        Topology topology, JedisConfigs configs, @Nullable Duration commandTimeout) {

    private static final int DEFAULT_PORT = 6379;
    private static final int DEFAULT_SENTINEL_PORT = 26_379;
    private static final String SINGLE = "redis";
    private static final String TLS = "rediss";
    private static final String SENTINEL = "redis-sentinel";
    private static final String CLUSTER = "redis-cluster";
    private static final String CLIENT_NAME = "clientName";
    private static final String COMMAND_TIMEOUT = "commandTimeout";
    private static final String SENTINEL_USER = "sentinelUser";
    private static final String SENTINEL_PASSWORD = "sentinelPassword";
    private static final Set<String> PARAMETERS = Set.of(CLIENT_NAME, COMMAND_TIMEOUT);
    private static final Set<String> OF_SENTINELS = Set.of(SENTINEL_USER, SENTINEL_PASSWORD);

    /** The parts of a URI by RFC 3986. Not {@link java.net.URI}, which accepts no IPv6 address in a list of hosts. */
    private static final Pattern URI = Pattern.compile(
            "(?<scheme>[^:/?#]+):(?://(?<authority>[^/?#]*))?(?<path>[^?#]*)(?:\\?(?<query>[^#]*))?(?<fragment>#.*)?");

    /** A host name or an IPv6 address in brackets, with an optional port. */
    private static final Pattern ADDRESS = Pattern.compile("(?:\\[([\\w:.%]+)]|([\\w.-]+))(?::(\\d{1,9}))?");

    /**
     * Either a colon of an IPv6 address or before a port, or another colon with everything behind it, which may be
     * secret.
     */
    private static final Pattern COLON =
            Pattern.compile("(\\[[\\w:.%]*]|(?<=[\\w.\\]-]):\\d{1,5}(?=[/,?#]|$))|:.*", Pattern.DOTALL);

    private static final Pattern DURATION = Pattern.compile("(\\d{1,9})(ms|s)");
    private static final Pattern SCHEME = Pattern.compile("redis(?:s|-sentinel|-cluster)?:/*");
    /** A value in the query, or the fragment. Each may be secret, except the values of two parameters. */
    private static final Pattern VALUE =
            Pattern.compile("([?&](?!clientName=|commandTimeout=)(?:[^=&#]*=)?)[^&#]+|(?<=#).+", Pattern.DOTALL);

    private static final Pattern PRINTABLE = Pattern.compile("[!-~]+");

    private static final String REMEDY = " Write redis://host:port, rediss://user:password@host:port/database,"
            + " redis-sentinel://host:port,host:port/master-name or redis-cluster://host:port,host:port. Percent-encode"
            + " the signs that a URI uses itself, such as @ / ? # %.";

    /** Makes a URI without parameters. */
    public RedisUri(Topology topology, JedisConfigs configs) {
        this(topology, configs, null);
    }

    /** Parses a URI; ignores blanks around it. Throws for a URI that cannot work. The message contains no password. */
    public static RedisUri parse(String given) {
        String text = Objects.requireNonNull(given, "uri").strip();
        Matcher uri = URI.matcher(text);
        String scheme = uri.matches() ? uri.group("scheme") : "";
        if (!Set.of(SINGLE, TLS, SENTINEL, CLUSTER).contains(scheme)) {
            throw refused(text, "must start with redis://, rediss://, redis-sentinel:// or redis-cluster://");
        }
        boolean sentinel = scheme.equals(SENTINEL);
        String authority = uri.group("authority") == null ? "" : uri.group("authority");
        List<Address> addresses = addresses(text, authority, sentinel ? DEFAULT_SENTINEL_PORT : DEFAULT_PORT);
        if (uri.group("fragment") != null) {
            throw refused(text, "has a fragment, the part from # on, which has no meaning here");
        }
        Map<String, String> parameters = parameters(text, uri.group("query"), sentinel);
        int database = 0;
        String path = uri.group("path").replaceFirst("^/", "");
        Topology topology;
        if (sentinel) {
            String[] parts = path.split("/", 2);
            if (parts[0].isEmpty()) {
                throw refused(text, "names no master, which must follow the Sentinels");
            }
            database = database(text, parts.length == 1 ? "" : parts[1]);
            topology = new Topology.Sentinel(decode(text, parts[0]), addresses);
        } else if (scheme.equals(CLUSTER)) {
            if (database(text, path) != 0) {
                throw refused(
                        text,
                        "names a database, and a cluster has only database 0: leave it out, and tell"
                                + " applications apart by keyPrefix");
            }
            topology = new Topology.Cluster(addresses);
        } else if (addresses.size() == 1) {
            database = database(text, path);
            topology = new Topology.Single(addresses.get(0));
        } else {
            throw refused(text, "names several hosts, which only redis-sentinel:// and redis-cluster:// may");
        }
        Login server = login(text, authority, parameters.get(CLIENT_NAME), database, scheme.equals(TLS));
        JedisConfigs configs = JedisConfigs.of(server, sentinel ? ofSentinels(text, parameters) : server);
        return new RedisUri(topology, configs, duration(text, parameters.get(COMMAND_TIMEOUT)));
    }

    /** A copy that gives its connections this name, unless they have a name. */
    public RedisUri named(String clientName) {
        return new RedisUri(topology, configs.named(clientName), commandTimeout);
    }

    /** A copy whose connections speak RESP2, so that they can report changed keys. */
    public RedisUri inResp2() {
        return new RedisUri(topology, configs.inResp2(), commandTimeout);
    }

    /** Opens the port as {@link #open(int, long, Threads)} does, with new threads. */
    public Redis open(int maxConnections, long timeoutNanos) {
        return open(maxConnections, timeoutNanos, Threads.DAEMONS);
    }

    /**
     * Opens the port. Does not throw if the server is away: the first call does.
     *
     * @param timeoutNanos how long to wait for the reply of a Sentinel or cluster node that is asked for a master
     */
    public Redis open(int maxConnections, long timeoutNanos, Threads threads) {
        Servers servers = configs.servers(maxConnections, threads);
        if (topology instanceof Topology.Sentinel sentinel) {
            return new SentinelRedis(sentinel, servers, configs.sentinels(threads), timeoutNanos, threads).start();
        }
        if (topology instanceof Topology.Cluster cluster) {
            int database = configs.database();
            if (database != 0) {
                throw new IllegalArgumentException(
                        "The database is " + database
                                + ", and a cluster has only database 0: leave it out, and tell applications apart by keyPrefix.");
            }
            return new ClusterRedis(cluster, servers, timeoutNanos, threads).start();
        }
        return servers.at(((Topology.Single) topology).address());
    }

    private static List<Address> addresses(String text, String authority, int defaultPort) {
        List<Address> addresses = new ArrayList<>();
        for (String part : authority.substring(authority.lastIndexOf('@') + 1).split(",", -1)) {
            Address address = address(text, part, defaultPort);
            if (addresses.contains(address)) {
                throw refused(text, "names the host " + address + " twice, and each must be named once");
            }
            addresses.add(address);
        }
        return addresses;
    }

    private static Address address(String text, String part, int defaultPort) {
        Matcher matcher = ADDRESS.matcher(part);
        if (!matcher.matches()) {
            if (part.isEmpty() || part.startsWith(":")) {
                throw refused(text, "names no host, or an empty one");
            }
            throw refused(
                    text,
                    part.matches("[\\w.-]+:.*")
                            ? "has a port that is no number (shown as ***, since it may be a password without its @host)"
                            : "has a host with a character that host names cannot have");
        }
        int port = matcher.group(3) == null ? defaultPort : Integer.parseInt(matcher.group(3));
        if (port == 0 || port > 65_535) {
            throw refused(text, "has the port " + port + ", which must lie between 1 and 65535");
        }
        String host = matcher.group(1) != null ? matcher.group(1) : matcher.group(2);
        return new Address(host.toLowerCase(Locale.ROOT), port);
    }

    private static Login login(String text, String authority, @Nullable String clientName, int database, boolean tls) {
        int end = authority.lastIndexOf('@');
        if (end < 0) {
            return new Login(null, null, clientName, database, tls);
        }
        String[] login = authority.substring(0, end).split(":", 2);
        if (login.length == 1) {
            throw refused(text, "has a user but no password");
        }
        String user = login[0].isEmpty() ? null : decode(text, login[0]);
        return new Login(user, decode(text, login[1]), clientName, database, tls);
    }

    private static Map<String, String> parameters(String text, @Nullable String query, boolean sentinel) {
        Map<String, String> parameters = new HashMap<>();
        for (String part : query == null ? new String[0] : query.split("&", -1)) {
            String[] parameter = part.split("=", 2);
            String name = parameter[0];
            if (!PARAMETERS.contains(name) && !(sentinel && OF_SENTINELS.contains(name))) {
                throw refused(
                        text,
                        "has a parameter that is not known: there are clientName and commandTimeout, and for"
                                + " redis-sentinel:// also sentinelUser and sentinelPassword");
            }
            if (parameter.length == 1 || parameter[1].isEmpty()) {
                throw refused(text, "has no value for the parameter " + name);
            }
            if (parameters.put(name, decode(text, parameter[1])) != null) {
                throw refused(text, "has the parameter " + name + " twice");
            }
        }
        String clientName = parameters.get(CLIENT_NAME);
        if (clientName != null && !PRINTABLE.matcher(clientName).matches()) {
            throw refused(text, "has a clientName with a space, or a character that Redis does not take in a name");
        }
        return parameters;
    }

    private static Login ofSentinels(String text, Map<String, String> parameters) {
        String user = parameters.get(SENTINEL_USER);
        String password = parameters.get(SENTINEL_PASSWORD);
        if (user != null && password == null) {
            throw refused(text, "has a sentinelUser but no sentinelPassword");
        }
        return new Login(user, password, parameters.get(CLIENT_NAME), 0, false);
    }

    private static @Nullable Duration duration(String text, @Nullable String value) {
        if (value == null) {
            return null;
        }
        Matcher matcher = DURATION.matcher(value);
        if (!matcher.matches()) {
            throw refused(text, "has a commandTimeout that is not a number of ms or s, such as 500ms");
        }
        long amount = Long.parseLong(matcher.group(1));
        return matcher.group(2).equals("s") ? Duration.ofSeconds(amount) : Duration.ofMillis(amount);
    }

    private static int database(String text, String path) {
        if (path.isEmpty()) {
            return 0;
        }
        try {
            int database = Integer.parseInt(path);
            if (database >= 0) {
                return database;
            }
        } catch (NumberFormatException e) {
            // Ignored: the throw below refuses such a path.
        }
        throw refused(text, "has a path that is no database, which must be a number from 0");
    }

    private static String decode(String text, String part) {
        try {
            return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw refused(text, "has a % that is not followed by two hexadecimal digits");
        }
    }

    private static IllegalArgumentException refused(String text, String why) {
        return new IllegalArgumentException("The Redis URI \"" + Shown.of(shown(text)) + "\" " + why + "." + REMEDY);
    }

    /**
     * The URI for messages. These parts may be a password and are hidden: everything before the last @, since a
     * password may contain an @ that is not encoded; a port that is not a number, since the host may be missing; the
     * value of an unknown parameter; and the fragment.
     */
    private static String shown(String text) {
        Matcher scheme = SCHEME.matcher(text);
        int begin = scheme.lookingAt() ? scheme.end() : 0;
        int at = text.lastIndexOf('@');
        String hidden = at < begin ? "" : "***";
        String rest = COLON.matcher(text.substring(Math.max(begin, at)))
                .replaceAll(colon -> colon.group(1) == null ? ":***" : Matcher.quoteReplacement(colon.group(1)));
        return text.substring(0, begin) + hidden + VALUE.matcher(rest).replaceAll("$1***");
    }
}
