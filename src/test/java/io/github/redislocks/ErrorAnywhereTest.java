package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A call that meets errors at any point of its way, one or several on end, leaves nothing: they are thrown by the
 * clock, which a call reads wherever it does anything.
 */
@Timeout(60)
class ErrorAnywhereTest extends FakeTime {

    /** A call of the library, or several. */
    private interface Calls {

        void run() throws InterruptedException;
    }

    /** Whether the calls have got the lock, and so may have it after an error. */
    private boolean locked;

    private void locks() {
        lock.lock();
        locked = true;
    }

    /** Does it again and again, each time with the errors one reading later, until none of them is met. */
    private void withErrorsAnywhere(int count, Calls calls) {
        boolean met = true;
        for (int first = 1; met; first++) {
            locked = false;
            clock.failReadings(first, count);
            try {
                whileTimePasses(() -> run(calls));
            } catch (InternalError e) {
                assertThat(e).hasMessageContaining("of the test");
            }
            met = clock.heal() >= first;
            if (lock.isHeldByCurrentThread()) {
                assertThat(locked).as("held, though lock() met an error").isTrue();
                lock.unlock();
            }
            if (other.isHeldByCurrentThread()) {
                other.unlock();
            }
            pass(3_000);
            othersHaveTheLock();
        }
    }

    private static void run(Calls calls) {
        try {
            calls.run();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

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
