package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.fixture.RedisServers;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** The name of a client, for people who look at locks. */
@Timeout(60)
@Tag("server")
class ClientNameTest {

    private final String lock = "client-name:" + UUID.randomUUID();

    @Test
    void clientName_isSeenByOthers_inOwnersConnectionsAndThreads() {
        String uri = RedisServers.shared().uri();
        try (RedisLocks named =
                        RedisLocks.builder().uri(uri).clientName("orders_2-b").build();
                RedisLocks other = RedisLocks.connect(uri);
                Jedis jedis = RedisServers.shared().client()) {
            assertThat(named.clientId()).matches(".+:\\d+:orders_2-b\\.[a-z0-9]+");
            named.reentrantLock(lock).runWithLock(() -> {
                LockOwner owner = other.inspect(lock).holder().orElseThrow().owner();
                assertThat(owner.clientName()).hasValue("orders_2-b");
                assertThat(owner.clientId()).isEqualTo(named.clientId());
                assertThat(owner.pid()).isEqualTo(ProcessHandle.current().pid());
                assertThat(owner.threadId()).hasValue(Thread.currentThread().getId());
            });
            assertThat(jedis.clientList()).contains("name=" + named.clientId());
            String suffix = named.clientId().substring(named.clientId().lastIndexOf(':') + 1);
            assertThat(Thread.getAllStackTraces().keySet())
                    .extracting(Thread::getName)
                    .anyMatch(name -> name.startsWith("redis-locks-") && name.endsWith(suffix));
        }
    }

    @Test
    void clientWithoutAName_hasNone_whateverItsHostIsCalled() {
        assertThat(LockOwner.parse("pod.shop.example:7:x1y2:42").clientName()).isEmpty();
        assertThat(LockOwner.parse("pod.shop.example:7:orders.x1y2:h42").clientName())
                .hasValue("orders");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a:b", "a.b", "two words", "ä", "12345678901234567890123456789012345678901"})
    void clientName_thatCannotBeAPartOfAnOwner_isRefused(String name) {
        assertThatThrownBy(() -> RedisLocks.builder().clientName(name))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("clientName is \"" + name + "\"")
                .hasMessageContaining("1 to 40 characters");
    }
}
