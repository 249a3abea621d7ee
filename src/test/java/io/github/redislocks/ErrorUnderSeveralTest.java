package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an error in a call for several locks leaves of the holds that the thread had before. */
class ErrorUnderSeveralTest extends FakeTime {

    @Override
    Settings options() {
        return Settings.DEFAULTS.withWatchDeletions(true);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void tryOfSeveral_thatMeetsAnErrorAnywhere_leavesTheOuterHold(boolean fixed) {
        LockOptions options = fixed ? LockOptions.defaults().fixedLease(Duration.ofMinutes(1)) : LockOptions.defaults();
        RedisReentrantLock outer = locks.reentrantLock("job", options);
        MultiLock several = locks.multiLock(List.of("job", "job2"));
        boolean met = true;
        for (int reading = 1; met; reading++) {
            outer.lock();
            others.reentrantLock("job2").lock();
            clock.failReadings(reading, 1);
            Throwable thrown = catchThrowable(() -> whileTimePasses(several::tryLock));
            met = clock.heal() >= reading;
            others.reentrantLock("job2").unlock();
            pass(300);
            assertThat(outer.getHoldCount())
                    .as("reading %s, %s", reading, thrown)
                    .isOne();
            assertThat(outer.isHeldByCurrentThread()).isTrue();
            outer.unlock();
            pass(3_000);
        }
    }
}
