package io.github.redislocks.spring;

import io.github.redislocks.JedisServers;
import java.util.List;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * The login and the TLS settings with which Spring Boot connects to Redis.
 *
 * @param login the login at the servers
 * @param tls the certificates to trust; null to connect without TLS
 */
record BootServers(Login login, @Nullable SslBundle tls) {

    /**
     * A login.
     *
     * @param user null for the default user
     * @param password null to log in without a password
     */
    record Login(@Nullable String user, @Nullable String password) {

        @Override
        public String toString() {
            return "login of " + user;
        }
    }

    JedisServers single(HostAndPort address, int database) {
        return JedisServers.single(address, config(login, database));
    }

    JedisServers sentinel(String master, List<HostAndPort> sentinels, int database, Login ofSentinels) {
        return JedisServers.sentinel(master, sentinels, config(login, database), config(ofSentinels, 0));
    }

    JedisServers cluster(List<HostAndPort> nodes) {
        return JedisServers.cluster(nodes, config(login, 0));
    }

    @SuppressWarnings("deprecation") // The newer SslOptions of Jedis accept no SSLContext.
    private JedisClientConfig config(Login of, int database) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
                .user(of.user)
                .password(of.password)
                .database(database);
        if (tls != null) {
            SSLParameters parameters = new SSLParameters();
            // Check the host name: otherwise any trusted certificate would be accepted for any host.
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            SslOptions options = tls.getOptions();
            if (options.getCiphers() != null) {
                parameters.setCipherSuites(options.getCiphers());
            }
            if (options.getEnabledProtocols() != null) {
                parameters.setProtocols(options.getEnabledProtocols());
            }
            config.ssl(true)
                    .sslSocketFactory(tls.createSslContext().getSocketFactory())
                    .sslParameters(parameters);
        }
        return config.build();
    }
}
