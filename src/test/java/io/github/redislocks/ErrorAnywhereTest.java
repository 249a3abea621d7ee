package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call that meets errors at any point of its way leaves nothing. */
@Timeout(60)
class ErrorAnywhereTest extends ErrorsAnywhere {

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void lockAndUnlock(int count) {
        withErrorsAnywhere(count, () -> {
            locks();
            lock.unlock();
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void timedTry(int count) {
        withErrorsAnywhere(count, () -> {
            other.lock();
            assertThat(lock.tryLock(5, TimeUnit.MILLISECONDS)).isFalse();
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void await(int count) {
        withErrorsAnywhere(count, () -> {
            locks();
            boolean unused = lock.newCondition("ready").await(5, TimeUnit.MILLISECONDS);
            lock.unlock();
        });
    }
}
