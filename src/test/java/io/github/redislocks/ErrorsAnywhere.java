package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Calls that meet errors at any point of their way, one or several on end: they are thrown by the clock, which a call
 * reads wherever it does anything.
 */
abstract class ErrorsAnywhere extends FakeTime {

    /** A call of the library, or several. */
    interface Calls {

        void run() throws InterruptedException;
    }

    /** Whether the calls have got the lock, and so may have it after an error. */
    boolean locked;

    final void locks() {
        lock.lock();
        locked = true;
    }

    /** Makes the calls again and again, each time with the errors one reading of the clock later, until none is met. */
    final void withErrorsAnywhere(int count, Calls calls) {
        Thread caller = Thread.currentThread();
        withErrorsAnywhere(thread -> thread == caller, count, calls);
    }

    /** As above, with the errors in the threads that a test names. */
    final void withErrorsAnywhere(Predicate<Thread> in, int count, Calls calls) {
        boolean met = true;
        for (int first = 1; met; first++) {
            locked = false;
            clock.failReadings(in, first, count);
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
            assertNothingIsLeft(first);
        }
    }

    private static void run(Calls calls) {
        try {
            calls.run();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Called some seconds after the errors, of which the first came at this reading of the clock. */
    void assertNothingIsLeft(int firstReading) {
        othersHaveTheLock();
    }

    /** A try that waits for a lock that another client has. */
    final void triesInVain(int count) {
        withErrorsAnywhere(count, () -> {
            other.lock();
            assertThat(lock.tryLock(5, TimeUnit.MILLISECONDS)).isFalse();
        });
    }

    /** A wait in a Condition of which nobody signals anything. */
    final void awaitsInVain(int count) {
        withErrorsAnywhere(count, () -> {
            locks();
            boolean unused = lock.newCondition("ready").await(5, TimeUnit.MILLISECONDS);
            lock.unlock();
        });
    }
}
