package io.github.redislocks.cli;

import io.github.redislocks.RedisLocks;
import java.util.List;
import picocli.CommandLine.Option;

/** The options that say where Redis is. */
final class Server {

    private static final String DEFAULT_URL = "redis://127.0.0.1:6379";

    @Option(
            names = {"-u", "--url"},
            paramLabel = "URL",
            defaultValue = "${env:REDIS_URL:-" + DEFAULT_URL + "}",
            description = {
                "Where Redis is: redis://, rediss://, redis-sentinel:// or redis-cluster://; several make a quorum.",
                "Default: the environment variable REDIS_URL, or " + DEFAULT_URL + "."
            })
    private List<String> urls;

    @Option(
            names = "--prefix",
            paramLabel = "PREFIX",
            defaultValue = "redis-locks",
            description = "What the keys begin with, as the applications have it. Default: ${DEFAULT-VALUE}.")
    private String prefix;

    /** A client, to be closed. */
    RedisLocks open() {
        RedisLocks.Builder builder = RedisLocks.builder().keyPrefix(prefix);
        return (urls.size() == 1 ? builder.uri(urls.get(0)) : builder.quorum(urls.toArray(String[]::new))).build();
    }

    /** The URL if it names one server. */
    String single() {
        if (urls.size() != 1 || !urls.get(0).matches("rediss?://.*")) {
            throw new IllegalArgumentException("doctor looks at one server, and " + String.join(" ", urls)
                    + " is more or something else: name the redis:// or rediss:// URL of each server by --url.");
        }
        return urls.get(0);
    }
}
