package io.github.redislocks.cli;

import io.github.redislocks.fixture.OwnServer;

/**
 * The demo on a Redis that it starts, {@code mvn -q test-compile exec:exec} in this folder; on that of the environment
 * variable {@code REDIS_URL}, if it is set.
 */
final class EmbeddedDemo {

    private EmbeddedDemo() {}

    public static void main(String[] args) {
        String given = System.getenv("REDIS_URL");
        int code;
        if (given != null && !given.isBlank()) {
            code = RedisLocksCommand.commandLine().execute("demo");
        } else {
            try (OwnServer server = OwnServer.start()) {
                code = RedisLocksCommand.commandLine().execute("demo", "--url", server.uri());
            }
        }
        System.exit(code);
    }
}
