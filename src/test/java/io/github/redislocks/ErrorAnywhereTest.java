package io.github.redislocks;

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
        triesInVain(count);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void await(int count) {
        awaitsInVain(count);
    }
}
