package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.time.Duration;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Actions under a lock: what they return and throw, and that the lock is free afterwards. */
class WithLockTest extends FakeTime {

    private static final Duration NO_TIME = Duration.ZERO;

    /** Overloaded, as methods are that callers name without a lambda. */
    private static final class Counter {
        int value;

        int next() {
            return ++value;
        }

        @SuppressWarnings("unused")
        int next(int step) {
            return value += step;
        }
    }

    private String hold() {
        return "token " + lock.fencingToken() + ", held " + lock.getHoldCount();
    }

    @Test
    void call_anyAction_returnsItsValueAndUnlocks() {
        assertThat(lock.callWithLock(this::hold)).endsWith("held 1");
        assertThat(locks.reentrantLock("job").callWithLock(this::hold)).endsWith("held 1");
        Object nothing = lock.callWithLock(() -> null);
        assertThat(nothing).isNull();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void call_methodReferenceToAnOverload_needsNoCast() {
        Counter counter = new Counter();
        int next = lock.callWithLock(counter::next);
        lock.runWithLock(counter::next);
        assertThat(next).isEqualTo(1);
        assertThat(counter.value).isEqualTo(2);
    }

    @Test
    void run_anyAction_runsUnderTheLock() {
        AtomicBoolean held = new AtomicBoolean();
        lock.runWithLock(() -> held.set(lock.isHeldByCurrentThread()));
        assertThat(held).isTrue();
        held.set(false);
        locks.reentrantLock("job").runWithLock(() -> held.set(lock.isHeldByCurrentThread()));
        assertThat(held).isTrue();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void action_thatThrows_hasItsExceptionThrownAsItIs() {
        IOException failure = new IOException("of the action");
        assertThatThrownBy(() -> lock.callWithLock(() -> {
                    throw failure;
                }))
                .isSameAs(failure);
        assertThatThrownBy(() -> locks.reentrantLock("job").runWithLock(() -> {
                    throw failure;
                }))
                .isSameAs(failure);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void lock_lostUnderTheAction_isTold_behindWhatTheActionThrew() {
        assertThatThrownBy(() -> lock.runWithLock(() -> other.forceUnlock())).isInstanceOf(LockLostException.class);
        IllegalStateException failure = new IllegalStateException("of the action");
        Throwable thrown = catchThrowable(() -> lock.runWithLock(() -> {
            other.forceUnlock();
            throw failure;
        }));
        assertThat(thrown).isSameAs(failure);
        assertThat(thrown.getSuppressed()).hasSize(1).hasOnlyElementsOfType(LockLostException.class);
    }

    @Test
    void tryCall_freeOrBusy_tellsThemApartWhateverTheActionReturns() throws InterruptedException {
        assertThat(lock.tryCallWithLock(NO_TIME, this::hold).get()).endsWith("held 1");
        LockedResult<Object> nothing = lock.tryCallWithLock(NO_TIME, () -> null);
        assertThat(nothing.ran()).isTrue();
        assertThat(nothing.get()).isNull();
        assertThat(nothing.orElse("busy")).isNull();

        other.lock();
        AtomicBoolean ran = new AtomicBoolean();
        LockedResult<Boolean> busy = lock.tryCallWithLock(NO_TIME, () -> ran.getAndSet(true));
        assertThat(busy.ran()).isFalse();
        assertThat(ran).isFalse();
        assertThat(busy.orElse(true)).isTrue();
        assertThatThrownBy(busy::get).isInstanceOf(NoSuchElementException.class).hasMessageContaining("ran()");
        assertThatThrownBy(() -> busy.orElseThrow(IOException::new)).isInstanceOf(IOException.class);
        assertThat(busy).isEqualTo(LockedResult.busy()).isNotEqualTo(nothing).hasToString("LockedResult[busy]");
        other.unlock();
    }

    @Test
    void tryCall_actionThatThrows_hasItsExceptionThrown() throws InterruptedException {
        IOException failure = new IOException("of the action");
        assertThatThrownBy(() -> lock.tryCallWithLock(NO_TIME, () -> {
                    throw failure;
                }))
                .isSameAs(failure);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        LockedResult<String> ran = lock.tryCallWithLock(NO_TIME, this::hold);
        assertThat(ran.get()).endsWith("held 1");
    }

    @Test
    void tryRun_freeOrBusy_saysWhetherItRan() throws InterruptedException {
        AtomicBoolean ran = new AtomicBoolean();
        other.lock();
        assertThat(lock.tryRunWithLock(NO_TIME, () -> ran.set(true))).isFalse();
        assertThat(ran).isFalse();
        other.unlock();
        assertThat(lock.tryRunWithLock(NO_TIME, () -> ran.set(true))).isTrue();
        assertThat(ran).isTrue();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }
}
