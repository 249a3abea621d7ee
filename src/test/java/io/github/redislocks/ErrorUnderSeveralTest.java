package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.fixture.NearTheEnd;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An error in a call for several locks leaves the holds that the thread had before, and no record of a loss. */
@Timeout(60)
class ErrorUnderSeveralTest extends FakeTime {

    @Override
    Settings options() {
        return Settings.DEFAULTS.withWatchDeletions(true);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void tryOfSeveral_thatMeetsAnErrorAnywhere_leavesTheOuterHold(boolean fixed) {
        leavesTheOuterHold(fixed ? LockOptions.defaults().fixedLease(Duration.ofMinutes(1)) : LockOptions.defaults());
    }

    @Test
    void tryOfSeveral_thatMeetsAnErrorAnywhere_leavesTheOuterHoldOfAKeptLock() {
        leavesTheOuterHold(LockOptions.defaults().residency(Duration.ofMinutes(1)));
    }

    private void leavesTheOuterHold(LockOptions options) {
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

    /** The unlock of the lost lock was made, though an error stopped the call. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void unlockOfSeveral_thatMeetsAnErrorAfterALoss_leavesNoRecordOfTheLoss(boolean inTheLoop) throws Exception {
        LockOptions strict = LockOptions.defaults().relockAfterLoss(false);
        MultiLock several = locks.multiLock(List.of("job", "job2"), strict);
        several.lock();
        Thread waiter = new Thread(() -> others.reentrantLock("job2").runWithLock(() -> {}));
        if (inTheLoop) {
            // With a waiter, the release of the other lock is a request of its own.
            waiter.start();
            passUntil(() -> server.zset("redis-locks:{job2}:queue").size() == 1);
        }
        server.del(KEY);
        pass(11_000);
        assertThat(losses).hasSize(1);
        AtomicInteger errors = new AtomicInteger(1);
        redis.hold(call -> {
            boolean release = inTheLoop
                    ? call.script().name().equals("release")
                    : verb("release").test(call);
            if (release && errors.getAndDecrement() > 0) {
                throw new InternalError("of the test");
            }
            return false;
        });
        assertThat(catchThrowable(several::unlock)).isInstanceOf(InternalError.class);
        redis.heal();
        pass(3_000);
        waiter.join(5_000);
        assertThat(inside.holds().all()).isEmpty();
        assertThat(catchThrowable(() -> whileTimePasses(several::lock))).isNull();
    }

    /** The end of the stack at every sixth depth: a call that has released any lock leaves none held. */
    @ParameterizedTest
    @ValueSource(strings = {"a", "b", "c"})
    void unlockOfSeveral_ofWhichOneIsLost_atTheEndOfTheStack_leavesNoneHeld(String lost) throws Exception {
        List<String> names = List.of("a", "b", "c");
        // This client asks Redis seldom, so it notices late that the thread has ended.
        MultiLock several = others.multiLock(names);
        boolean met = true;
        for (int left = 0; met; left += 6) {
            int above = left;
            met = NearTheEnd.inAThread(() -> {
                several.lock();
                inside(others).holds().all().stream()
                        .filter(hold -> hold.keys().name().equals(lost))
                        .forEach(hold -> inside(others).losses().lose(hold, LockLost.Reason.TAKEN));
                server.del("redis-locks:{" + lost + '}');
                boolean overflow = overflows(above, several);
                long held = names.stream()
                        .filter(name -> others.reentrantLock(name).isHeldByCurrentThread())
                        .count();
                if (held == names.size() - 1) {
                    // The call had no stack, and has changed nothing.
                    assertThat(catchThrowable(several::unlock)).isInstanceOf(LockLostException.class);
                }
                return overflow;
            });
            pass(2_500);
            for (String name : names) {
                RedisReentrantLock theirs = locks.reentrantLock(name);
                assertThat(theirs.tryLock())
                        .as("%s, %d calls above", name, left)
                        .isTrue();
                theirs.unlock();
            }
        }
    }

    private static boolean overflows(int above, MultiLock several) {
        try {
            return NearTheEnd.overflows(above, several::unlock);
        } catch (LockLostException e) {
            return false;
        }
    }
}
