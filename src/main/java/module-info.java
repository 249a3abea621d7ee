/** {@code java.util.concurrent.locks} on Redis. */
module io.github.redislocks {
    requires transitive org.jspecify;
    requires redis.clients.jedis;
    requires com.github.benmanes.caffeine;
    requires java.management;
    requires org.slf4j;
    requires static jdk.jfr;
    requires static transitive micrometer.core;
    requires static transitive micrometer.observation;
    requires static com.fasterxml.jackson.annotation;
    requires static spring.aop;
    requires static spring.beans;
    requires static spring.boot;
    requires static spring.boot.actuator;
    requires static spring.boot.actuator.autoconfigure;
    requires static spring.boot.autoconfigure;
    requires static spring.boot.data.redis;
    requires static spring.boot.health;
    requires static spring.context;
    requires static spring.core;
    requires static spring.expression;
    requires static transitive spring.integration.core;
    requires static transitive spring.tx;
    requires static transitive net.javacrumbs.shedlock.core;
    requires static transitive org.junit.jupiter.api;

    exports io.github.redislocks.micrometer;
    exports io.github.redislocks.shedlock;
    exports io.github.redislocks.spring.integration;
    exports io.github.redislocks.spring;
    exports io.github.redislocks.testkit;
    exports io.github.redislocks;

    opens io.github.redislocks.spring;
}
