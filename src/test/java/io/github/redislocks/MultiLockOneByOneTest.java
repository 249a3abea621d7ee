package io.github.redislocks;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several locks that cannot be taken by one request, as in a cluster. */
class MultiLockOneByOneTest extends MultiLockTest {

    @BeforeEach
    void keepToSlots() {
        locks.client().monitored.hasSlots();
        others.client().monitored.hasSlots();
    }

    @Test
    @Override
    void freeLocks_areTakenByOneRequest() {
        multi.lock();
        multi.unlock();
        assertTakenOneByOne();
    }
}
