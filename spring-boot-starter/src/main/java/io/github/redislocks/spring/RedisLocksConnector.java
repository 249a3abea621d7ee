package io.github.redislocks.spring;

import io.github.redislocks.LockListener;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.util.CollectionUtils;
import org.springframework.util.StringUtils;

/**
 * Connects the {@link RedisLocks}, and closes it with a drain. The bean of the {@link RedisLocks} depends on this bean,
 * so that Spring destroys this bean after all beans that use the locks.
 */
final class RedisLocksConnector implements DisposableBean {

    private static final String PREFIX = "redis-locks.";

    private static final int LONGEST_NAME = 40;

    private final RedisLocksProperties properties;
    private final RedisServerSource otherwise;
    /** The name of the application, as Spring's properties say; empty if they do not name it. */
    private final String application;

    private final CompletableFuture<RedisLocks> connected = new CompletableFuture<>();

    /**
     * Makes the connector.
     *
     * @param otherwise has the servers if the properties name none
     */
    RedisLocksConnector(RedisLocksProperties properties, RedisServerSource otherwise, String application) {
        this.properties = properties;
        this.otherwise = otherwise;
        this.application = application;
    }

    /**
     * The client name of the properties; otherwise the application's name, without characters that are not permitted;
     * null if there is no name.
     */
    private @Nullable String clientName() {
        String name = application.replaceAll("[^A-Za-z0-9_-]", "-");
        return name.isEmpty() ? null : name.substring(0, Math.min(LONGEST_NAME, name.length()));
    }

    RedisLocks connect(Stream<LockListener> listeners, Stream<RedisLocksCustomizer> customizers) {
        RedisLocksBuilder builder = RedisLocks.builder();
        servers(builder);
        set("key-prefix", properties.keyPrefix(), builder::keyPrefix);
        set("spring.application.name", clientName(), builder::clientName);
        set("lease", properties.lease(), builder::lease);
        set("retry-for", properties.retryFor(), builder::retryFor);
        set("command-timeout", properties.commandTimeout(), builder::commandTimeout);
        set("max-connections", properties.maxConnections(), builder::maxConnections);
        set("replica-acks", properties.replicaAcks(), builder::replicaAcks);
        set("failover-grace", properties.failoverGrace(), builder::failoverGrace);
        set("restart-delay", properties.restartDelay(), builder::restartDelay);
        set("token-memory", properties.tokenMemory(), builder::tokenMemory);
        set("max-hold", properties.maxHold(), builder::maxHold);
        set("residency", properties.residency(), builder::residency);
        set("watch-deletions", properties.watchDeletions(), builder::watchDeletions);
        set("slow-wait", properties.slowWait(), builder::slowWait);
        set("slow-hold", properties.slowHold(), builder::slowHold);
        set("connect-within", properties.connectWithin(), builder::connectWithin);
        builder.connectLater(properties.startup() == RedisLocksProperties.Startup.LAZY);
        listeners.forEach(builder::listener);
        customizers.forEach(customizer -> customizer.customize(builder));
        if (properties.drain().isNegative()) {
            throw new WrongPropertyAnalyzer.WrongProperty(
                    "The property redis-locks.drain is " + properties.drain().toMillis()
                            + " ms: it must not be negative.",
                    "Use 0 to wait for no holder.",
                    null);
        }
        // Report a combination of values that cannot work, although each value is permitted alone.
        set("*", builder, all -> connected.complete(all.build()));
        return connected.join();
    }

    /** Runs an action with the locks as soon as they exist: the first bean that needs the locks makes them. */
    void whenConnected(Consumer<? super RedisLocks> action) {
        CompletableFuture<Void> unused = connected.thenAccept(action);
    }

    private void servers(RedisLocksBuilder builder) {
        boolean isQuorum = !CollectionUtils.isEmpty(properties.quorum());
        boolean isUrl = StringUtils.hasText(properties.url());
        if (isUrl && isQuorum) {
            throw new WrongPropertyAnalyzer.WrongProperty(
                    "The properties redis-locks.url and redis-locks.quorum are both set,"
                            + " but locks are either in one Redis or in a quorum.",
                    "Leave one of them out.",
                    null);
        }
        if (isQuorum) {
            set("quorum", properties.quorum(), uris -> builder.quorum(uris.toArray(String[]::new)));
        } else if (isUrl) {
            set("url", properties.url(), builder::uri);
        } else {
            builder.servers(otherwise.servers());
        }
    }

    /**
     * Sets a value, unless it is null or an empty text. If the value cannot work, throws an exception that names the
     * property.
     */
    private static <T> void set(String name, @Nullable T value, Consumer<T> setter) {
        if (value == null || value.toString().isBlank()) {
            return;
        }
        try {
            setter.accept(value);
        } catch (IllegalArgumentException e) {
            throw new WrongPropertyAnalyzer.WrongProperty(
                    "The property " + PREFIX + name + " cannot work. " + e.getMessage(),
                    value instanceof Duration
                            ? "Change that property. A number without a unit counts milliseconds: write 30s or 500ms."
                            : "Change that property.",
                    e);
        }
    }

    @Override
    public void destroy() {
        RedisLocks locks = connected.getNow(null);
        if (locks != null) {
            locks.close(properties.drain());
        }
    }
}
