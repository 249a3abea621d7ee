package io.github.redislocks.redis;

import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.SslOptions;

/**
 * A server's address as people write it: {@code redis://user:password@host:port/database}, {@code rediss} for TLS.
 *
 * @param address host and port
 * @param config what else a connection needs
 */
public record RedisUri(HostAndPort address, JedisClientConfig config) {

    private static final int DEFAULT_PORT = 6379;
    private static final String REMEDY = " Write redis://host:port, or rediss://user:password@host:port/database.";

    /** Reads an address; refuses what cannot work, without showing the password. */
    public static RedisUri parse(String text) {
        Objects.requireNonNull(text, "uri");
        URI uri;
        try {
            uri = new URI(text);
        } catch (URISyntaxException e) {
            throw refused(text, "is not a URI (" + e.getReason() + ")");
        }
        String scheme = uri.getScheme();
        if (!"redis".equals(scheme) && !"rediss".equals(scheme)) {
            throw refused(text, "must begin with redis:// or rediss://");
        }
        if (uri.getHost() == null) {
            throw refused(text, "names no host, or one with a character that host names cannot have, such as _");
        }
        if (uri.getPort() == 0 || uri.getPort() > 65_535) {
            throw refused(text, "has the port " + uri.getPort() + ", which must lie between 1 and 65535");
        }
        if (uri.getQuery() != null || uri.getFragment() != null) {
            throw refused(text, "has parameters, of which none is known");
        }
        DefaultJedisClientConfig.Builder config =
                DefaultJedisClientConfig.builder().database(database(text, uri.getPath()));
        if (scheme.equals("rediss")) {
            config.sslOptions(SslOptions.defaults());
        }
        String userInfo = uri.getRawUserInfo();
        if (userInfo != null) {
            int colon = userInfo.indexOf(':');
            String user = decode(colon < 0 ? userInfo : userInfo.substring(0, colon));
            if (!user.isEmpty()) {
                config.user(user);
            }
            if (colon < 0) {
                throw refused(text, "has a user but no password");
            }
            config.password(decode(userInfo.substring(colon + 1)));
        }
        String host = uri.getHost();
        String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        return new RedisUri(new HostAndPort(bare, uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort()), config.build());
    }

    private static int database(String text, @Nullable String path) {
        if (path == null || path.isEmpty() || path.equals("/")) {
            return 0;
        }
        try {
            int database = Integer.parseInt(path.substring(1));
            if (database >= 0) {
                return database;
            }
        } catch (NumberFormatException e) {
            // Refused below.
        }
        throw refused(text, "has the database \"" + path.substring(1) + "\", which must be a number from 0");
    }

    private static String decode(String part) {
        return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static IllegalArgumentException refused(String text, String why) {
        String shown = text.replaceFirst("//[^@/]*@", "//***@");
        return new IllegalArgumentException("The Redis URI \"" + shown + "\" " + why + "." + REMEDY);
    }
}
