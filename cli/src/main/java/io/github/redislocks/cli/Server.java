package io.github.redislocks.cli;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.redis.connect.RedisUri;
import io.github.redislocks.redis.topology.Topology;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Option;
import redis.clients.jedis.Jedis;

/** The options that say where Redis is. */
final class Server {

    private static final String DEFAULT_URL = "redis://127.0.0.1:6379";

    @Option(
            names = {"-u", "--url"},
            paramLabel = "URL",
            description = {
                "The address of Redis: redis://, rediss://, redis-sentinel:// or redis-cluster://; several make a quorum.",
                "Default: the environment variable REDIS_URL, or " + DEFAULT_URL + "."
            })
    private List<String> given;

    @Option(
            names = "--prefix",
            paramLabel = "PREFIX",
            defaultValue = "redis-locks",
            description = "The keyPrefix of the applications, with which all keys begin. Default: ${DEFAULT-VALUE}.")
    private String prefix;

    /** Makes a client, which the caller must close. */
    RedisLocks open() {
        return builder().build();
    }

    RedisLocksBuilder builder() {
        List<String> urls = urls(System.getenv());
        RedisLocksBuilder builder = RedisLocks.builder().keyPrefix(prefix);
        return urls.size() == 1 ? builder.uri(urls.get(0)) : builder.quorum(urls.toArray(String[]::new));
    }

    /** Whether the user has named several servers, which make a quorum. */
    boolean isQuorum() {
        return given != null && given.size() > 1;
    }

    /** Makes a connection to the server, which connects at its first use. The caller must close it. */
    Jedis single() {
        RedisUri uri = RedisUri.parse(url("doctor"));
        Topology.Single server = (Topology.Single) uri.topology();
        return new Jedis(
                server.address().host(), server.address().port(), uri.configs().server());
    }

    /** The URL of the single server that a command examines. */
    String url(String command) {
        List<String> urls = urls(System.getenv());
        if (urls.size() == 1 && RedisUri.parse(urls.get(0)).topology() instanceof Topology.Single) {
            return urls.get(0);
        }
        // Do not show the URLs, which may contain passwords.
        throw new IllegalArgumentException(
                command + " examines one server, and the URL names several servers or none: call it"
                        + " for each server, with its redis:// or rediss:// URL after --url.");
    }

    /** The URLs of the options; without options, the URL in the environment; otherwise the default. */
    List<String> urls(Map<String, String> environment) {
        if (given != null) {
            return given;
        }
        String url = environment.get("REDIS_URL");
        return List.of(url == null || url.isBlank() ? DEFAULT_URL : url);
    }
}
