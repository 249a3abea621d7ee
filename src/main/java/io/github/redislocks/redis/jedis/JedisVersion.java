package io.github.redislocks.redis.jedis;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import redis.clients.jedis.Connection;

/** The version of Jedis on the class path. The dependency management of an application may have chosen it. */
public final class JedisVersion {

    /** The first major version that has everything that this package uses. */
    private static final int LEAST_MAJOR = 6;

    private JedisVersion() {}

    /** Throws if Jedis is too old. Otherwise a call would fail later, for lack of a method. */
    public static void check() {
        check(present());
    }

    /** Throws if the version is too old. An empty text is an unknown version, which is accepted. */
    public static void check(String version) {
        String major = version.replaceFirst("\\..*", "");
        if (major.matches("\\d{1,9}") && Integer.parseInt(major) < LEAST_MAJOR) {
            throw new IllegalStateException("Jedis " + version + " is on the class path, and redis-locks needs "
                    + LEAST_MAJOR
                    + ".0.0 or later: name a later redis.clients:jedis among your dependencies, or set the"
                    + " property <jedis.version> if your parent or BOM chooses it, as that of Spring Boot does.");
        }
    }

    /** The version in the file {@code pom.properties} of Jedis' jar; empty if there is none. */
    public static String present() {
        Properties properties = new Properties();
        try (InputStream in = Connection.class.getResourceAsStream("pom.properties")) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException e) {
            // Ignored: the version is unknown then.
        }
        return properties.getProperty("version", "");
    }
}
