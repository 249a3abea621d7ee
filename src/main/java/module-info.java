/** {@code java.util.concurrent.locks} on Redis. */
@SuppressWarnings("module") // The test kit is built after this module.
module io.github.redislocks {
    requires transitive org.jspecify;
    requires redis.clients.jedis;
    requires com.github.benmanes.caffeine;
    requires java.management;
    requires org.slf4j;
    requires static jdk.jfr;

    exports io.github.redislocks;
    exports io.github.redislocks.concurrent to
            io.github.redislocks.testkit;
    exports io.github.redislocks.client to
            io.github.redislocks.testkit;
    exports io.github.redislocks.engine to
            io.github.redislocks.testkit;
    exports io.github.redislocks.lease to
            io.github.redislocks.testkit;
    exports io.github.redislocks.redis to
            io.github.redislocks.testkit;
    exports io.github.redislocks.script to
            io.github.redislocks.testkit;
    exports io.github.redislocks.shared to
            io.github.redislocks.testkit;
    exports io.github.redislocks.state to
            io.github.redislocks.testkit;
    exports io.github.redislocks.waiting to
            io.github.redislocks.testkit;
    exports io.github.redislocks.watchdog to
            io.github.redislocks.testkit;
}
