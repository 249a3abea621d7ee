package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.PermitHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.testkit.InMemoryLocks;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** The endpoint and the health indicator; spring-apps asks for both over HTTP. */
@Timeout(60)
class LocksEndpointTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    RedisLocksAutoConfiguration.class,
                    RedisLocksEndpointAutoConfiguration.class,
                    RedisLocksHealthAutoConfiguration.class))
            .withPropertyValues("redis-locks.url=redis://localhost:1");

    private final ApplicationContextRunner exposed = runner.withPropertyValues(
            "management.endpoints.web.exposure.include=locks", "management.endpoints.jmx.exposure.include=locks");

    @Test
    void endpoint_isMadeOnlyIfExposed_andForcesOnlyIfAllowed() {
        runner.run(context -> assertThat(context).doesNotHaveBean(LocksEndpoint.class));
        exposed.run(
                context -> assertThat(context).getBean(LocksEndpoint.class).isExactlyInstanceOf(LocksEndpoint.class));
        exposed.withPropertyValues("redis-locks.endpoint.force=true")
                .run(context -> assertThat(context)
                        .getBean(LocksEndpoint.class)
                        .isExactlyInstanceOf(ForcingLocksEndpoint.class));
    }

    @Test
    void endpoint_showsAndForces() {
        String name = "spring/" + UUID.randomUUID();
        String[] parts = name.split("/");
        try (RedisLocks locks = RedisLocks.connect(RedisServers.shared().uri())) {
            ForcingLocksEndpoint endpoint = new ForcingLocksEndpoint(locks);
            RedisReentrantLock lock = locks.reentrantLock(name);
            assertThat(shown(endpoint, parts).holder()).isNull();
            lock.lock();
            assertThat(endpoint.client())
                    .isEqualTo(
                            new LocksEndpoint.Client(locks.clientId(), 1, 0, 0, 0, 0, List.of(name), List.of(), false));
            LocksEndpoint.Lock shown = shown(endpoint, parts);
            assertThat(shown.name()).isEqualTo(name);
            assertThat(shown.holder().owner()).startsWith(locks.clientId());
            assertThat(shown.holder().thread()).isEqualTo(Thread.currentThread().getName());
            assertThat(shown.holder().token()).isEqualTo(Long.toString(lock.fencingToken()));
            assertThat(endpoint.force(parts)).isEqualTo(new ForcingLocksEndpoint.Forced(name, true));
            assertThat(lock.isLocked()).isFalse();
            assertThat(endpoint.force(parts)).isEqualTo(new ForcingLocksEndpoint.Forced(name, false));
        }
    }

    private static LocksEndpoint.Lock shown(LocksEndpoint endpoint, String... parts) {
        return (LocksEndpoint.Lock) endpoint.lock(parts);
    }

    @Test
    void endpoint_whileRedisIsAway_isUnavailable() {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            ForcingLocksEndpoint endpoint = new ForcingLocksEndpoint(memory.client());
            memory.unavailable();
            for (Object answer : List.of(endpoint.lock("a", "b"), endpoint.force("a", "b"))) {
                assertThat(answer).isInstanceOfSatisfying(WebEndpointResponse.class, response -> {
                    assertThat(response.getStatus()).isEqualTo(503);
                    assertThat(response.getBody().toString()).contains("name=a/b", "error=");
                });
            }
        }
    }

    @Test
    void endpointAndHealth_countNoLockThatIsLost() {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks locks = memory.client();
            locks.reentrantLock("kept").lock();
            locks.reentrantLock("lost").lock();
            memory.lose("lost");
            assertThat(new LocksEndpoint(locks).client().held()).isOne();
            assertThat(new LocksHealthIndicator(locks).health().getDetails()).containsEntry("held", 1L);
        }
    }

    @Test
    void endpoint_countsReadersAndPermits() throws InterruptedException {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks locks = memory.client();
            locks.reentrantLock("stock").lock();
            locks.readWriteLock("prices").readLock().lock();
            try (PermitHandle permits = locks.permits("encoder", 8).acquire(3)) {
                assertThat(permits.isHeld()).isTrue();
                LocksEndpoint.Client shown = new LocksEndpoint(locks).client();
                assertThat(shown.held()).isEqualTo(3);
                assertThat(shown.read()).isOne();
                assertThat(shown.permits()).isEqualTo(3);
            }
        }
    }

    @Test
    void endpoint_showsWhatAClientKeeps() {
        String name = "spring/" + UUID.randomUUID();
        try (RedisLocks locks = RedisLocks.builder()
                .uri(RedisServers.shared().uri())
                .residency(Duration.ofMinutes(1))
                .build()) {
            LocksEndpoint endpoint = new LocksEndpoint(locks);
            RedisReentrantLock lock = locks.reentrantLock(name);
            await().until(() -> {
                lock.lock();
                lock.unlock();
                return endpoint.client().resident() == 1;
            });
            assertThat(endpoint.client().held()).isZero();
            LocksEndpoint.Holder kept = shown(endpoint, name.split("/")).holder();
            assertThat(kept.residence()).isTrue();
            assertThat(kept.thread()).isNull();
            assertThat(Instant.parse(kept.since())).isBetween(Instant.now().minusSeconds(60), Instant.now());
            lock.lock();
            assertThat(shown(endpoint, name.split("/")).holder().residence()).isFalse();
            lock.unlock();
        }
    }

    @Test
    void health_tellsWhetherRedisAnswers() {
        runner.run(context -> {
            Health health = context.getBean("redisLocksHealthIndicator", HealthIndicator.class)
                    .health();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat(health.getDetails()).containsKeys("client", "held", "waiting", "error");
        });
        runner.withPropertyValues("redis-locks.url=" + RedisServers.shared().uri())
                .run(context -> assertThat(context.getBean("redisLocksHealthIndicator", HealthIndicator.class)
                                .health()
                                .getStatus())
                        .isEqualTo(Status.UP));
        runner.withPropertyValues("management.health.redis-locks.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
    }
}
