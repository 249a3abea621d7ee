/** Locks for Spring Boot and Spring Integration. */
module io.github.redislocks.spring {
    requires transitive io.github.redislocks;
    requires redis.clients.jedis;
    requires static io.github.redislocks.micrometer;
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

    exports io.github.redislocks.spring;
    exports io.github.redislocks.spring.integration;

    opens io.github.redislocks.spring;
}
