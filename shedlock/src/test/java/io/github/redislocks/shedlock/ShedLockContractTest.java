package io.github.redislocks.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockInspection;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServers;
import java.time.Duration;
import java.util.UUID;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

/** ShedLock's own tests of its providers, on a real server. */
@Tag("server")
@Timeout(60)
class ShedLockContractTest extends AbstractExtensibleLockProviderIntegrationTest {

    private final RedisLocks locks = RedisLocks.builder()
            .uri(RedisServers.shared().uri())
            .keyPrefix("shedlock-" + UUID.randomUUID())
            .build();

    @AfterEach
    void close() {
        locks.close();
    }

    @Override
    protected ExtensibleLockProvider getLockProvider() {
        return new RedisLocksProvider(locks);
    }

    private boolean isTaken(String name) {
        LockInspection seen = locks.inspect(name);
        return seen.holder().isPresent() || seen.keptFor().isPresent();
    }

    /** A lock that is given up by the clock needs a request for that. */
    @Override
    protected void assertUnlocked(String name) {
        await().atMost(Duration.ofSeconds(10)).until(() -> !isTaken(name));
    }

    @Override
    protected void assertLocked(String name) {
        assertThat(isTaken(name)).isTrue();
    }
}
