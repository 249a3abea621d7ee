package io.github.redislocks.contract;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.testkit.InMemoryLocks;
import org.junit.jupiter.api.AfterEach;

/** The contract of permits, with the test kit. */
class InMemoryPermitsTest extends PermitsContractTest {

    private final InMemoryLocks memory = InMemoryLocks.start();

    @Override
    protected RedisLocks connect() {
        return memory.newClient();
    }

    @AfterEach
    void closeServer() {
        memory.close();
    }
}
