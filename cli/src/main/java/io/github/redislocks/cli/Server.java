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
                "Where Redis is: redis://, rediss://, redis-sentinel:// or redis-cluster://; several make a quorum.",
                "Default: the environment variable REDIS_URL, or " + DEFAULT_URL + "."
            })
    private List<String> given;

    @Option(
            names = "--prefix",
            paramLabel = "PREFIX",
            defaultValue = "redis-locks",
            description = "What the keys begin with, as the applications have it. Default: ${DEFAULT-VALUE}.")
    private String prefix;

    /** A client, to be closed. */
    RedisLocks open() {
        List<String> urls = urls(System.getenv());
        RedisLocksBuilder builder = RedisLocks.builder().keyPrefix(prefix);
        return (urls.size() == 1 ? builder.uri(urls.get(0)) : builder.quorum(urls.toArray(String[]::new))).build();
    }

    /** Whether several servers are named, which make a quorum. */
    boolean isQuorum() {
        return given != null && given.size() > 1;
    }

    /** A connection to the server, to be closed; it is made when it is first used. */
    Jedis single() {
        RedisUri uri = RedisUri.parse(url("doctor"));
        Topology.Single server = (Topology.Single) uri.topology();
        return new Jedis(
                server.address().host(), server.address().port(), uri.configs().server());
    }

    /** The URL of the one server that a command looks at. */
    String url(String command) {
        List<String> urls = urls(System.getenv());
        if (urls.size() == 1 && RedisUri.parse(urls.get(0)).topology() instanceof Topology.Single) {
            return urls.get(0);
        }
        // Without the URLs, which have passwords.
        throw new IllegalArgumentException(command + " looks at one server, and that is more or something else: name"
                + " the redis:// or rediss:// URL of each server by --url.");
    }

    /** The URLs that are given, else what the environment says, as long as it says anything. */
    List<String> urls(Map<String, String> environment) {
        if (given != null) {
            return given;
        }
        String url = environment.get("REDIS_URL");
        return List.of(url == null || url.isBlank() ? DEFAULT_URL : url);
    }
}
