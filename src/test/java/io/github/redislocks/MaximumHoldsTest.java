package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.client.Inside;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The end of counting, at which ReentrantLock says the same. */
@Timeout(30)
class MaximumHoldsTest {

    @Test
    void lock_heldAsOftenAsPossible_isAnErrorAndChangesNothing() {
        InMemoryRedis redis = new InMemoryRedis();
        try (RedisLocks locks = RedisLocks.on(redis, Settings.DEFAULTS, List.of(), Clock.SYSTEM)) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            lock.lock();
            Hold hold = Inside.of(locks.client())
                    .holds()
                    .get(LockKeys.of(Settings.DEFAULT_KEY_PREFIX, "job"), Thread.currentThread());
            // Nobody can wait for two thousand million re-entries.
            while (hold.count() < Integer.MAX_VALUE) {
                hold.standsFor(hold);
                hold.reentered(hold.leaseMillis(), false, Long.MAX_VALUE);
            }
            List<ThrowingCallable> forms = List.of(
                    lock::lock, lock::lockInterruptibly, lock::tryLock, () -> lock.tryLock(1, TimeUnit.SECONDS));
            for (ThrowingCallable form : forms) {
                assertThatThrownBy(form).isInstanceOf(Error.class).hasMessage("Maximum lock count exceeded");
                assertThat(lock.getHoldCount()).isEqualTo(Integer.MAX_VALUE);
            }
        }
        redis.close();
    }
}
