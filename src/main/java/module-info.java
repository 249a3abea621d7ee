/** {@code java.util.concurrent.locks} on Redis. */
module io.github.redislocks {
    requires transitive org.jspecify;
    requires redis.clients.jedis;
    requires com.github.benmanes.caffeine;
    requires java.management;
    requires org.slf4j;
    requires static jdk.jfr;
    requires static transitive org.junit.jupiter.api;

    exports io.github.redislocks.testkit;
    exports io.github.redislocks;
}
