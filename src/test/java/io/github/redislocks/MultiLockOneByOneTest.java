package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several locks that cannot be taken by one request, as in a cluster. */
class MultiLockOneByOneTest extends MultiLockTest {

    @BeforeEach
    void keepToSlots() {
        inside.monitored().hasSlots();
        inside(others).monitored().hasSlots();
    }

    @Test
    @Override
    void freeLocks_areTakenByOneRequest() {
        multi.lock();
        multi.unlock();
        assertTakenOneByOne();
    }

    @Test
    @Override
    void locksThatNobodyWaitsFor_areFreedByOneRequest_andTheOthersHandedOn() {
        multi.lock();
        multi.unlock();
        assertThat(redis.log().count("free_all")).isZero();
        assertThat(redis.log().count("free", "release")).isEqualTo(3);
    }
}
